"""One city that goes through every state and every trouble, and three ways to people.

Each trouble is told once when it begins and once when it is over, by every way there is.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.integration.controller.stage import Bench, Running, agent, risen
from tests.integration.controller.test_alarms import Hasty
from tests.integration.controller.test_screens import LIMIT, PROMPT, WORKING
from tests.unit.patrol.conftest import MakeServer, Server, serve
from tests.unit.patrol.test_apprise import Taken, target

from gascity.controller.opening import read_city
from gascity.core.alerts import Trouble
from gascity.core.away import LOST_AFTER, PENDING_AFTER
from gascity.core.doing import BLOCKED_AFTER
from gascity.core.model import AlertSettings, OnDrift, PoolSpec, RestartPolicy, SessionConfig
from gascity.core.observed import CONFIG_HASH, READY, Standing
from gascity.core.views import State
from gascity.errors import GascityError
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeSession

__all__ = ["serve", "target"]  # fixtures
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
RULES = """
[[rule]]
name = "question"
kind = "waiting"
box = false
match = '^May I go on'

[[rule]]
name = "login"
kind = "auth"
box = false
match = '^Please log in'

[[rule]]
name = "permission"
kind = "dialog"
match = '^Shall I delete it'
accept = '^Yes'
policy = "ask"
"""
DIALOG = ["Shall I delete it?", "", "❯ 1. No", "  2. Yes", ""]  # noqa: RUF001  as menus draw it
BACKOFF = 600.0  # seconds of a clock that is set ahead: nobody is late to see that an agent waits
NEVER_IDLE = {State.IDLE}  # the name that a backend's own hooks give to "ready"


class Doubtful(FakeProvider):
    """Has no proof of what it was given to say."""

    def nudge(
        self, name: str, text: str, *, timeout: float, raw: bool = False, wait: bool = False
    ) -> Receipt:
        if text == "really?":
            return Receipt(Delivery.UNVERIFIED, "nothing proves it", text)
        return super().nudge(name, text, timeout=timeout, raw=raw, wait=wait)


@dataclass
class City:
    """A running city, what it told, and the states its agents were in."""

    bench: Bench
    running: Running
    clock: Hasty
    server: Server
    states: set[str] = field(default_factory=set)

    def session(self, name: str) -> FakeSession:
        return self.bench.world.sessions[f"gc-c-{name}"]

    def is_in(self, name: str, state: State) -> bool:
        now = self.running.states()
        self.states.update(now.values())
        return now.get(name) == state

    def until(self, name: str, state: State) -> None:
        eventually(lambda: self.is_in(name, state))

    def crash(self, name: str) -> None:
        """Let the next incarnation of an agent crash that is up."""
        eventually(risen(self.bench, self.running, name))
        self.bench.world.crash(f"gc-c-{name}", code=3)

    def open(self) -> set[str]:
        return {alert["key"] for alert in self.running.ask("status")["alerts"]}

    def show(self, name: str, *rows: str) -> None:
        self.session(name).shown = list(rows)

    def told_by_command(self) -> dict[str, list[str]]:
        told: dict[str, list[str]] = defaultdict(list)
        file = self.bench.folder / "told"
        for line in file.read_text().splitlines() if file.exists() else []:
            body = json.loads(line)
            told[body["key"]].append(body["event"])
        return told


def screens(city: City) -> Iterator[str]:
    """What only the screen tells."""
    for rows, state, key in (
        (["May I go on?"], State.WAITING, "waiting:gc-c-a:question"),
        (["Please log in"], State.AUTH, "auth:gc-c-a"),
        (DIALOG, State.WAITING, "dialog:gc-c-a:permission"),
        (LIMIT, State.LIMITED, "limited:gc-c-a"),
    ):
        city.show("a", *rows)
        city.until("a", state)
        yield key
        city.show("a", *PROMPT)
        city.until("a", State.READY)


def an_unknown_screen(city: City) -> Iterator[str]:
    city.show("a", "what", "is", "this")
    eventually(lambda: city.is_in("a", State.READY))
    city.clock.ahead += BLOCKED_AFTER + 1
    city.until("a", State.BLOCKED)
    yield "blocked:gc-c-a"
    city.show("a", *PROMPT)
    city.until("a", State.READY)


def a_turn_without_end(city: City) -> Iterator[str]:
    city.show("a", *WORKING)
    city.until("a", State.WORKING)
    city.clock.ahead += 1000.0
    yield "stalled:gc-c-a"
    city.show("a", *PROMPT)
    city.until("a", State.READY)


def a_prompt_that_never_came(city: City) -> Iterator[str]:
    city.session("b").meta[READY] = "timeout"
    yield "unready:gc-c-b"
    city.session("b").meta[READY] = "yes"


def a_change_that_waits_for_a_person(city: City) -> Iterator[str]:
    city.session("b").meta[CONFIG_HASH] = "old"
    yield "drift:gc-c-b"
    city.session("b").meta[CONFIG_HASH] = "f"


def a_crash_loop(city: City) -> Iterator[str]:
    for _ in range(2):
        city.crash("b")
    city.until("b", State.BACKOFF)
    city.clock.ahead += BACKOFF
    city.crash("b")
    city.until("b", State.QUARANTINED)
    yield "quarantine:gc-c-b"
    city.running.ask("reset", agents=["b"])
    city.until("b", State.READY)


def a_stranger_in_the_way(city: City) -> Iterator[str]:
    city.running.ask("stop_agents", agents=["b"])
    city.until("b", State.STOPPED)
    city.bench.world.create("gc-c-b", SessionConfig("theirs", "/"))
    with pytest.raises(GascityError, match="did not come up"):
        city.running.ask("restart", agents=["b"])
    city.until("b", State.BLOCKED)
    yield "foreign:gc-c-b"
    del city.bench.world.sessions["gc-c-b"]
    city.bench.world.wake()
    city.until("b", State.READY)


def a_machine_that_is_not_there(city: City) -> Iterator[str]:
    city.bench.world.pending["gc-c-b"] = "no machine is free"
    city.bench.world.stand("gc-c-b", Standing.PENDING, "no machine is free")
    city.until("b", State.PENDING)
    city.clock.ahead += PENDING_AFTER + 1
    yield "pending:gc-c-b"
    del city.bench.world.pending["gc-c-b"]
    city.until("b", State.READY)


def a_machine_that_does_not_answer(city: City) -> Iterator[str]:
    city.bench.world.stand("gc-c-b", Standing.LOST, "node-3 does not answer")
    city.until("b", State.LOST)
    city.clock.ahead += LOST_AFTER + 1
    yield "lost:gc-c-b"
    city.bench.world.stand("gc-c-b", Standing.UP)
    city.until("b", State.READY)


def an_end_from_elsewhere(city: City) -> Iterator[str]:
    city.bench.world.stand("gc-c-b", Standing.ENDING, "its node is emptied")
    city.until("b", State.ENDING)
    city.bench.world.stand("gc-c-b", Standing.UP)
    city.until("b", State.READY)
    yield ""


def a_drain(city: City) -> Iterator[str]:
    city.running.ask("drain", agents=["b"])
    city.until("b", State.DRAINING)
    city.running.ask("undrain", agents=["b"])
    city.until("b", State.READY)
    yield ""


def a_provider_that_is_away(city: City) -> Iterator[str]:
    city.bench.world.unreachable = "it is away"
    city.until("a", State.UNKNOWN)
    city.clock.ahead += 31.0
    yield "provider:fake"
    city.bench.world.unreachable = ""
    city.until("a", State.READY)


def many_deaths_at_once(city: City) -> Iterator[str]:
    names = ["a", "b", "c", "d", "e", "f"]
    for name in names:
        city.until(name, State.READY)
    slow = {f"gc-c-{name}": city.bench.world.slow[f"gc-c-{name}"] for name in names}
    for event in slow.values():
        event.clear()
    with city.bench.world.changed:
        for name in names:
            city.bench.world.crash(f"gc-c-{name}", signal=9)
    city.until("a", State.STARTING)
    yield "mass-death"
    city.clock.ahead += 30.0
    for event in slow.values():
        event.set()
    for name in names:
        city.until(name, State.READY)


def a_pool_that_cannot_be_counted(city: City) -> Iterator[str]:
    (city.bench.folder / "size").write_text("many")
    yield "pool:crew"
    (city.bench.folder / "size").write_text("0")


def a_message_without_proof(city: City) -> Iterator[str]:
    city.running.ask("queue_nudge", agents=["b"], text="really?")
    eventually(lambda: any(key.startswith("nudge:") for key in city.open()))
    yield next(key for key in city.open() if key.startswith("nudge:"))
    city.running.ask("queue_nudge", agents=["b"], text="hello")


def a_journal_that_somebody_holds(city: City) -> Iterator[str]:
    other = sqlite3.connect(city.bench.folder / "city.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    city.bench.world.crash("gc-c-b", code=1)
    yield "journal"
    other.execute("ROLLBACK")
    other.close()


SCENARIOS: tuple[Callable[[City], Iterator[str]], ...] = (
    screens,
    an_unknown_screen,
    a_turn_without_end,
    a_prompt_that_never_came,
    a_change_that_waits_for_a_person,
    a_stranger_in_the_way,
    a_machine_that_is_not_there,
    a_machine_that_does_not_answer,
    an_end_from_elsewhere,
    a_drain,
    a_provider_that_is_away,
    a_message_without_proof,
    a_pool_that_cannot_be_counted,
    a_crash_loop,
    many_deaths_at_once,
    a_journal_that_somebody_holds,
)


@pytest.fixture
def city(bench: Bench, tmp_path: Path, serve: MakeServer) -> City:
    (tmp_path / "screens").mkdir()
    (tmp_path / "screens" / "demo.toml").write_text(RULES)
    (tmp_path / "city.toml").write_text('[[agents]]\nname = "a"\nprovider = "demo"\n')
    bench.screens = read_city(tmp_path / "city.toml").screens
    bench.make = Doubtful
    bench.clock = Hasty()
    (tmp_path / "size").write_text("0")
    member = agent("crew-1", pool="crew")
    bench.pools = (PoolSpec("crew", 0, 1, (member,), check="cat size", work_dir=str(tmp_path)),)
    server = serve()
    bench.alerts = AlertSettings(
        command="cat >> told",
        webhook=server.address,
        apprise=("gctest://",),
        repeat_after=0.0,
        per_minute=0,
    )
    often = RestartPolicy(max_restarts=2, window=3600, first_delay=BACKOFF, longest_delay=BACKOFF)
    for name in "abcdef":
        bench.world.slow[f"gc-c-{name}"] = event = threading.Event()
        event.set()
    running = bench.run(
        agent("a", backend="demo", stall_timeout=900.0),
        agent("b", on_drift=OnDrift.NOTIFY, restarts=often),
        *(agent(name) for name in "cdef"),
        agent("z", suspended=True),
    )
    return City(bench, running, bench.clock, server)


def test_each_is_told_once_and_when_it_is_over_by_every_way(
    city: City, target: list[Taken]
) -> None:
    eventually(lambda: city.is_in("b", State.READY))
    city.show("a", *PROMPT)
    city.until("a", State.READY)
    keys: list[str] = []
    for scenario in SCENARIOS:
        for key in scenario(city):
            if key:
                keys.append(key)
                eventually(lambda key=key: key in city.open())  # type: ignore[misc] # a lambda has no types
        if key:
            eventually(lambda key=key: key not in city.open())  # type: ignore[misc] # a lambda has no types

    assert city.open() == set()
    wanted = {key: ["raised", "resolved"] for key in keys}
    eventually(lambda: city.told_by_command() == wanted)
    eventually(lambda: posted(city) == wanted)
    eventually(lambda: len(target) == 2 * len(keys))
    assert {key.partition(":")[0] for key in keys} >= {kind.value for kind in Trouble}
    assert city.states >= {str(state) for state in State} - NEVER_IDLE


def posted(city: City) -> dict[str, list[str]]:
    told: dict[str, list[str]] = defaultdict(list)
    for one in city.server.got:
        told[one.body["key"]].append(one.body["event"])
    return told
