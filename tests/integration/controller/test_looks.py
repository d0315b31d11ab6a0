"""What a provider tells unasked, laid over what was seen last."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest
from tests.integration.controller.stage import CITY, Bench, agent, up

from gascity.controller.looks import Looks
from gascity.controller.messages import Looked, Message
from gascity.controller.observe import look
from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import (
    CITY_ID,
    Alive,
    Exited,
    Observation,
    ProcessId,
    Seen,
    SessionState,
    Unseen,
)
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeWorld
from gascity.testing.standstill import stood_still


def state(name: str, pid: int, *, ended: bool = False) -> SessionState:
    life = Exited(signal=9) if ended else Alive()
    return SessionState(name, life, ProcessId(pid, f"at:{pid}"), meta={CITY_ID: CITY})


def looks(*names: str) -> tuple[Looks, list[Message]]:
    posted: list[Message] = []
    specs = [
        agent(name, hints=StartupHints(process_names=("claude",)))
        if name == "named"
        else agent(name)
        for name in names
    ]
    return Looks({"fake": FakeWorld().provider()}, specs, posted.append), posted


def whole(*states: SessionState) -> Looked:
    return Looked("fake", Seen({one.name: one for one in states}))


def ends(at: float, *states: SessionState) -> Looked:
    return Looked("fake", Seen({one.name: one for one in states}), told_at=at, whole=False)


def lives(seen: Observation) -> dict[str, bool]:
    assert isinstance(seen, Seen)
    return {name: isinstance(one.life, Alive) for name, one in seen.sessions.items()}


def test_an_end_says_nothing_of_other_sessions() -> None:
    one, _ = looks("a", "b")
    first = whole(state("a", 1), state("b", 2))
    one.take(first)
    began = one.began("fake")

    assert one.take(ends(5.0, state("a", 1, ended=True)))

    assert lives(one.seen["fake"]) == {"a": False, "b": True}
    assert one.began("fake") == began  # nothing is known of `b` that was not known before


def test_an_end_of_an_earlier_incarnation_is_not_laid_over_the_present_one() -> None:
    one, _ = looks("a")
    one.take(whole(state("a", 2)))

    one.take(ends(5.0, state("a", 1, ended=True)))

    assert lives(one.seen["fake"]) == {"a": True}


def test_an_end_of_a_session_that_was_not_seen_makes_none() -> None:
    one, _ = looks("a")
    one.take(whole())

    one.take(ends(5.0, state("a", 1, ended=True)))

    assert lives(one.seen["fake"]) == {}


def test_an_end_is_not_taken_while_the_provider_is_unseen() -> None:
    one, _ = looks("a")
    one.take(Looked("fake", Unseen("it sleeps")))

    assert not one.take(ends(5.0, state("a", 1, ended=True)))

    assert one.seen["fake"] == Unseen("it sleeps")


def test_a_look_that_began_before_an_end_does_not_take_it_back() -> None:
    one, posted = looks("a")
    one.take(whole(state("a", 1)))
    one.want()
    one.begin()  # the look begins now, on the real clock
    eventually(lambda: posted)
    one.take(ends(1e12, state("a", 1, ended=True)))

    one.take(whole(state("a", 1)))

    assert lives(one.seen["fake"]) == {"a": False}


def test_a_look_that_began_after_an_end_stands_for_itself() -> None:
    one, posted = looks("a")
    one.take(whole(state("a", 1)))
    one.take(ends(0.5, state("a", 1, ended=True)))
    one.pace = 0.0
    one.begin()
    eventually(lambda: posted)

    one.take(whole(state("a", 2)))

    assert lives(one.seen["fake"]) == {"a": True}


def test_an_end_is_listened_to_where_processes_have_names_and_all_else_is_looked_at() -> None:
    one, posted = looks("named")
    one.take(whole(state("gc-c-named", 1)))

    assert one.take(ends(5.0, state("gc-c-named", 1, ended=True)))
    assert lives(one.seen["fake"]) == {"gc-c-named": False}

    told = Looked("fake", Seen({}), told_at=1e12)
    assert not one.take(told)
    one.pace = 0.0
    one.begin()
    eventually(lambda: posted)


def far(run: str, *, ended: bool = False) -> SessionState:
    """Return a session on another machine: no process of it can be seen from here."""
    return SessionState("far", Exited() if ended else Alive(), meta={"GC_RUN": run})


@pytest.mark.parametrize(("told", "lives_on"), [("r1", False), ("r0", True)])
def test_an_end_on_another_machine_is_that_of_one_incarnation(told: str, lives_on: bool) -> None:
    one, _ = looks("far")
    one.take(whole(far("r1")))

    one.take(ends(1e12, far(told, ended=True)))

    assert lives(one.seen["fake"]) == {"far": lives_on}


def test_how_a_session_ended_that_left_nothing_is_kept_until_somebody_planned_on_it() -> None:
    one, _ = looks("far")
    one.take(whole(far("r1")))
    one.take(ends(1e12, far("r1", ended=True)))

    one.take(whole())
    assert lives(one.seen["fake"]) == {"far": False}
    one.planned(())
    one.take(whole())

    assert lives(one.seen["fake"]) == {}


def test_a_plan_that_left_a_session_alone_was_not_made_on_its_end() -> None:
    one, _ = looks("far")
    one.take(whole(far("r1")))
    one.take(ends(1e12, far("r1", ended=True)))

    one.planned({"far"})
    one.take(whole())

    assert lives(one.seen["fake"]) == {"far": False}


def test_what_is_gone_is_looked_for_again_once_its_end_was_planned_on() -> None:
    one, posted = looks("far")
    one.pace = 0.0
    one.begin()
    eventually(lambda: posted)
    one.take(whole(far("r1")))
    one.take(ends(1e12, far("r1", ended=True)))
    one.begin()
    eventually(lambda: len(posted) == 2)
    one.take(whole())
    one.planned(())

    one.begin()

    eventually(lambda: len(posted) == 3)


def test_an_end_that_was_told_during_an_outage_is_known_after_it() -> None:
    one, _ = looks("far")
    one.take(whole(far("r1")))
    one.take(Looked("fake", Unseen("it sleeps")))
    one.take(ends(1e12, far("r1", ended=True)))
    one.planned(())  # a plan that was blind does not count

    one.take(whole())

    assert lives(one.seen["fake"]) == {"far": False}


def test_the_end_of_an_earlier_incarnation_is_no_end_of_one_that_is_gone() -> None:
    one, _ = looks("far")
    one.take(whole(far("r2")))
    one.take(ends(1e12, far("r1", ended=True)))

    one.take(whole())

    assert lives(one.seen["fake"]) == {}


class Telling(FakeProvider):
    """Tells of ends, and can be made blind for everything else."""

    sees = threading.Event()
    sees.set()

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        self.sees.wait()
        return super().observe(timeout=timeout)


def test_an_end_that_is_told_is_healed_though_no_look_comes_back(bench: Bench) -> None:
    bench.make = Telling
    running = bench.run(agent("mayor"), agent("smith"))
    eventually(up(running, "mayor", "smith"))
    provider = running.controller.providers["fake"]
    before = provider.observe(timeout=5)["gc-c-mayor"]
    bench.world.sessions["gc-c-mayor"].life = Exited(signal=9)
    Telling.sees.clear()
    try:
        told = SessionState("gc-c-mayor", Exited(signal=9), before.process, meta=before.meta)
        message = Looked("fake", Seen({"gc-c-mayor": told}), told_at=1e12, whole=False)
        running.controller.post(message)

        eventually(lambda: bench.world.starts.count("gc-c-mayor") == 2)
    finally:
        Telling.sees.set()
    assert bench.world.starts.count("gc-c-smith") == 1


def test_a_launcher_that_the_machine_stood_still_in_is_still_young() -> None:
    provider = FakeWorld().provider()
    provider.start("gc-c-a", SessionConfig("npx claude", "/", {}), timeout=5.0)
    named = agent("a", hints=StartupHints(process_names=("claude",)))

    with stood_still(1000.0):
        seen = look(provider, [named])

    assert isinstance(seen, Seen)
    assert seen.sessions["gc-c-a"].agent_alive
