"""Starts that fail leave nothing, starts at once make one session, and stop ends what there is."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from tests.integration.tmux.conftest import LIMIT, City
from tests.living import lives

from gascity.core.model import StartupHints
from gascity.core.observed import READY
from gascity.errors import GascityError, SessionExists, StartFailed
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux

DEAF = "trap '' HUP; touch up; while :; do sleep 0.1; done"


def nothing_is_left(city: City, provider: Provider) -> None:
    assert provider.observe(timeout=LIMIT) == {}
    assert not city.living()
    assert not city.server()
    assert city.records() == []


# --- starts


@pytest.mark.parametrize(
    "hints",
    [
        StartupHints(pre_start=("exit 3",)),
        StartupHints(session_setup=("exit 3",)),
        StartupHints(session_setup_script="no-such-script"),
        StartupHints(overlay_dir="/no/such/folder"),
    ],
    ids=["pre_start", "session_setup", "session_setup_script", "overlay_dir"],
)
def test_a_failed_start_leaves_nothing(city: City, hints: StartupHints) -> None:
    provider = city.provider()

    with pytest.raises(StartFailed):
        provider.start("a", city.config("sleep 1000", hints=hints), timeout=LIMIT)

    nothing_is_left(city, provider)


def test_a_start_whose_program_ends_before_it_is_ready_leaves_nothing(city: City) -> None:
    provider = city.provider()
    hints = StartupHints(ready_prompt_prefix="> ")

    with pytest.raises(StartFailed) as caught:
        provider.start(
            "a", city.config("sleep 1000 & echo oops; sleep 0.2; exit 4", hints), timeout=LIMIT
        )

    assert "exited with status 4" in str(caught.value)
    assert caught.value.output == "oops"
    nothing_is_left(city, provider)


def test_a_start_that_is_stopped_meanwhile_leaves_nothing(city: City) -> None:
    provider = city.provider()
    hints = StartupHints(ready_prompt_prefix="never")
    problems: list[GascityError] = []

    def start() -> None:
        try:
            provider.start("a", city.config("sleep 1000", hints), timeout=LIMIT)
        except GascityError as problem:
            problems.append(problem)

    thread = threading.Thread(target=start)
    thread.start()
    eventually(lambda: provider.is_running("a", timeout=LIMIT))
    provider.stop("a", grace=1, timeout=LIMIT)
    thread.join()

    assert [type(problem) for problem in problems] == [StartFailed]
    nothing_is_left(city, provider)


def test_a_start_in_a_work_folder_that_cannot_be_made_leaves_nothing(city: City) -> None:
    provider = city.provider()
    (city.work / "file").touch()
    config = city.config("sleep 1000")
    object.__setattr__(config, "work_dir", str(city.work / "file" / "below"))

    with pytest.raises(StartFailed):
        provider.start("a", config, timeout=LIMIT)

    nothing_is_left(city, provider)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "a;b", "a#b", "gc-control", "$1", "@x"])
def test_what_cannot_be_a_name_is_refused(city: City, name: str) -> None:
    provider = city.provider()

    with pytest.raises(StartFailed, match="cannot be the name"):
        provider.start(name, city.config("sleep 1000"), timeout=LIMIT)

    nothing_is_left(city, provider)


@pytest.mark.parametrize("is_first", [True, False], ids=["without a server", "with a server"])
def test_three_starts_of_one_name_at_once_make_one_session(city: City, *, is_first: bool) -> None:
    if not is_first:
        city.provider().start("other", city.config("sleep 1000"), timeout=LIMIT)
    providers = [city.provider() for _ in range(3)]
    together = threading.Barrier(3)
    ended: list[str] = []

    def start(provider: Provider) -> None:
        together.wait()
        try:
            provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
            ended.append("started")
        except GascityError as problem:
            ended.append(type(problem).__name__)

    threads = [threading.Thread(target=start, args=[provider]) for provider in providers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ended) == [SessionExists.__name__, SessionExists.__name__, "started"]
    assert [name for name in city.sessions() if name == "a"] == ["a"]
    eventually(lambda: len(city.living()) == (1 if is_first else 2))  # it may not show its own yet


def test_many_first_starts_at_once_share_one_server(city: City) -> None:
    names = [f"a{count}" for count in range(6)]
    providers = [city.provider() for _ in names]
    problems: list[GascityError] = []

    def start(provider: Provider, name: str) -> None:
        try:
            provider.start(name, city.config("sleep 1000"), timeout=LIMIT)
        except GascityError as problem:
            problems.append(problem)

    pairs = zip(providers, names, strict=True)
    threads = [threading.Thread(target=start, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert city.sessions() == names


def test_prompt_readiness_looks_at_the_current_screen_only(city: City) -> None:
    """The old prompt scrolled away before anyone looked; the new one never comes."""
    provider = city.provider()
    scrolled = f"until tmux -S {city.socket} capture-pane -p -t =a: | grep -qx 200; do :; done"
    hints = StartupHints(ready_prompt_prefix="> ", session_setup=(scrolled,))

    provider.start("a", city.config("echo '> old'; seq 200; sleep 1000", hints), timeout=4)

    assert "> old" in provider.peek("a", 0, timeout=LIMIT)
    assert provider.get_meta("a", READY, timeout=LIMIT) == "timeout"


def test_prompt_readiness_sees_a_prompt_on_the_screen(city: City) -> None:
    provider = city.provider()
    hints = StartupHints(ready_prompt_prefix="> ")

    provider.start("a", city.config("seq 200; printf '> '; sleep 1000", hints), timeout=LIMIT)

    assert provider.get_meta("a", READY, timeout=LIMIT) == "yes"


# --- stops


@pytest.mark.parametrize("command", ["bash --norc -i", "bash --norc", "sh -i"])
def test_stop_returns_soon_for_an_interactive_shell(city: City, command: str) -> None:
    provider = city.provider()
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually(lambda: provider.peek("a", 3, timeout=LIMIT).strip())
    began = time.monotonic()

    provider.stop("a", grace=2 * LIMIT, timeout=3 * LIMIT)

    assert time.monotonic() - began < 2 * LIMIT
    nothing_is_left(city, provider)


@pytest.mark.parametrize("word", ["kill-session", "kill-pane", "kill-window", "kill-server"])
def test_stop_after_a_person_killed_it_by_hand_ends_what_survived(city: City, word: str) -> None:
    provider = city.provider()
    provider.start("a", city.config(DEAF), timeout=LIMIT)
    eventually((city.work / "up").exists)
    (survivor, *_) = city.living()
    if word == "kill-server":
        city.tmux(word)
        eventually(lambda: not city.clients())
    else:
        city.tmux(word, "-t", "=a:")
    assert lives(survivor)

    provider.stop("a", grace=0.2, timeout=LIMIT)

    assert not city.living()
    assert city.records() == []


def test_the_next_start_ends_what_survived_a_person_who_killed_it_by_hand(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(DEAF), timeout=LIMIT)
    eventually((city.work / "up").exists)
    survivors = city.living()
    city.tmux("kill-session", "-t", "=a")

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert not [pid for pid in survivors if lives(pid)]
    eventually(lambda: len(city.living()) == 1)


def test_stop_ends_a_program_that_is_stopped_by_a_signal(city: City) -> None:
    provider = city.provider()
    command = "trap 'touch asked; exit' TERM; touch up; while :; do sleep 0.05; done"
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually((city.work / "up").exists)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    os.killpg(process.pid, signal.SIGSTOP)

    provider.stop("a", grace=2 * LIMIT, timeout=3 * LIMIT)

    assert (city.work / "asked").exists()
    nothing_is_left(city, provider)


def test_stop_leaves_a_persons_own_session_and_its_server_alone(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    city.tmux("new-session", "-d", "-s", "person", "sleep 1000")

    provider.stop("a", grace=1, timeout=LIMIT)

    assert city.sessions() == ["person"]
    assert provider.observe(timeout=LIMIT) == {}
