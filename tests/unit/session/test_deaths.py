"""Being told by the kernel that a process ended."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import pytest

from gascity.core.observed import ProcessId
from gascity.session import pids
from gascity.session.deaths import Deaths
from gascity.testing.eventually import eventually

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux has descriptors for processes"
)


class Told:
    """Counts how often it was told, and keeps of whom."""

    def __init__(self) -> None:
        self.count = 0
        self.ended: list[ProcessId] = []
        self.event = threading.Event()

    def __call__(self, ended: Sequence[ProcessId]) -> None:
        self.ended += ended
        self.event.set()
        self.count += 1  # the last: who sees it may clear the event


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def deaths(told: Told) -> Iterator[Deaths]:
    made = Deaths(told)
    yield made
    made.close()


class Sleeper:
    """A process that ends when told to."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(["sleep", "1000"])
        started = pids.table.started(self._process.pid)
        assert started is not None
        self.id = ProcessId(self._process.pid, started)

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def sleepers() -> Iterator[list[Sleeper]]:
    made = [Sleeper() for _ in range(3)]
    yield made
    for one in made:
        one.end()


def test_an_end_is_told_within_moments(deaths: Deaths, told: Told, sleepers: list[Sleeper]) -> None:
    deaths.expect([sleepers[0].id])

    sleepers[0].end()

    assert told.event.wait(10.0)
    assert told.ended == [sleepers[0].id]


def test_the_end_of_one_that_is_not_expected_any_more_is_not_told(
    deaths: Deaths, told: Told, sleepers: list[Sleeper]
) -> None:
    first, second, _ = sleepers
    deaths.expect([first.id, second.id])
    deaths.expect([second.id])

    first.end()
    second.end()

    eventually(lambda: told.count == 1)
    assert not told_again(told, 1)


def told_again(told: Told, count: int) -> bool:
    told.event.clear()
    return told.event.wait(0.2) or told.count > count


def test_an_end_is_told_once_though_it_is_still_expected(
    deaths: Deaths, told: Told, sleepers: list[Sleeper]
) -> None:
    first, second, _ = sleepers
    deaths.expect([first.id, second.id])
    first.end()
    eventually(lambda: told.count == 1)

    deaths.expect([first.id, second.id])

    assert not told_again(told, 1)


def test_one_that_ended_before_it_was_expected_is_told_at_once(
    deaths: Deaths, told: Told, sleepers: list[Sleeper]
) -> None:
    sleepers[0].end()

    deaths.expect([sleepers[0].id])

    assert told.ended == [sleepers[0].id]


def test_a_number_that_is_another_process_now_is_told_as_an_end(
    deaths: Deaths, told: Told, sleepers: list[Sleeper]
) -> None:
    one = sleepers[0].id

    deaths.expect([ProcessId(one.pid, f"{one.started}0")])

    assert told.count == 1


def test_each_of_several_ends_is_told(deaths: Deaths, told: Told, sleepers: list[Sleeper]) -> None:
    deaths.expect(one.id for one in sleepers)

    for count, one in enumerate(sleepers, 1):
        one.end()
        eventually(lambda wanted=count: told.count >= wanted)  # type: ignore[misc] # a lambda has no types


def test_nothing_is_told_after_close(told: Told, sleepers: list[Sleeper]) -> None:
    deaths = Deaths(told)
    deaths.expect([sleepers[0].id])
    deaths.close()
    deaths.close()

    sleepers[0].end()
    deaths.expect([sleepers[1].id])

    assert not told_again(told, 0)


def test_close_lets_go_of_every_descriptor(told: Told, sleepers: list[Sleeper]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    deaths = Deaths(told)
    deaths.expect(one.id for one in sleepers)
    assert len(os.listdir("/proc/self/fd")) > before

    deaths.close()

    eventually(lambda: len(os.listdir("/proc/self/fd")) <= before)


def test_where_the_kernel_has_no_descriptors_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(pid: int, flags: int = 0) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(os, "pidfd_open", refuse)  # this kernel has it; an older one has not
    told = Told()
    me = ProcessId(os.getpid(), str(pids.table.started(os.getpid())))
    deaths = Deaths(told)

    deaths.expect([me])

    assert not told.count
    deaths.close()
