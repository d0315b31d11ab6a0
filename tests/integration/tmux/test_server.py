"""A server that is killed, cut off or replaced is an outage, never an empty city."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import HANDED_OVER, LIMIT, SCRIBE, City, frozen, outer_env
from tests.living import lives

from gascity.core.observed import Exited
from gascity.errors import ProviderUnavailable
from gascity.session import processes
from gascity.session.receipts import Delivery
from gascity.session.tmux.wire import Block
from gascity.testing.eventually import eventually
from gascity_tmux import server
from gascity_tmux.connection import Connection
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux

# Ends neither with its terminal nor when asked to.
STUBBORN = "trap '' HUP TERM; while :; do sleep 0.1; done"
# Takes note that it was asked to.
SLOW = "trap '' HUP; trap 'touch asked' TERM; touch up; while :; do sleep 0.1; done"


def kill_server(city: City) -> None:
    pid = city.server()
    assert pid  # 0 would be everybody in the process group of the tests
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid))


def is_known_to_be_empty(provider: Provider) -> bool:
    """Ask until the outage was told."""
    with contextlib.suppress(ProviderUnavailable):
        return provider.observe(timeout=LIMIT) == {}
    return False


# --- killed


def test_killed_server_is_an_outage_once_and_then_an_empty_city(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    kill_server(city)
    eventually(lambda: not city.clients())
    eventually(lambda: not provider._server.is_connected)

    with pytest.raises(ProviderUnavailable, match="went away"):
        provider.observe(timeout=LIMIT)

    eventually(lambda: provider.observe(timeout=LIMIT) == {})


def test_killed_server_that_takes_its_time_to_die_is_an_outage_too(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    kill_server(city)
    eventually(lambda: not provider._server.is_connected)
    is_alive, answers = processes.is_alive, iter([True])
    monkeypatch.setattr(server, "DYING", 0.0)
    monkeypatch.setattr(processes, "is_alive", lambda one: next(answers, False) or is_alive(one))

    with pytest.raises(ProviderUnavailable, match="went away"):
        provider.observe(timeout=LIMIT)


def test_a_server_that_only_hung_up_is_not_lost_when_it_ends_later(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    (hub,) = city.clients()
    os.kill(hub, signal.SIGKILL)
    eventually(lambda: not provider._server.is_connected)
    assert set(provider.observe(timeout=LIMIT)) == {"a"}

    provider.stop("a", grace=0.1, timeout=LIMIT)

    assert provider.observe(timeout=LIMIT) == {}


def test_killed_server_wakes_the_watch(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    woken = threading.Event()
    watch = provider.watch(woken.set, interval=1000)
    try:
        provider.observe(timeout=LIMIT)
        woken.clear()
        kill_server(city)

        assert woken.wait(LIMIT)
    finally:
        watch.close()


def test_killed_server_can_be_started_on_again(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    first = city.server()
    kill_server(city)
    eventually(lambda: is_known_to_be_empty(provider))

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert provider.list_running("", timeout=LIMIT) == ["a"]
    assert city.server() not in (0, first)


def test_killed_server_its_survivors_are_gone_after_the_next_start(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(f"{STUBBORN} # stubborn"), timeout=LIMIT)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    eventually(lambda: ignores_hangup(process.pid))
    kill_server(city)
    assert lives(process.pid)

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert not lives(process.pid)
    eventually(lambda: len(city.living()) == 1)


def test_killed_server_its_survivors_are_seen_as_ended_until_they_are_stopped(city: City) -> None:
    provider = city.provider()
    env = {"GC_AGENT": "dir/a", "GC_RUN": "run-1"}
    provider.start("a", city.config(f"{STUBBORN} # stubborn", env=env), timeout=LIMIT)
    provider.start("b", city.config("sleep 1000"), timeout=LIMIT)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    eventually(lambda: ignores_hangup(process.pid))
    kill_server(city)

    eventually(lambda: seen_after_the_outage(provider) == {"a"})
    left = provider.observe(timeout=LIMIT)["a"]
    assert left.life == Exited()
    assert left.meta == {"GC_CITY_ID": "id", "GC_AGENT": "dir/a", "GC_RUN": "run-1"}
    provider.stop("a", grace=0.1, timeout=LIMIT)
    assert not lives(process.pid)
    assert provider.observe(timeout=LIMIT) == {}


def seen_after_the_outage(provider: Provider) -> set[str]:
    try:
        return set(provider.observe(timeout=LIMIT))
    except ProviderUnavailable:
        return set()


def test_killed_server_a_stop_on_its_way_ends_nothing_on_the_next_one(city: City) -> None:
    """Numbers of sessions and panes begin anew with each server."""
    provider = city.provider()
    provider.start("a", city.config(SLOW), timeout=LIMIT)
    eventually((city.work / "up").exists)
    slow = provider.observe(timeout=LIMIT)["a"].process
    assert slow is not None
    stopping = threading.Thread(
        target=provider.stop, args=("a",), kwargs={"grace": LIMIT, "timeout": 2 * LIMIT}
    )
    stopping.start()
    eventually((city.work / "asked").exists)
    kill_server(city)
    other = city.provider()
    other.start("b", city.config("sleep 1000"), timeout=LIMIT)
    process = other.observe(timeout=LIMIT)["b"].process
    assert process is not None

    os.kill(slow.pid, signal.SIGKILL)
    stopping.join()

    assert lives(process.pid)
    assert city.sessions() == ["b"]


def test_killed_server_a_start_on_its_way_ends_nothing_on_the_next_one(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("true"), timeout=LIMIT)
    eventually(lambda: city.ask("a", "#{pane_dead}") == "1")
    before = provider._view.find("a", time.monotonic() + LIMIT)
    assert before is not None
    kill_server(city)
    other = city.provider()
    other.start("b", city.config("sleep 1000"), timeout=LIMIT)
    assert city.ask("b", "#{session_id}") == before.session

    with pytest.MonkeyPatch.context() as patch:  # it saw the session a moment before
        patch.setattr(provider._maker, "_clear_the_ground", lambda *_: before)
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert city.sessions() == ["a", "b"]
    assert set(other.observe(timeout=LIMIT)) == {"a", "b"}


def test_killed_server_a_terminal_of_it_is_never_one_of_the_next(city: City) -> None:
    """A message may wait for its agent while the server is killed and another one started."""
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    terminal = provider.terminal("a")
    assert terminal is not None
    kill_server(city)
    city.provider().start("b", city.config(f"echo hello; {SCRIBE}"), timeout=LIMIT)
    eventually(lambda: "hello" in provider.peek("b", 0, timeout=LIMIT))

    assert not terminal.look(timeout=LIMIT).alive
    terminal.paste("for a", timeout=LIMIT)
    terminal.press(["Enter"], timeout=LIMIT)
    assert provider.nudge("b", "for b", timeout=LIMIT).delivery in HANDED_OVER
    eventually(lambda: city.heard() == ["for b"])


def test_a_start_that_is_cut_off_leaves_no_session_that_ended(city: City) -> None:
    """Whoever replaces a session may be killed at any instant."""
    provider = city.provider()
    provider.start("a", city.config("true"), timeout=LIMIT)
    eventually(lambda: city.ask("a", "#{pane_dead}") == "1")
    asked = Connection.ask

    def answer_and_die(self: Connection, *lines: str, deadline: float) -> list[Block]:
        said = asked(self, *lines, deadline=deadline)
        if any("new-session" in line for line in lines):
            raise SystemExit
        return said

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "ask", answer_and_die)
        with pytest.raises(SystemExit):
            provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert city.sessions() == ["a"]


def ignores_hangup(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored.split()[1], 16) & 1)


# --- lost and replaced sockets


def test_lost_socket_is_made_again(city: City) -> None:
    first = city.provider()
    first.start("a", city.config("sleep 1000"), timeout=LIMIT)
    server = city.server()
    first.close()
    os.unlink(city.socket)

    assert city.provider().list_running("", timeout=LIMIT) == ["a"]
    assert city.server() == server
    assert city.sessions() == ["a"]


def test_lost_socket_of_a_frozen_server_is_an_outage(city: City) -> None:
    first = city.provider()
    first.start("a", city.config("sleep 1000"), timeout=LIMIT)
    os.unlink(city.socket)
    with frozen(city):
        later = city.provider()
        with pytest.raises(ProviderUnavailable, match="socket"):
            later.observe(timeout=0.5)
        with pytest.raises(ProviderUnavailable, match="socket"):
            later.start("a", city.config("sleep 1000"), timeout=0.5)

    assert list(later.observe(timeout=LIMIT)) == ["a"]


@pytest.fixture
def usurped(city: City) -> Iterator[tuple[City, int]]:
    """A city whose socket another tmux server took, and that server's pid."""
    first = city.provider()
    first.start("a", city.config("sleep 1000"), timeout=LIMIT)
    first.close()
    os.unlink(city.socket)
    city.tmux("new-session", "-d", "-s", "foreign", "sleep 1000")
    yield city, int(city.ask("foreign", "#{pid}"))
    assert city.server()  # the city's own lived through it


