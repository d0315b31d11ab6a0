"""Acting on one session never touches another, whatever it is called and whoever moved it."""

from __future__ import annotations

import pytest
from tests.integration.tmux.conftest import HANDED_OVER, LIMIT, SCRIBE, City
from tests.living import lives

from gascity.core.observed import Alive
from gascity.errors import SessionExists, SessionNotFound, StartFailed
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux


def pid_of(provider: Provider, name: str) -> int:
    process = provider.observe(timeout=LIMIT)[name].process
    assert process is not None
    return process.pid


# --- prefix match: tmux takes `worker-1` for `worker-10` when there is no other


@pytest.fixture
def tenth(city: City) -> Provider:
    """A city in which worker-1 vanished and worker-10 lives."""
    provider = city.provider()
    provider.start("worker-1", city.config("sleep 1000"), timeout=LIMIT)
    provider.start("worker-10", city.config(SCRIBE), timeout=LIMIT)
    city.tmux("kill-session", "-t", "=worker-1")
    return provider


def test_prefix_match_stop_leaves_worker_10_alone(city: City, tenth: Provider) -> None:
    tenth.stop("worker-1", grace=1, timeout=LIMIT)

    assert tenth.list_running("", timeout=LIMIT) == ["worker-10"]
    assert city.sessions() == ["worker-10"]


def test_prefix_match_a_nudge_does_not_reach_worker_10(city: City, tenth: Provider) -> None:
    assert tenth.nudge("worker-1", "not for you", timeout=LIMIT).delivery is Delivery.ABSENT
    tenth.send_keys("worker-1", ["x", "Enter"], timeout=LIMIT)
    tenth.interrupt("worker-1", timeout=LIMIT)
    tenth.nudge("worker-10", "for you", timeout=LIMIT)

    assert eventually(city.heard) == ["for you"]


def test_prefix_match_metadata_does_not_reach_worker_10(city: City, tenth: Provider) -> None:
    with pytest.raises(SessionNotFound):
        tenth.set_meta("worker-1", "KEY", "value", timeout=LIMIT)
    tenth.set_meta("worker-10", "OTHER", "kept", timeout=LIMIT)
    tenth.remove_meta("worker-1", "OTHER", timeout=LIMIT)

    assert tenth.get_meta("worker-1", "OTHER", timeout=LIMIT) is None
    assert tenth.observe(timeout=LIMIT)["worker-10"].meta == {"OTHER": "kept"}


def test_prefix_match_nothing_is_read_from_worker_10(tenth: Provider) -> None:
    with pytest.raises(SessionNotFound):
        tenth.peek("worker-1", 10, timeout=LIMIT)

    assert not tenth.is_running("worker-1", timeout=LIMIT)
    assert not tenth.process_alive("worker-1", [], timeout=LIMIT)
    assert tenth.last_activity("worker-1", timeout=LIMIT) is None


def test_prefix_match_worker_1_can_be_started_beside_worker_10(city: City, tenth: Provider) -> None:
    tenth.start("worker-1", city.config("sleep 1000"), timeout=LIMIT)

    assert city.sessions() == ["worker-1", "worker-10"]


# --- names


def test_names_with_dots_and_colons_stay_apart(city: City) -> None:
    provider = city.provider()
    names = ["a.b", "a:b", "a_b"]
    for name in names:
        provider.start(name, city.config("sleep 1000", meta={"NAME": name}), timeout=LIMIT)

    assert provider.list_running("", timeout=LIMIT) == sorted(names)
    assert len(city.sessions()) == 3

    provider.stop("a.b", grace=1, timeout=LIMIT)

    assert provider.list_running("", timeout=LIMIT) == ["a:b", "a_b"]
    assert provider.get_meta("a:b", "NAME", timeout=LIMIT) == "a:b"


