"""What a running controller says of its own decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from tests.integration.controller.stage import Bench, Running, agent, up

from gascity.core.model import OnDrift, PoolSpec
from gascity.core.observed import CONFIG, CONFIG_HASH
from gascity.errors import GascityError, NotFound, UsageError
from gascity.testing.eventually import eventually

SESSION = "gc-c-mayor"
QUIET: dict[str, object] = {"actions": [], "waiting": []}


def says(running: Running, words: str) -> Callable[[], bool]:
    return lambda: words in running.ask("why", agent="mayor")["cause"]


def planned(running: Running) -> dict[str, object]:
    document = running.ask("plan")
    return {key: document[key] for key in ("actions", "waiting")}


def test_what_is_being_done_is_not_planned_a_second_time(bench: Bench) -> None:
    release = bench.world.slow[SESSION] = threading.Event()
    running = bench.run(agent("mayor"))
    step = {
        "action": "start",
        "agent": "mayor",
        "session": SESSION,
        "why": "wanted by the city",
        "when": "under way",
    }

    eventually(lambda: planned(running) == {"actions": [step], "waiting": []})
    said = running.ask("why", agent="mayor")
    release.set()

    assert said["state"] == "starting"
    assert said["cause"] == "the controller is at work on it (starting: wanted by the city)"
    eventually(lambda: planned(running) == QUIET)


def test_what_waits_is_told_with_its_end(bench: Bench) -> None:
    bench.world.failing = {SESSION: "has no bread"}
    running = bench.run(agent("mayor"), agent("clerk", depends_on=("mayor",)))
    eventually(lambda: running.states()["mayor"] == "quarantined")

    mayor, clerk = running.ask("plan")["waiting"]

    assert (mayor["agent"], mayor["state"]) == ("mayor", "quarantined")
    assert "has no bread" in mayor["why"]
    assert mayor["until"] > running.controller.now()
    assert mayor["next"] == "`gc reset mayor` tries at once"
    assert (clerk["agent"], clerk["why"], clerk["until"]) == ("clerk", "waits for mayor", None)


def test_a_crash_is_told_with_its_status(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    bench.world.crash(SESSION, code=3)

    eventually(says(running, "it runs as it should; it last crashed at"))

    assert says(running, "exited with status 3")()


def test_a_silent_provider_is_named_with_its_reason(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))
    bench.world.unreachable = "it sleeps"

    eventually(
        says(running, "fake does not answer: the fake world is unreachable: it sleeps, since")
    )
    bench.world.unreachable = ""


def test_a_member_that_its_pool_does_not_need_has_an_account_too(bench: Bench) -> None:
    members = tuple(agent(f"smith-{number}", pool="smith") for number in (1, 2))
    bench.pools = (PoolSpec("smith", 1, 2, members),)
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor", "smith-1"))

    said = running.ask("why", agent="smith-2")

    assert said["cause"] == "the pool does not need it: 1 of at most 2 are wanted"


def test_a_restart_names_only_the_members_that_came_up(bench: Bench) -> None:
    members = tuple(agent(f"smith-{number}", pool="smith") for number in (1, 2))
    bench.pools = (PoolSpec("smith", 1, 2, members),)
    running = bench.run()
    eventually(up(running, "smith-1"))

    answer = running.ask("restart", agents=["smith-1", "smith-2"])

    assert answer == {"restarted": ["smith-1"]}


def test_secrets_are_not_in_the_answers(bench: Bench) -> None:
    bench.world.failing = {SESSION: "the token opensesame-1 is wrong"}
    running = bench.run(agent("mayor", env={"API_TOKEN": "opensesame-1"}))
    eventually(lambda: running.states() == {"mayor": "quarantined"})

    said = repr((running.ask("why", agent="mayor"), running.ask("plan")))

    assert "is wrong" in said
    assert "opensesame" not in said


def test_a_configuration_that_nobody_can_read_does_not_end_the_supervision(bench: Bench) -> None:
    running = bench.run(agent("mayor", on_drift=OnDrift.NOTIFY))
    eventually(up(running, "mayor"))
    bench.world.sessions[SESSION].meta |= {CONFIG_HASH: "old", CONFIG: "[" * 60_000}
    eventually(lambda: running.ask("status")["agents"][0]["drift"])

    account = running.ask("why", agent="mayor")

    assert account["state"] == "ready"
    assert running.states() == {"mayor": "ready"}


class Unanswerable(str):
    """A name that cannot be compared with any other."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # whoever compares it must not get past that

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("nobody can tell")


def test_a_question_that_breaks_what_answers_it_does_not_end_the_supervision(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    with pytest.raises(GascityError, match="RuntimeError"):
        running.ask("why", agent=Unanswerable("mayor"))

    assert running.states() == {"mayor": "ready"}


def test_whom_nobody_knows_is_an_error(bench: Bench) -> None:
    running = bench.run(agent("mayor"))
    eventually(up(running, "mayor"))

    with pytest.raises(NotFound, match='knows no agent "nobody"'):
        running.ask("why", agent="nobody")
    with pytest.raises(UsageError):
        running.ask("why", agent=7)