def test_replaced_socket_is_an_outage(usurped: tuple[City, int]) -> None:
    city, other = usurped
    agents = eventually(city.living)
    provider = city.provider()

    with pytest.raises(ProviderUnavailable, match=f"leads to tmux server {other}"):
        provider.observe(timeout=LIMIT)
    with pytest.raises(ProviderUnavailable):
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    with pytest.raises(ProviderUnavailable):
        provider.stop("a", grace=0.1, timeout=LIMIT)

    assert len(agents) == 1
    assert city.living() == agents
    assert lives(other)


def test_replaced_socket_the_other_server_is_left_as_it_was(usurped: tuple[City, int]) -> None:
    city, _ = usurped
    before = city.tmux("show-options", "-g"), city.tmux("list-sessions", "-F", "#{session_name}")

    with pytest.raises(ProviderUnavailable):
        city.provider().observe(timeout=LIMIT)

    after = city.tmux("show-options", "-g"), city.tmux("list-sessions", "-F", "#{session_name}")
    assert after == before


def test_replaced_socket_is_given_back_when_the_other_server_ends(
    usurped: tuple[City, int],
) -> None:
    city, other = usurped
    provider = city.provider()
    os.kill(other, signal.SIGKILL)
    eventually(lambda: not lives(other))

    assert list(provider.observe(timeout=LIMIT)) == ["a"]


