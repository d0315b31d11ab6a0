"""Couriers: nobody waits for a sink, and a sink that fails is told of once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

from tests.unit.patrol.conftest import LIMIT, notice

from gascity.patrol.couriers import Couriers
from gascity.patrol.notice import Notice, NotTaken, SinkFailed
from gascity.testing.eventually import eventually


@dataclass
class Told:
    """A sink that keeps what it is given."""

    name: str = "told"
    texts: list[str] = field(default_factory=list, compare=False)
    closed: bool = field(default=False, compare=False)

    def send(self, notice: Notice) -> None:
        self.texts.append(notice.text)

    def close(self) -> None:
        self.closed = True


@dataclass
class Stuck(Told):
    """A sink that hangs until it is let go."""

    name: str = "stuck"
    let_go: threading.Event = field(default_factory=threading.Event, compare=False)

    def send(self, notice: Notice) -> None:
        self.let_go.wait(LIMIT)
        super().send(notice)


@dataclass
class Moody(Told):
    """A sink that does not take what says "no", and breaks on what says "bug"."""

    name: str = "moody"
    version: int = 1

    def send(self, notice: Notice) -> None:
        super().send(notice)
        if notice.text == "no":
            raise SinkFailed("answered with 500")
        if notice.text == "bug":
            raise ValueError("hunter2")


@dataclass
class Away(Told):
    """A sink behind a net that is down until it is back."""

    name: str = "away"
    version: int = 1
    wait: float = 0.0
    tries: list[str] = field(default_factory=list, compare=False)
    back: threading.Event = field(default_factory=threading.Event, compare=False)

    def send(self, notice: Notice) -> None:
        self.tries.append(notice.text)
        if not self.back.is_set():
            raise NotTaken("cannot be reached", wait=self.wait)
        super().send(notice)


class Reports:
    """What couriers say of their sinks."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str | None]] = []
        self.threads: set[str] = set()

    def __call__(self, name: str, problem: str | None) -> None:
        self.said.append((name, problem))
        self.threads.add(threading.current_thread().name)


def send(couriers: Couriers, *texts: str) -> None:
    for text in texts:
        couriers.send(notice(text))


def test_every_sink_gets_every_notice_in_order() -> None:
    one, two = Told("one"), Told("two")
    couriers = Couriers([one, two], Reports())
    send(couriers, "a", "b", "c")
    couriers.close(LIMIT)

    assert one.texts == two.texts == ["a", "b", "c"]


def test_a_sink_that_hangs_delays_nobody() -> None:
    stuck, told, reports = Stuck(), Told(), Reports()
    couriers = Couriers([stuck, told], reports)
    send(couriers, *("abc" * 30))

    eventually(lambda: len(told.texts) == 90, within=LIMIT)
    assert not stuck.texts
    couriers.close(0.0)
    stuck.let_go.set()


def test_the_oldest_goes_when_too_many_wait_and_that_is_a_failure() -> None:
    stuck, reports = Stuck(), Reports()
    couriers = Couriers([stuck], reports, most=2)
    send(couriers, "first")
    eventually(lambda: not couriers._couriers[0]._queue, within=LIMIT)
    send(couriers, "a", "b", "c", "d")
    stuck.let_go.set()
    couriers.close(LIMIT)

    assert stuck.texts == ["first", "c", "d"]
    assert reports.said == [("stuck", "is too slow: 2 alerts were dropped"), ("stuck", None)]


def test_failing_and_working_again_are_told_once_each() -> None:
    reports = Reports()
    couriers = Couriers([Moody()], reports)
    send(couriers, "yes", "no", "no", "bug", "yes", "yes", "bug")
    couriers.close(LIMIT)

    assert reports.said == [
        ("moody", "answered with 500"),
        ("moody", None),
        ("moody", "failed with ValueError"),
    ]
    assert reports.threads == {"gc-moody"}


def test_a_sink_that_did_not_change_keeps_its_courier() -> None:
    sink = Moody()
    couriers = Couriers([sink], Reports())
    send(couriers, "a")
    couriers.change([Moody(), Told()])
    send(couriers, "b")
    couriers.close(LIMIT)

    assert sink.texts == ["a", "b"]


def test_a_changed_sink_takes_over_what_waits() -> None:
    stuck, reports = Stuck("moody"), Reports()
    couriers = Couriers([stuck], reports)
    send(couriers, "on its way")
    eventually(lambda: not couriers._couriers[0]._queue, within=LIMIT)
    send(couriers, "waits")
    after = Moody(version=2)
    couriers.change([after])
    couriers.close(LIMIT)
    stuck.let_go.set()

    assert after.texts == ["waits"]
    assert not reports.said


def test_a_failing_sink_that_is_mended_in_the_file_is_another() -> None:
    reports = Reports()
    couriers = Couriers([Moody()], reports)
    send(couriers, "no")
    eventually(lambda: reports.said, within=LIMIT)
    others = couriers.change([Moody(version=2)])
    send(couriers, "yes")
    couriers.close(LIMIT)

    assert others == {"moody"}
    assert reports.said == [("moody", "answered with 500")]