def test_a_session_renamed_by_a_person_is_found_and_stopped_under_its_true_name(
    city: City,
) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE, meta={"KEY": "value"}), timeout=LIMIT)
    city.tmux("rename-session", "-t", "=a", "mine")

    with pytest.raises(SessionExists):
        provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    assert provider.get_meta("a", "KEY", timeout=LIMIT) == "value"
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery in HANDED_OVER
    assert eventually(city.heard) == ["hello"]

    provider.stop("a", grace=1, timeout=LIMIT)

    assert provider.observe(timeout=LIMIT) == {}
    assert not city.living()


def test_a_renamed_session_that_ended_is_replaced(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("exit 3"), timeout=LIMIT)
    eventually(lambda: not provider.is_running("a", timeout=LIMIT))
    city.tmux("rename-session", "-t", "=a", "mine")

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert city.sessions() == ["a"]


def test_a_foreign_session_with_our_name_is_refused_and_left_alone(city: City) -> None:
    city.tmux("new-session", "-d", "-s", "a", "sleep 1000")
    foreign = int(city.ask("a", "#{pane_pid}"))
    provider = city.provider()

    with pytest.raises(StartFailed, match="not of this city"):
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.stop("a", grace=0.1, timeout=LIMIT)

    assert provider.observe(timeout=LIMIT) == {}
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery is Delivery.ABSENT
    assert lives(foreign)
    assert city.sessions() == ["a"]
    assert city.records() == []


def test_a_start_that_was_refused_leaves_no_file_with_its_command(city: City) -> None:
    city.tmux("new-session", "-d", "-s", "a", "sleep 1000")

    with pytest.raises(StartFailed):
        city.provider().start("a", city.config(f"sleep 1000 # {'x' * 200_000}"), timeout=LIMIT)

    assert city.records() == []


# --- what persons do to a session


def test_a_split_pane_and_a_second_window_do_not_confuse(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(f"echo agent; {SCRIBE}"), timeout=LIMIT)
    agent = pid_of(provider, "a")
    city.tmux("split-window", "-t", "=a:", "echo person; sleep 1000")
    city.tmux("new-window", "-t", "=a:", "echo person; sleep 1000")

    assert eventually(lambda: provider.peek("a", 5, timeout=LIMIT)) == "agent"
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery in HANDED_OVER
    assert eventually(city.heard) == ["hello"]
    assert list(provider.observe(timeout=LIMIT)) == ["a"]
    assert pid_of(provider, "a") == agent


def test_the_end_of_a_persons_pane_is_not_the_end_of_the_agent(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    city.tmux("split-window", "-t", "=a:", "exit 3")

    eventually(lambda: "1" in city.tmux("list-panes", "-s", "-t", "=a", "-F", "#{pane_dead}"))

    assert provider.observe(timeout=LIMIT)["a"].life == Alive()


def test_an_agents_pane_closed_by_a_person_beside_their_own_can_be_started_again(
    city: City,
) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    agent = city.ask("a", "#{pane_id}")
    city.tmux("split-window", "-t", "=a:", "sleep 1000")
    city.tmux("kill-pane", "-t", agent)
    assert not provider.is_running("a", timeout=LIMIT)

    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert provider.is_running("a", timeout=LIMIT)


def test_a_person_who_looks_through_a_grouped_session_does_not_confuse(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000", meta={"KEY": "value"}), timeout=LIMIT)
    city.tmux("new-session", "-d", "-s", "0-person", "-t", "=a")
    city.tmux("new-session", "-d", "-s", "z-person", "-t", "=a")

    later = city.provider()

    assert later.observe(timeout=LIMIT)["a"].meta == {"KEY": "value"}
    later.stop("a", grace=1, timeout=LIMIT)
    assert later.observe(timeout=LIMIT) == {}
    assert not city.living()


def test_stopping_an_agent_whose_pane_was_moved_to_another_leaves_that_one_alone(
    city: City,
) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.start("b", city.config("sleep 1000"), timeout=LIMIT)
    other = pid_of(provider, "b")
    city.tmux("join-pane", "-s", "=a:", "-t", "=b:")

    provider.stop("a", grace=1, timeout=LIMIT)

    assert lives(other)
    assert provider.list_running("", timeout=LIMIT) == ["b"]
