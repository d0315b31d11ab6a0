"""Who leads: by hand, and under schedules that nobody would think of."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gascity_kubernetes.election import (
    ABSENT,
    ACTS,
    DURATION,
    FREE,
    LOOKS,
    NOBODY,
    RENEWS,
    Candidate,
    Look,
    Make,
    Over,
    Record,
    Wait,
    Write,
    acts_until,
    called,
    heard_nothing,
    next_step,
    saw,
    was_outrun,
    wrote,
)

ME = "me_1"
OTHERS = Record("other_2", "7")


def test_nobody_leads_before_a_write_succeeded() -> None:
    new = Candidate(ME)

    assert next_step(new, 0.0) == Look()
    assert acts_until(new) < -1e9
    assert acts_until(saw(new, OTHERS, 1.0)) < -1e9


def test_a_lease_that_is_not_there_is_made_for_nobody_and_waited_for() -> None:
    none = saw(Candidate(ME), ABSENT, 1.0)
    made = saw(none, Record(NOBODY, "1"), 2.0)

    assert next_step(none, 1.0) == Make()
    assert next_step(made, 2.0) == Wait(2.0 + LOOKS)
    assert next_step(replace(made, due=11.9), 11.9) == Look()
    assert next_step(replace(made, due=12.0), 12.0) == Write(Record(NOBODY, "1"), FREE)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    free = Record("", "8")

    assert next_step(saw(Candidate(ME), free, 3.0), 3.0) == Write(free, FREE)


def test_a_leader_that_is_silent_is_succeeded_after_the_duration_of_its_record() -> None:
    slow = replace(OTHERS, duration=30.0)
    seen = saw(saw(Candidate(ME), slow, 5.0), slow, 34.9)

    assert next_step(replace(seen, due=34.9), 34.9) == Look()
    assert seen.due == 35.0
    assert next_step(seen, 35.0) == Write(slow, "other was silent for 30 s")


def test_a_record_that_promises_less_than_leaders_count_on_is_not_believed() -> None:
    seen = saw(Candidate(ME), replace(OTHERS, duration=1.0), 0.0)

    assert next_step(replace(seen, due=9.0), 9.0) == Look()


def test_each_renewal_makes_the_wait_begin_anew() -> None:
    seen = saw(saw(Candidate(ME), OTHERS, 0.0), replace(OTHERS, version="8"), 9.0)

    assert next_step(replace(seen, due=18.9), 18.9) == Look()


def test_a_leader_renews_and_acts_only_so_long_after_the_request() -> None:
    leads = wrote(Candidate(ME), Record(ME, "9"), began=100.0, now=101.0)

    assert next_step(leads, 101.0) == Wait(100.0 + RENEWS)
    assert next_step(leads, 102.0) == Write(Record(ME, "9"), "")
    assert acts_until(leads) == 100.0 + ACTS
    assert isinstance(next_step(leads, 106.0), Over)


def test_a_leader_that_was_outrun_looks_and_goes_by_what_it_sees() -> None:
    leads = was_outrun(wrote(Candidate(ME), Record(ME, "9"), 100.0, 100.1), 102.0)

    assert next_step(leads, 102.0) == Look()
    assert isinstance(next_step(saw(leads, Record(ME, "10"), 102.1), 102.1), Write)
    assert next_step(saw(leads, OTHERS, 102.1), 102.1) == Over("other leads now")
    assert next_step(saw(leads, ABSENT, 102.1), 102.1) == Over("its lease is gone")


def test_silence_neither_makes_nor_unmakes_a_leader() -> None:
    waits = heard_nothing(saw(Candidate(ME), Record("", "1"), 0.0), 1.0)
    leads = heard_nothing(wrote(Candidate(ME), Record(ME, "9"), 0.0, 0.1), 4.0)

    assert next_step(waits, 2.0) == Look()
    assert acts_until(waits) < -1e9
    assert acts_until(leads) == ACTS
    assert next_step(leads, 5.0) == Look()


@pytest.mark.parametrize(
    ("holder", "name"), [("pod-x_1f", "pod-x"), ("a_b_1", "a_b"), ("", NOBODY), ("who", "who")]
)
def test_people_know_a_holder_by_its_name(holder: str, name: str) -> None:
    assert called(holder) == name


# --- any schedule


@dataclass
class Server:
    """The API: one record, and a number that grows with every write."""

    record: Record = ABSENT
    writes: int = 0

    def put(self, holder: str, over: str) -> Record | None:
        if self.record.version != over:
            return None
        self.writes += 1
        self.record = Record(holder, str(self.writes))
        return self.record


@dataclass
class Process:
    """One candidate with a clock of its own, which may stand still while its time goes on."""

    candidate: Candidate
    offset: float
    rate: float
    asleep_until: float = 0.0
    asking: int = 0
    ended: bool = False

    def clock(self, now: float) -> float:
        return self.offset + now * self.rate

    def moment(self, own: float) -> float:
        return (own - self.offset) / self.rate


@dataclass
class World:
    """Processes, a server, and a network that delays, loses and lets arrive what was given up."""

    random: Random
    trouble: float
    server: Server = field(default_factory=Server)
    processes: list[Process] = field(default_factory=list)
    now: float = 0.0
    leads: int = 0
    _events: list[tuple[float, int, Callable[[], object]]] = field(default_factory=list)
    _numbers: count[int] = field(default_factory=count)

    def at(self, moment: float, do: Callable[[], object]) -> None:
        heapq.heappush(self._events, (max(moment, self.now), next(self._numbers), do))

    def happens(self, share: float = 0.1) -> bool:
        return self.random.random() < self.trouble * share

    def delay(self) -> float:
        return self.random.uniform(0, 12) if self.happens() else self.random.uniform(0, 0.2)

    def join(self) -> None:
        name = f"p_{next(self._numbers)}"
        one = Process(
            Candidate(name), self.random.uniform(-1e6, 1e6), self.random.uniform(0.8, 1.25)
        )
        self.processes.append(one)
        self.at(self.now, lambda: self.step(one))

    def run(self, seconds: float) -> None:
        while self._events and self._events[0][0] < seconds:
            self.now, _, do = heapq.heappop(self._events)
            do()
            self.check()
            self.mischief()

    def check(self) -> None:
        acting = [
            one.candidate.identity
            for one in self.processes
            if not one.ended and one.clock(self.now) < acts_until(one.candidate)
        ]
        self.leads += len(acting)
        assert len(acting) <= 1, f"{acting} act at {self.now:.3f}"

    def mischief(self) -> None:
        if self.happens(0.01):
            self.server.record = ABSENT
        living = [one for one in self.processes if not one.ended]
        if living and self.happens(0.02):
            one = self.random.choice(living)
            one.asleep_until = max(one.asleep_until, self.now + self.random.uniform(0, 30))
        if living and self.happens(0.01):
            self.random.choice(living).ended = True
            self.join()
        if living and self.happens(0.01):
            self.resign(self.random.choice(living))

    def resign(self, one: Process) -> None:
        one.ended = True  # it stops acting before it says so
        seen = one.candidate.seen
        if seen is not None and seen.holder == one.candidate.identity:
            self.at(self.now + self.delay(), lambda: self.server.put("", seen.version))
        self.join()

    def awake(self, one: Process, do: Callable[[], None]) -> None:
        """Do it as soon as the process runs."""
        if one.ended:
            return
        if self.now < one.asleep_until:
            self.at(one.asleep_until, lambda: self.awake(one, do))
        else:
            do()

    def step(self, one: Process) -> None:
        self.awake(one, lambda: self._step(one))

    def _step(self, one: Process) -> None:
        own = one.clock(self.now)
        match next_step(one.candidate, own):
            case Wait(until):
                self.at(one.moment(until) + 1e-6, lambda: self.step(one))
            case Over():
                one.ended = True
                self.join()
            case Look():
                self.ask(one, lambda: self.server.record, lambda c, r, _: saw(c, r, self.own(one)))
            case Make():
                self.ask(one, lambda: self.server.put(NOBODY, ""), self._made(one))
            case Write(record):
                name = one.candidate.identity
                self.ask(
                    one,
                    lambda: self.server.put(name, record.version),
                    lambda c, r, began: wrote(c, r, began, self.own(one)),
                )

    def _made(self, one: Process) -> Callable[[Candidate, Record, float], Candidate]:
        return lambda c, r, _: saw(c, r, self.own(one))

    def own(self, one: Process) -> float:
        return one.clock(self.now)

    def ask(
        self,
        one: Process,
        do: Callable[[], Record | None],
        take: Callable[[Candidate, Record, float], Candidate],
    ) -> None:
        one.asking += 1
        number, began = one.asking, self.own(one)
        if self.happens(0.3):  # time passes between the look at the clock and the request
            one.asleep_until = max(one.asleep_until, self.now + self.random.uniform(0, 20))

        def send() -> None:
            if not self.happens():
                self.at(self.now + self.delay(), arrive)
            self.at(self.now + 2.0, lambda: self.awake(one, give_up))

        def arrive() -> None:
            answer = do()
            if not self.happens():
                self.at(self.now + self.delay(), lambda: self.awake(one, lambda: hear(answer)))

        def hear(answer: Record | None) -> None:
            if one.asking != number:
                return
            one.asking += 1
            own, known = self.own(one), one.candidate
            one.candidate = was_outrun(known, own) if answer is None else take(known, answer, began)
            self._step(one)

        def give_up() -> None:
            if one.asking == number:
                one.asking += 1
                one.candidate = heard_nothing(one.candidate, self.own(one))
                self._step(one)

        self.awake(one, send)


@settings(max_examples=300)
@given(
    seed=st.integers(0, 2**64),
    processes=st.integers(2, 4),
    trouble=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
)
def test_never_do_two_act(seed: int, processes: int, trouble: float) -> None:
    world = World(Random(seed), trouble)
    for _ in range(processes):
        world.join()

    world.run(300.0)


def test_the_world_of_that_test_has_leaders_also_in_trouble() -> None:
    for trouble in (0.0, 1.0):
        world = World(Random(7), trouble)
        for _ in range(2):
            world.join()
        world.run(300.0)

        assert world.leads > 30


@settings(max_examples=50)
@given(seed=st.integers(0, 2**64))
def test_a_standby_leads_soon_after_the_leader_died(seed: int) -> None:
    world = World(Random(seed), 0.0)
    for _ in range(2):
        world.join()
    world.run(60.0)
    leader = next(one for one in world.processes if one.candidate.renewed is not None)
    leader.ended = True
    longest = (DURATION + LOOKS) / 0.8 + 1.0  # on the slowest clock, with three answers on the way

    world.run(60.0 + longest)

    heir = next(one for one in world.processes if one is not leader)
    assert heir.clock(world.now) < acts_until(heir.candidate)