# --- when it is there


def test_the_server_ends_with_its_last_session_and_takes_its_socket_along(city: City) -> None:
    provider = city.provider()
    for name in ("a", "b"):
        provider.start(name, city.config("sleep 1000"), timeout=LIMIT)
    provider.stop("a", grace=1, timeout=LIMIT)
    assert city.server()

    provider.stop("b", grace=1, timeout=LIMIT)

    assert not city.server()
    assert not os.path.exists(city.socket)
    assert provider.observe(timeout=LIMIT) == {}


def test_a_city_that_was_never_started_has_no_server(city: City) -> None:
    provider = city.provider()

    assert provider.observe(timeout=LIMIT) == {}
    provider.stop("a", grace=1, timeout=LIMIT)
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery is Delivery.ABSENT
    assert not city.on_socket()
    assert not city.home.exists()


def test_a_stale_socket_without_a_server_is_no_hindrance(city: City) -> None:
    city.tmux("new-session", "-d", "-s", "x", "sleep 1000")
    pid = int(city.ask("x", "#{pid}"))
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid))
    assert os.path.exists(city.socket)
    provider = city.provider()

    assert provider.observe(timeout=LIMIT) == {}
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert city.sessions() == ["a"]


def test_tmux_by_hand_reaches_the_city_without_any_setting(city: City) -> None:
    """`tmux -L NAME` works, as the socket lies where tmux looks for it."""
    city.provider().start("a", city.config("sleep 1000"), timeout=LIMIT)

    done = subprocess.run(
        ["tmux", "-L", os.path.basename(city.socket), "has-session", "-t", "=a"],
        env=outer_env(),
        timeout=LIMIT,
        check=False,
    )

    assert done.returncode == 0
