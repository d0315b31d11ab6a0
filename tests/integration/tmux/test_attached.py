"""Persons who look at a session: they are counted, they stay, and their settings do no harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import HANDED_OVER, LIMIT, SCRIBE, City

from gascity.core.observed import Exited
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux


def attached(provider: Provider, name: str) -> int:
    return provider.observe(timeout=LIMIT)[name].attached


def viewers(city: City, name: str) -> list[str]:
    """Return the pids of the clients that show a session."""
    return city.tmux("list-clients", "-t", f"={name}", "-F", "#{client_pid}").split()


# --- attached clients


def test_two_attached_clients_are_counted(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    assert attached(provider, "a") == 0
    first, _ = city.attach("a"), city.attach("a")

    eventually(lambda: attached(provider, "a") == 2)

    def one_is_left() -> bool:
        first.type(b"\x02d")  # keys that come before the screen may be lost
        return attached(provider, "a") == 1

    eventually(one_is_left, every=0.5)

    assert eventually(lambda: first.status is not None)
    assert first.status == 0
    assert provider.is_running("a", timeout=LIMIT)


def test_two_attached_clients_both_see_a_nudge(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    terminals = [city.attach("a"), city.attach("a")]
    eventually(lambda: attached(provider, "a") == 2)

    receipt = provider.nudge("a", "hello both", timeout=LIMIT, wait=True)  # they just came

    assert receipt.delivery in HANDED_OVER

    assert eventually(city.heard) == ["hello both"]
    for terminal in terminals:
        eventually(lambda shown=terminal: b"hello both" in shown.shown)  # type: ignore[misc] # a lambda has no types


def test_a_person_who_types_is_not_interrupted(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    terminal = city.attach("a")
    eventually(lambda: attached(provider, "a") == 1)
    terminal.type(b"half a thought")
    eventually(lambda: "half a thought" in provider.peek("a", 1, timeout=LIMIT))

    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.REFUSED
    terminal.type(b", and the rest\r")
    assert eventually(city.heard) == ["half a thought, and the rest"]


def test_what_a_person_types_reaches_the_agent(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    terminal = city.attach("a")
    eventually(lambda: attached(provider, "a") == 1)

    terminal.type(b"from a person\r")

    assert eventually(city.heard) == ["from a person"]


def test_the_restart_of_an_ended_session_keeps_persons_attached(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("read line; exit 3"), timeout=LIMIT)
    terminals = [city.attach("a"), city.attach("a")]
    eventually(lambda: attached(provider, "a") == 2)
    before = viewers(city, "a")
    terminals[0].type(b"\r")
    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == Exited(3))

    provider.start("a", city.config("echo again; sleep 1000"), timeout=LIMIT)

    assert sorted(viewers(city, "a")) == sorted(before)
    assert city.sessions() == ["a"]
    for terminal in terminals:
        eventually(lambda shown=terminal: b"again" in shown.shown)  # type: ignore[misc] # a lambda has no types


def test_a_stopped_session_lets_its_persons_go(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.start("b", city.config("sleep 1000"), timeout=LIMIT)
    terminal = city.attach("a")
    eventually(lambda: attached(provider, "a") == 1)

    provider.stop("a", grace=1, timeout=LIMIT)

    eventually(lambda: terminal.status is not None)
    assert attached(provider, "b") == 0


def test_the_size_follows_the_person_and_a_small_terminal_loses_nothing(city: City) -> None:
    provider = city.provider()
    long = "x" * 150
    provider.start("a", city.config(f"echo {long}; {SCRIBE}"), timeout=LIMIT)
    eventually(lambda: provider.peek("a", 5, timeout=LIMIT) == long)
    city.attach("a")
    eventually(lambda: city.ask("a", "#{window_width}") == "80")

    assert provider.peek("a", 5, timeout=LIMIT) == long


# --- a person's own configuration


def with_config(city: City, tmp_path: Path, text: str) -> Provider:
    path = tmp_path / "tmux.conf"
    path.write_text(text)
    return city.provider({"config": str(path)})


CONFIGS = {
    "base-index": "set -g base-index 1\nsetw -g pane-base-index 1\n",
    "remain-on-exit": "setw -g remain-on-exit on\nset -g remain-on-exit-format gone\n",
    "destroy-unattached": "set -g destroy-unattached on\n",
    "exit-unattached": "set -s exit-unattached on\n",
    "default-command": "set -g default-command 'echo mine'\nset -g default-shell /bin/false\n",
    "names": "setw -g automatic-rename on\nset -g renumber-windows on\nset -g set-titles on\n",
    "keys": "setw -g mode-keys vi\nset -g prefix C-a\nset -g mouse on\nunbind -a\n",
    "environment": "set -g update-environment 'LEAKED HOME'\nset-environment -g LEAKED 1\n",
    "hook after new-session": "set-hook -g after-new-session split-window\n",
    "hook session-created": "set-hook -g session-created new-window\n",
    "limit": "set -g history-limit 5\n",
    "nonsense": "no-such-command\nset -g no-such-option 1\n",
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS.keys())
def test_a_persons_config_does_no_harm(city: City, tmp_path: Path, text: str) -> None:
    provider = with_config(city, tmp_path, text)
    provider.start("a", city.config(f"echo up; {SCRIBE}", meta={"KEY": "value"}), timeout=LIMIT)
    provider.start("b", city.config("echo bye; sleep 0.2; exit 3"), timeout=LIMIT)
    provider.close()
    eventually(lambda: not city.tmux("list-clients"))

    later = city.provider()

    assert eventually(lambda: later.peek("a", 3, timeout=LIMIT)) == "up"
    assert later.nudge("a", "hello", timeout=LIMIT).delivery in HANDED_OVER
    assert eventually(city.heard) == ["hello"]
    assert later.observe(timeout=LIMIT)["a"].meta == {"KEY": "value"}
    eventually(lambda: later.observe(timeout=LIMIT)["b"].life == Exited(3))
    assert later.peek("b", 3, timeout=LIMIT) == "bye"
    later.stop("a", grace=1, timeout=LIMIT)
    later.stop("b", grace=1, timeout=LIMIT)
    assert not city.living()
    assert not city.server()


def test_base_index_1_is_in_force_and_does_not_confuse(city: City, tmp_path: Path) -> None:
    provider = with_config(city, tmp_path, CONFIGS["base-index"])
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    assert city.ask("a", "#{window_index}.#{pane_index}") == "1.1"

    provider.send_keys("a", ["x", "Enter"], timeout=LIMIT)

    assert eventually(city.heard) == ["x"]


def test_a_persons_own_config_is_not_read_unless_it_is_named(
    city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".tmux.conf").write_text("set -g base-index 7\n")
    monkeypatch.setenv("HOME", str(tmp_path))

    city.provider().start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert city.ask("a", "#{window_index}") == "0"


def test_a_socket_may_be_named_by_its_path(city: City, tmp_path: Path) -> None:
    city.socket = str(tmp_path / "own" / "socket")
    provider = city.provider({"socket": city.socket})

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert os.path.exists(city.socket)
    assert city.sessions() == ["a"]
