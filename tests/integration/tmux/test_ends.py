"""Ends in tmux: told as they are, at once, and only when they are certain."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.integration.tmux.conftest import City
from tests.living import lives

from gascity.core.observed import Exited, SessionState
from gascity.session.tmux.panes import Pane
from gascity.testing.eventually import eventually
from gascity.testing.standstill import stood_still
from gascity_tmux.provider import Provider

LIMIT = 60.0
pytestmark = pytest.mark.tmux


class Told:
    """What a watch was told and how often it was woken."""

    def __init__(self, provider: Provider) -> None:
        self.ends: list[tuple[dict[str, SessionState], bool]] = []
        self.wakes = 0
        self._watch = provider.watch(self._wake, seen=self._seen, interval=1000)
        self.close = self._watch.close

    def _wake(self) -> None:
        self.wakes += 1

    def _seen(self, sessions: Mapping[str, SessionState], at: float, *, whole: bool = True) -> None:
        assert at > 0
        self.ends.append((dict(sessions), whole))

    def names(self) -> set[str]:
        return {name for sessions, _ in self.ends for name in sessions}


@pytest.fixture
def provider(city: City) -> Provider:
    return city.provider()


@pytest.fixture
def told(provider: Provider) -> Iterator[Told]:
    made = Told(provider)
    yield made
    made.close()


def kill(provider: Provider, name: str) -> SessionState:
    state = provider.observe(timeout=LIMIT)[name]
    assert state.process is not None
    os.kill(state.process.pid, signal.SIGKILL)
    return state


def test_an_end_is_told_with_how_it_ended_and_nothing_else(
    city: City, provider: Provider, told: Told
) -> None:
    for name in ("a", "b"):
        provider.start(name, city.config("sleep 1000"), timeout=LIMIT)

    killed = [kill(provider, "a")]
    while not is_told(told) and len(killed) < 10:  # on a busy machine it may be left to a look
        eventually(lambda: not provider.is_running("a", timeout=LIMIT))
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
        killed.append(kill(provider, "a"))

    sessions, whole = told.ends[0]
    assert not whole
    assert sessions.keys() == {"a"}
    assert sessions["a"].life == Exited(signal=signal.SIGKILL)
    assert sessions["a"].process in [state.process for state in killed]
    assert sessions["a"].meta == killed[0].meta


def is_told(told: Told) -> bool:
    with contextlib.suppress(AssertionError):
        return bool(eventually(lambda: told.ends, within=1))
    return False


def test_a_session_that_somebody_removed_is_no_end_but_something_to_look_at(
    city: City, provider: Provider, told: Told
) -> None:
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.start("b", city.config("sleep 1000"), timeout=LIMIT)
    provider.observe(timeout=LIMIT)
    before = told.wakes

    city.tmux("kill-session", "-t", "=a")

    eventually(lambda: told.wakes > before)
    assert told.names() == set()


def test_a_server_that_dies_takes_no_session_for_ended(
    city: City, provider: Provider, told: Told
) -> None:
    for name in ("a", "b"):
        provider.start(name, city.config("sleep 1000"), timeout=LIMIT)
    provider.observe(timeout=LIMIT)
    before = told.wakes

    server = city.server()
    assert server
    os.kill(server, signal.SIGKILL)

    eventually(lambda: told.wakes > before)
    eventually(lambda: not city.living())
    assert told.names() == set()


def test_how_a_program_ended_is_waited_for_though_the_machine_stood_still(
    city: City, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.start("a", city.config("exit 3"), timeout=LIMIT)
    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == Exited(3))
    ask, looks = provider._view._ask_for_panes, iter(range(1000))

    with contextlib.ExitStack() as stack:

        def ask_again(name: str, deadline: float) -> Sequence[Pane]:
            """Answer twice as a tmux that has not heard of it yet, and then stand still."""
            found, look = ask(name, deadline), next(looks)
            if look == 1:
                stack.enter_context(stood_still(5.0))
            return [replace(pane, life=Exited()) for pane in found] if look < 2 else found

        monkeypatch.setattr(provider._view, "_ask_for_panes", ask_again)
        seen = provider.observe(timeout=LIMIT)["a"]

    assert seen.life == Exited(3)


@pytest.mark.parametrize("apart", ["setsid", ""])
def test_the_next_start_ends_what_a_program_left_and_keeps_its_last_words(
    city: City, provider: Provider, told: Told, apart: str
) -> None:
    script = city.work / "leaves.sh"
    script.write_text(
        f"{apart} sh -c 'trap \"\" HUP; echo $$ >left; exec sleep 1000' &\n"
        "while ! [ -s left ]; do sleep 0.01; done\n"
        "echo farewell; exec sleep 1000\n"
    )
    config = city.config("sh leaves.sh")
    provider.start("a", config, timeout=LIMIT)
    eventually(lambda: "farewell" in provider.peek("a", 5, timeout=LIMIT))
    pid = int((city.work / "left").read_text())
    kill(provider, "a")
    # Asked of tmux itself: nobody looks at everything in between.
    eventually(lambda: city.ask("a", "#{pane_dead}") == "1")
    assert lives(pid)

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert not lives(pid)
    assert provider.previous_output("a", 200).splitlines()[-1] == "farewell"
    assert provider.previous_output("a", 200) == ""
