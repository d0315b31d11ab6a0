"""A controller over a fake world, for tests: real threads, a real journal, nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gascity.agent import Home
from gascity.controller.act import Hands
from gascity.controller.clock import Clock
from gascity.controller.loop import Controller
from gascity.controller.messages import Asked, Leave
from gascity.core.actions import Event, EventType
from gascity.core.model import (
    AgentSpec,
    AlertSettings,
    City,
    DaemonSettings,
    Desired,
    PoolSpec,
    RestartPolicy,
)
from gascity.core.observed import Alive
from gascity.errors import GascityError
from gascity.journal.store import Journal
from gascity.screens.rules import RuleBook
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeWorld

CITY = "c0ffee"
QUICK = DaemonSettings(patrol_interval=0.2, shutdown_timeout=0.5)


@dataclass
class Running:
    """A controller on a thread of its own, with what it told."""

    controller: Controller
    events: list[Event] = field(default_factory=list)

    def ask(self, method: str, **params: object) -> Any:  # noqa: ANN401  a JSON value
        answers: list[object] = []
        self.controller.post(Asked(method, params, answers.append))
        eventually(lambda: answers)
        if isinstance(answers[0], GascityError):
            raise answers[0]
        return answers[0]

    def states(self) -> dict[str, str]:
        return {agent["name"]: agent["state"] for agent in self.ask("status")["agents"]}

    def told(self, kind: EventType) -> list[Event]:
        return [event for event in self.events if event.type is kind]


@dataclass
class Bench:
    """Makes controllers over one world and one journal; `far` is a second provider."""

    folder: Path
    world: FakeWorld = field(default_factory=FakeWorld)
    alive: list[tuple[Controller, threading.Thread]] = field(default_factory=list)
    make: type[FakeProvider] = FakeProvider
    pools: tuple[PoolSpec, ...] = ()
    screens: RuleBook = field(default_factory=RuleBook)
    daemon: DaemonSettings = QUICK
    clock: Clock | None = None
    alerts: AlertSettings = field(default_factory=AlertSettings)
    far: SessionProvider | None = None

    def run(self, *specs: AgentSpec) -> Running:
        city = City(
            name="c",
            root=str(self.folder),
            desired=Desired("c", CITY, specs, self.pools),
            daemon=self.daemon,
            alerts=self.alerts,
            screens=self.screens,
        )
        provider = self.make(CityContext("c", CITY, str(self.folder), {}), self.world)
        home = Home("c", CITY, "/c", {})
        providers: dict[str, SessionProvider] = {"fake": provider}
        if self.far is not None:
            providers[self.far.name] = self.far
        hands = Hands(providers, home, 0.5, str(self.folder / "runs"), self.screens)
        ready = threading.Event()
        made: list[Running] = []

        def body() -> None:
            journal = Journal(str(self.folder / "city.db"))
            events: list[Event] = []
            controller = Controller(
                city, providers, journal, hands, report=events.append, clock=self.clock
            )
            made.append(Running(controller, events))
            ready.set()
            controller.run()
            journal.close()

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        ready.wait()
        self.alive.append((made[0].controller, thread))
        return made[0]

    def end(self) -> None:
        for controller, thread in self.alive:
            controller.post(Leave("the test is over"))
            thread.join(60)
            assert not thread.is_alive()
        self.alive.clear()


def agent(name: str, **changes: object) -> AgentSpec:
    spec = AgentSpec(
        name=name,
        session=f"gc-c-{name}",
        provider="fake",
        backend="",
        base_command="true",
        work_dir="/",
        fingerprint="f",
        restarts=RestartPolicy(max_restarts=2, window=3600, first_delay=0.01, longest_delay=0.05),
    )
    return replace(spec, **changes)  # type: ignore[arg-type]  # the tests name real fields


def up(running: Running, *names: str) -> Callable[[], bool]:
    return lambda: all(running.states().get(name) == "ready" for name in names)


def risen(bench: Bench, running: Running, name: str) -> Callable[[], bool]:
    """Tell whether an agent is up, and not only by a look from before its last crash."""

    def is_up() -> bool:
        session = bench.world.sessions.get(f"gc-c-{name}")
        lives = session is not None and isinstance(session.life, Alive)
        return lives and up(running, name)()

    return is_up
