"""A controller over a city file in a fake world, for tests that change the file."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tests.integration.controller.stage import Running

from gascity.agent import Home
from gascity.config.load import load_city
from gascity.controller.act import Hands
from gascity.controller.loop import Controller
from gascity.controller.messages import Leave
from gascity.controller.reload import Origin
from gascity.core.actions import Event
from gascity.core.model import City
from gascity.core.observed import Alive
from gascity.errors import NotInstalled
from gascity.journal.store import Journal
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider, FakeWorld

PROVIDERS = ("fake", "other", "third")
HEAD = '[workspace]\nname = "c"\n[daemon]\npatrol_interval = "{patrol}"\nshutdown_timeout = "1s"\n'


def entry(name: str, *lines: str, command: str = "true") -> str:
    """Return an agent as it stands in a city file."""
    return "\n".join(["[[agents]]", f'name = "{name}"', f'start_command = "{command}"', *lines, ""])


class Town:
    """A folder with a city file. Its providers are all over one world each."""

    def __init__(self, folder: Path, *, patrol: str = "1h") -> None:
        self.root = folder.resolve() / "town"
        self.root.mkdir()
        self.worlds = {name: FakeWorld() for name in PROVIDERS}
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.missing = ""
        self.makes: type[Noted] = Noted
        self.reads = 0
        self.was_read = threading.Event()
        self.read_on = threading.Event()
        self.read_on.set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.patrol = patrol
        self._alive: list[tuple[Controller, threading.Thread]] = []

    @property
    def world(self) -> FakeWorld:
        return self.worlds["fake"]

    def write(self, *entries: str, head: str = "", name: str = "city.toml") -> None:
        """Write the city file as a careless program does: in place."""
        text = (head or HEAD.format(patrol=self.patrol)) + "".join(entries)
        (self.root / name).write_text(text, "utf-8")

    def read(self) -> City:
        self.reads += 1
        try:
            return load_city(
                self.root / "city.toml", known_providers=PROVIDERS, auto_provider="fake"
            )
        finally:
            self.was_read.set()
            assert self.read_on.wait(60)

    def open(self, city: City, name: str) -> SessionProvider:
        if self.missing == name:
            raise NotInstalled(f'session provider "{name}" cannot work here')
        self.opened.append(name)
        assert self.go_on.wait(60)
        context = CityContext(city.name, city.desired.city_id, str(self.root), {}, city.screens)
        provider = self.makes(context, self.worlds[name], name=name)
        provider.town = self
        return provider

    def run(self) -> Running:
        eventually(self._is_settled)
        began = time.time()
        city = self.read()
        providers = {name: self.open(city, name) for name in self._used(city)}
        home = Home(city.name, city.desired.city_id, str(self.root), {})
        hands = Hands(providers, home, 1.0, str(self.root / ".gc/runs"), city.screens)
        origin = self.origin(began)
        made: list[Running] = []
        ready = threading.Event()

        def body() -> None:
            (self.root / ".gc").mkdir(exist_ok=True)
            journal = Journal(str(self.root / ".gc/city.db"))
            events: list[Event] = []
            controller = Controller(
                city, providers, journal, hands, report=events.append, origin=origin
            )
            made.append(Running(controller, events))
            ready.set()
            controller.run()
            journal.close()

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        ready.wait()
        self._alive.append((made[0].controller, thread))
        return made[0]

    def origin(self, read_since: float = 0.0) -> Origin:
        """Return where its city comes from."""
        return Origin(str(self.root / "city.toml"), self.read, self.open, read_since)

    def pids(self, world: str = "fake") -> dict[str, int]:
        """Return the processes that live, by session, as the world itself knows them."""
        with self.worlds[world].changed:
            return {
                name.removeprefix("gc-c-"): session.process.pid
                for name, session in self.worlds[world].sessions.items()
                if isinstance(session.life, Alive)
            }

    def commands(self) -> dict[str, str]:
        with self.world.changed:
            return {
                name.removeprefix("gc-c-"): session.config.command
                for name, session in self.world.sessions.items()
            }

    def end(self) -> None:
        for controller, thread in self._alive:
            controller.post(Leave("the test is over"))
            thread.join(60)
            assert not thread.is_alive()
        self._alive.clear()

    def _is_settled(self) -> bool:
        """Tell whether the file is old enough not to be read a second time at once."""
        return time.time() - (self.root / "city.toml").stat().st_ctime > 0.1

    @staticmethod
    def _used(city: City) -> Sequence[str]:
        return sorted({spec.provider for spec in city.desired.agents}) or ["fake"]


class Noted(FakeProvider):
    """Notes that it is closed."""

    town: Town

    def close(self) -> None:
        self.town.closed.append(self.name)
