"""A session is known for what it is, also without its trace and while others come and go."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest
from tests.integration.tmux.conftest import LIMIT, City
from tests.living import lives

from gascity.core.observed import RUN, Alive, Exited
from gascity.errors import SessionExists
from gascity.testing.eventually import eventually
from gascity_tmux import layout, leftovers
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux

LASTING = "sleep 1000"


def start(city: City, provider: Provider, run: str, command: str = LASTING) -> None:
    provider.start("a", city.config(command, meta={RUN: run}), timeout=LIMIT)


def runs(provider: Provider) -> dict[str, tuple[str | None, bool]]:
    """Return of every session which incarnation it is, and whether that lives."""
    seen = provider.observe(timeout=LIMIT)
    return {name: (one.run, one.life == Alive()) for name, one in seen.items()}


def kill_agent(provider: Provider) -> int:
    """Kill the agent's program, and return its pid when that was seen."""
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == Exited(signal=signal.SIGKILL))
    return process.pid


def lose_trace(city: City) -> None:
    os.unlink(layout.record(str(city.home), "a"))


# --- a trace that is lost


@pytest.mark.parametrize("knows_it", [True, False])
def test_a_crashed_session_without_its_trace_is_replaced(city: City, *, knows_it: bool) -> None:
    provider = city.provider()
    start(city, provider, "r1")
    lose_trace(city)
    kill_agent(provider)
    later = provider if knows_it else city.provider()

    start(city, later, "r2")

    assert runs(later) == {"a": ("r2", True)}
    assert city.sessions() == ["a"]
    assert city.records() == ["a"]
    later.stop("a", grace=1, timeout=LIMIT)
    start(city, later, "r3")
    assert runs(later) == {"a": ("r3", True)}


def test_a_crashed_session_without_its_trace_is_replaced_with_all_its_processes(city: City) -> None:
    provider = city.provider()
    start(city, provider, "r1", "setsid sleep 1001 & exec sleep 1000")
    eventually(lambda: len(city.living()) == 2)
    lose_trace(city)
    ended = kill_agent(provider)
    (left,) = (pid for pid in city.living() if pid != ended)

    start(city, city.provider(), "r2")

    assert not lives(left)


@pytest.mark.parametrize("knows_it", [True, False])
def test_a_living_session_without_its_trace_is_not_started_again(
    city: City, *, knows_it: bool
) -> None:
    provider = city.provider()
    start(city, provider, "r1")
    lose_trace(city)
    later = provider if knows_it else city.provider()

    with pytest.raises(SessionExists):
        start(city, later, "r2")

    assert runs(later) == {"a": ("r1", True)}
    assert city.records() == ["a"]


def test_a_living_session_that_was_seen_is_not_started_again_whatever_it_is_called(
    city: City,
) -> None:
    provider = city.provider()
    start(city, provider, "r1")
    lose_trace(city)
    city.tmux("rename-session", "-t", "=a", "mine")
    provider.observe(timeout=LIMIT)

    with pytest.raises(SessionExists):
        start(city, provider, "r2")

    assert city.sessions() == ["mine"]


@pytest.mark.parametrize("aside", ["0-ended", "z-ended"])
def test_of_two_sessions_with_one_name_the_living_one_counts(city: City, aside: str) -> None:
    """One that ended was renamed by a person, and its trace is lost."""
    provider = city.provider()
    start(city, provider, "r1")
    lose_trace(city)
    kill_agent(provider)
    city.tmux("rename-session", "-t", "=a", aside)
    later = city.provider()
    start(city, later, "r2")

    assert runs(later) == {"a": ("r2", True)}
    assert later.get_meta("a", RUN, timeout=LIMIT) == "r2"
    with pytest.raises(SessionExists):
        start(city, later, "r3")
    assert "a" in later.screens(["a"], timeout=LIMIT)
    later.stop("a", grace=1, timeout=LIMIT)
    assert later.observe(timeout=LIMIT) == {}
    assert city.sessions() == []
    assert not city.living()


# --- what comes and goes meanwhile


def test_a_stop_on_its_way_leaves_the_trace_of_the_session_that_came_after(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, other = city.provider(), city.provider()
    start(city, provider, "r1")
    once_before(monkeypatch, provider._maker, "remove", lambda: start(city, other, "r2"))

    provider.stop("a", grace=1, timeout=LIMIT)

    assert runs(provider) == {"a": ("r2", True)}
    assert city.records() == ["a"]


def test_a_session_made_while_it_is_looked_for_is_no_leftover_of_an_earlier_one(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, onlooker = city.provider(), city.provider()

    def make() -> None:
        start(city, provider, "r1")
        eventually(city.living)

    once_before(monkeypatch, leftovers, "_traces", make)

    assert runs(onlooker) == {"a": ("r1", True)}


def test_a_session_removed_while_it_is_looked_at_is_not_seen_without_its_metadata(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, onlooker = city.provider(), city.provider()
    provider.start("b", city.config(LASTING, meta={RUN: "b1"}), timeout=LIMIT)
    start(city, provider, "r1")

    def stop() -> None:
        provider.stop("a", grace=1, timeout=LIMIT)

    once_before(monkeypatch, onlooker._view, "metadata", stop)

    assert runs(onlooker) == {"b": ("b1", True)}


def once_before(
    monkeypatch: pytest.MonkeyPatch, thing: object, name: str, act: Callable[[], None]
) -> None:
    """Have something happen right before the first call of a function."""
    real, acts = getattr(thing, name), [act]

    def late(*args: object, **named: object) -> object:
        if acts:
            acts.pop()()
        return real(*args, **named)

    monkeypatch.setattr(thing, name, late)


def test_a_pane_that_a_person_moved_is_replaced_without_its_new_neighbours(city: City) -> None:
    provider = city.provider()
    provider.start("b", city.config(LASTING, meta={RUN: "rb"}), timeout=LIMIT)
    start(city, provider, "r1")
    city.tmux("join-pane", "-s", "=a:", "-t", "=b:")
    kill_agent(provider)

    start(city, provider, "r2")

    assert runs(provider) == {"a": ("r2", True), "b": ("rb", True)}
