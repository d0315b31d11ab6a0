"""One session of a fake world: what there is of it, its screen, and how it looks from outside."""

# ruff: noqa: D102, ARG002  what the methods promise stands in the contract; a fake needs no time

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gascity.core.model import SessionConfig
from gascity.core.observed import RUN, Alive, Life, ProcessId, SessionState, Standing
from gascity.screens.screen import Screen


@dataclass(slots=True)
class FakeSession:
    """One session of a world, open to be looked at and changed under `world.changed`."""

    config: SessionConfig
    process: ProcessId
    created: float
    activity: float
    meta: dict[str, str]
    life: Life = field(default_factory=Alive)
    standing: Standing = Standing.UP
    condition: str = ""
    shown: list[str] = field(default_factory=list)
    received: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    copied: list[tuple[str, str]] = field(default_factory=list)
    interrupts: int = 0
    woken: int = 0
    attached: int = 0
    reacts: Callable[[FakeSession, str], None] | None = None


class FakeTerminal:
    """Shows all that a session printed. Keys are noted, and told to what `reacts` to them."""

    def __init__(self, session: FakeSession) -> None:
        self._session = session

    def look(self, *, timeout: float) -> Screen:
        alive = isinstance(self._session.life, Alive)
        rows = tuple(self._session.shown)
        return Screen(rows, alive=alive, attached=self._session.attached)

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        for key in keys:
            self._session.keys.append(key)
            if self._session.reacts is not None:
                self._session.reacts(self._session, key)

    def paste(self, text: str, *, timeout: float) -> None:
        self._session.received.append(text)

    def wake(self, *, timeout: float) -> None:
        self._session.woken += 1


def goes_on(session: FakeSession, config: SessionConfig) -> bool:
    """Tell whether a start is that of the incarnation that waits."""
    is_same = session.meta.get(RUN) == config.meta.get(RUN)
    return is_same and session.standing is Standing.PENDING and isinstance(session.life, Alive)


def program(command: str) -> str:
    """Return the name of the program that a command runs."""
    words = shlex.split(command)
    return words[0].rpartition("/")[2] if words else ""


def state_of(name: str, session: FakeSession) -> SessionState:
    """Return what a provider tells of a session."""
    wanted = session.config.hints.process_names
    return SessionState(
        name=name,
        life=session.life,
        process=session.process,
        created=session.created,
        last_activity=session.activity,
        attached=session.attached,
        meta=dict(session.meta),
        agent_alive=not wanted or program(session.config.command) in wanted,
        standing=session.standing,
        condition=session.condition,
    )
