"""What the keeper says about sessions, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gascity.core.observed import Alive, Exited, ProcessId, SessionState
from gascity.errors import GascityError, ProviderUnavailable, StopTimedOut
from gascity_subprocess.asking import NOTHING


@dataclass(frozen=True, slots=True)
class Kept:
    """One session as the keeper knows it."""

    name: str
    pid: int
    started: str
    alive: bool
    code: int | None
    signal: int | None
    created: float
    last_activity: float | None
    work_dir: str
    meta: Mapping[str, str]


def kept(answer: object) -> Kept | None:
    """Return the session in an answer; None when the keeper, or the lack of one, says none."""
    if answer is None or answer is NOTHING:
        return None
    if not isinstance(answer, dict):
        raise ProviderUnavailable("the keeper gave an answer that is no session")
    try:
        ended = answer["ended"] or {}
        return Kept(
            name=str(answer["name"]),
            pid=int(answer["pid"]),
            started=str(answer["started"]),
            alive=bool(answer["alive"]),
            code=ended.get("code"),
            signal=ended.get("signal"),
            created=float(answer["created"]),
            last_activity=answer["last_activity"],
            work_dir=str(answer["work_dir"]),
            meta=MappingProxyType(dict(answer["meta"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ProviderUnavailable("the keeper gave an answer that is no session") from problem


def read_all(answer: object) -> list[SessionState]:
    """Return all sessions in an answer as the contract has them."""
    if not isinstance(answer, list):
        raise ProviderUnavailable("the keeper gave an answer that is no list of sessions")
    return [state(one) for item in answer if (one := kept(item)) is not None]


def state(one: Kept) -> SessionState:
    """Return a session as the contract has it."""
    return SessionState(
        name=one.name,
        life=Alive() if one.alive else Exited(one.code, one.signal),
        process=ProcessId(one.pid, one.started) if one.started else None,
        created=one.created,
        last_activity=one.last_activity,
        meta=one.meta,
        terminal=False,
    )


def survivors(answer: object) -> dict[str, GascityError]:
    """Return which sessions could not be stopped, and why."""
    if answer is NOTHING:
        return {}
    if not isinstance(answer, dict):
        raise ProviderUnavailable("the keeper did not say which sessions are left")
    return {str(name): StopTimedOut(str(why)) for name, why in answer.items()}
