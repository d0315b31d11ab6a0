"""What the commands share: which city, which agents, and whom to ask.

Light until a city is read: agents ask in loops whether they should drain.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.cli.ask import ask_controller
from gascity.cli.nearest import did_you_mean
from gascity.config.find import find_city
from gascity.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from gascity.core.memory import Memory
    from gascity.core.model import AgentSpec, City
    from gascity.session.provider import SessionProvider


@dataclass(frozen=True, slots=True)
class Here:
    """The folder a command works for; `given` says that it was named with `-C`."""

    folder: str = "."
    given: bool = False

    @property
    def city_file(self) -> str:
        """The nearest `city.toml`. Raises NotFound."""
        return find_city(self.folder)

    @property
    def state(self) -> str:
        """The city's `.gc` folder."""
        return os.path.join(os.path.dirname(self.city_file), ".gc")

    def load(self) -> City:
        """Read the city. Raises ConfigProblems."""
        from pathlib import Path

        from gascity.controller.opening import read_city

        return read_city(Path(self.city_file))

    def ask(self, method: str, params: Mapping[str, object], *, timeout: float) -> object:
        """Ask the controller; see `ask_controller`."""
        return ask_controller(self.state, method, params, timeout=timeout)

    def controller_pid(self) -> int | None:
        """Return the pid of the running controller, or None."""
        from gascity.controller.lock import holder

        return holder(os.path.join(self.state, "controller.lock"))


def remembered(journal: str) -> Memory:
    """Return what a city's journal holds; nothing where there is none."""
    from gascity.core.memory import Memory

    if not os.path.exists(journal):
        return Memory()
    from gascity.journal.store import Journal

    opened = Journal(journal)
    try:
        return opened.remembered()
    finally:
        opened.close()


def reach(here: Here, name: str) -> tuple[AgentSpec, SessionProvider]:
    """Return an agent and the provider its session lives on. Raises NotFound."""
    from gascity.controller.opening import open_provider
    from gascity.controller.place import Place

    city = here.load()
    spec = find_agent(city, name)
    return spec, open_provider(city, Place(city.root), spec.provider)


def names_meant(here: Here, words: Sequence[str], *, one: bool = False) -> list[str]:
    """Return the whole names of the agents meant, for a controller to act on.

    While the city file is broken, a running controller still knows its agents: then it gets the
    words as they are. With `one`, a name that means several agents raises NotFound.
    """
    try:
        city = here.load()
    except ConfigError:
        if here.controller_pid() is None:
            raise
        return list(words)
    specs = [find_agent(city, words[0])] if one else find_agents(city, words)
    return [spec.name for spec in specs]


def find_agents(city: City, names: Sequence[str]) -> list[AgentSpec]:
    """Return the agents meant: a qualified name, a bare name that is the only one, or a pool.

    Raises NotFound with a suggestion.
    """
    found: list[AgentSpec] = []
    for name in names:
        found += [spec for spec in _named(city, name) if spec not in found]
    return found


def find_agent(city: City, name: str) -> AgentSpec:
    """Return the one agent meant. Raises NotFound."""
    specs = _named(city, name)
    if len(specs) > 1:
        raise NotFound(f'"{name}" is {len(specs)} agents', hint=f"for example {specs[0].name}")
    return specs[0]


def _named(city: City, name: str) -> list[AgentSpec]:
    from gascity.core.model import declared

    specs = list(declared(city.desired))
    for wanted in (
        [spec for spec in specs if spec.name == name],
        [spec for spec in specs if spec.pool and spec.pool == name],
        [spec for spec in specs if spec.name.rpartition("/")[2] == name],
    ):
        if len(wanted) == 1 or (wanted and wanted[0].pool == name):
            return wanted
        if wanted:
            raise NotFound(
                f'"{name}" could be {" or ".join(spec.name for spec in wanted)}',
                hint="give the whole name",
            )
    names = [spec.name for spec in specs]
    hint = did_you_mean(name, names, otherwise=f"there are: {', '.join(names) or 'none'}")
    raise NotFound(f'there is no agent "{name}" in this city', hint=hint)