def test_a_sink_that_is_changed_and_fails_all_the_same_is_told_anew() -> None:
    reports = Reports()
    couriers = Couriers([Moody()], reports)
    send(couriers, "no")
    eventually(lambda: reports.said, within=LIMIT)
    couriers.change([Moody(version=2)])
    send(couriers, "bug")
    couriers.close(LIMIT)

    assert reports.said[1:] == [("moody", "failed with ValueError")]


def test_of_a_sink_that_is_gone_nothing_is_said() -> None:
    reports = Reports()
    couriers = Couriers([Moody(), Told()], reports)
    send(couriers, "no")
    eventually(lambda: reports.said, within=LIMIT)

    assert couriers.change([Told()]) == {"moody"}
    couriers.close(LIMIT)
    assert reports.said == [("moody", "answered with 500")]


def test_what_was_taken_is_told() -> None:
    taken: list[str] = []
    couriers = Couriers([Moody()], Reports(), lambda notice: taken.append(notice.text))
    send(couriers, "yes", "no", "again")
    couriers.close(LIMIT)

    assert taken == ["yes", "again"]


def test_what_is_on_its_way_can_be_asked_for() -> None:
    stuck = Stuck()
    couriers = Couriers([stuck], Reports())
    for key in ("one", "two"):
        couriers.send(replace(notice(), about=(key,)))
    eventually(lambda: len(couriers._couriers[0]._queue) == 1, within=LIMIT)

    assert couriers.waiting() == {"one", "two"}
    stuck.let_go.set()
    eventually(lambda: not couriers.waiting(), within=LIMIT)
    couriers.close(LIMIT)


def test_the_end_is_the_end_of_what_a_sink_still_does() -> None:
    stuck = Stuck()
    couriers = Couriers([stuck], Reports())
    send(couriers, "a")
    couriers.close(0.05)

    assert stuck.closed
    stuck.let_go.set()


def test_the_end_does_not_wait_for_a_sink_that_hangs() -> None:
    stuck, told = Stuck(), Told()
    couriers = Couriers([stuck, told], Reports())
    send(couriers, "a")
    couriers.close(0.05)
    send(couriers, "too late")

    assert "too late" not in told.texts
    assert not stuck.texts
    stuck.let_go.set()


def test_what_nobody_took_is_handed_over_when_somebody_does() -> None:
    away, reports = Away(), Reports()
    couriers = Couriers([away], reports, again=0.001)
    send(couriers, "a", "b")
    eventually(lambda: len(away.tries) > 3, within=LIMIT)
    assert set(away.tries) == {"a"}
    away.back.set()
    eventually(lambda: away.texts == ["a", "b"], within=LIMIT)
    couriers.close(LIMIT)

    assert reports.said == [("away", "cannot be reached"), ("away", None)]


def test_a_sink_that_wants_time_to_pass_is_left_alone_for_so_long() -> None:
    away = Away(wait=LIMIT)
    couriers = Couriers([away], Reports(), again=0.001)
    send(couriers, "a")
    eventually(lambda: away.tries and couriers._couriers[0]._queue, within=LIMIT)
    courier = couriers._couriers[0]

    assert (courier._rest() or 0.0) > LIMIT / 2
    couriers.close(LIMIT)


def test_what_nobody_took_goes_to_the_sink_that_takes_its_place() -> None:
    away, after, reports = Away(), Away(version=2), Reports()
    after.back.set()
    couriers = Couriers([away], reports, again=LIMIT)
    send(couriers, "a")
    eventually(lambda: couriers._couriers[0]._queue and reports.said, within=LIMIT)
    couriers.change([after])
    couriers.close(LIMIT)

    assert after.texts == ["a"]


@dataclass
class Slow(Away):
    """One that takes a while to find out that nobody is there."""

    let_go: threading.Event = field(default_factory=threading.Event, compare=False)

    def send(self, notice: Notice) -> None:
        self.let_go.wait(LIMIT)
        super().send(notice)


def test_what_is_on_its_way_to_nobody_goes_to_the_sink_that_takes_its_place() -> None:
    slow, after = Slow(), Away(version=2)
    after.back.set()
    couriers = Couriers([slow], Reports())
    send(couriers, "a")
    eventually(lambda: not couriers._couriers[0]._queue, within=LIMIT)
    couriers.change([after])
    slow.let_go.set()

    eventually(lambda: after.texts == ["a"], within=LIMIT)
    couriers.close(LIMIT)


def test_the_end_tries_once_more_what_nobody_took_and_waits_for_nobody() -> None:
    away = Away()
    couriers = Couriers([away], Reports(), again=LIMIT)
    send(couriers, "a")
    eventually(lambda: away.tries and couriers._couriers[0]._queue, within=LIMIT)
    thread = couriers._couriers[0]._thread
    couriers.close(LIMIT)

    assert away.tries == ["a", "a"]
    assert not thread.is_alive()
