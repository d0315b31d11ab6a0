"""What is different between two readings of one city, and what is the same.

Values alone: whether a difference may take effect while the city runs is decided elsewhere. What is
equal is kept as the very object it was, because a plan recognises what it has settled by identity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from gascity.core.model import AgentSpec, City, DaemonSettings, PoolSpec, declared

T = TypeVar("T")
MOST_NAMED = 5
_FROM_DAEMON = ("restarts", "drift_patience", "on_drift", "drain_timeout", "stall_timeout")


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs: agents by name (a pool once, by its own), and settings by their keys."""

    changed: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.new or self.gone or self.settings)

    def __str__(self) -> str:
        agents = [
            _counted(names, what, first=first)
            for names, what, first in (
                (self.changed, "changed", True),
                (self.new, "new", not self.changed),
                (self.gone, "gone", not (self.changed or self.new)),
            )
            if names
        ]
        parts = [", ".join(agents), ", ".join(self.settings)]
        return "; ".join(part for part in parts if part) or "nothing changed"


def changes(old: City, new: City) -> Changes:
    """Compare two readings. An agent that only follows a setting of `[daemon]` is not listed."""
    before, after = _entries(old), _entries(new)
    from_daemon = _FROM_DAEMON if old.daemon != new.daemon else ()
    return Changes(
        changed=tuple(
            name
            for name, entry in after.items()
            if name in before and not _alike(before[name], entry, from_daemon)
        ),
        new=tuple(name for name in after if name not in before),
        gone=tuple(name for name in before if name not in after),
        settings=tuple(_settings(old, new)),
    )


def keeping(old: City, new: City) -> City:
    """Return the new city with every part of the old one that is equal in its place."""
    specs = {spec.session: spec for spec in declared(old.desired)}
    pools = {pool.name: pool for pool in old.desired.pools}

    def kept(spec: AgentSpec) -> AgentSpec:
        return _kept(specs.get(spec.session), spec)

    desired = replace(
        new.desired,
        agents=tuple(kept(spec) for spec in new.desired.agents),
        pools=tuple(
            _kept(
                pools.get(pool.name),
                replace(pool, members=tuple(kept(spec) for spec in pool.members)),
            )
            for pool in new.desired.pools
        ),
    )
    screens = _kept(old.screens, new.screens)
    return replace(new, desired=_kept(old.desired, desired), screens=screens)


def changed_sessions(old: City, new: City) -> dict[str, str]:
    """Return the sessions, with their providers, of agents that are other than before or gone."""
    after = {spec.session: spec for spec in declared(new.desired)}
    return {
        spec.session: spec.provider
        for spec in declared(old.desired)
        if after.get(spec.session) is not spec
    }


def _kept(old: T | None, new: T) -> T:
    return old if old is not None and old == new else new


_Entry = AgentSpec | PoolSpec


def _entries(city: City) -> dict[str, _Entry]:
    agents: Iterable[_Entry] = (*city.desired.agents, *city.desired.pools)
    return {entry.name: entry for entry in agents}


def _alike(old: _Entry, new: _Entry, besides: tuple[str, ...]) -> bool:
    """Tell whether two entries are equal, or differ in nothing but the fields named."""
    if old == new or not besides:
        return old == new
    match old, new:
        case AgentSpec(), AgentSpec():
            return old == replace(new, **{name: getattr(old, name) for name in besides})
        case PoolSpec(), PoolSpec() if len(old.members) == len(new.members):
            own = replace(new, members=old.members, drain_timeout=old.drain_timeout)
            pairs = zip(old.members, new.members, strict=True)
            return old == own and all(_alike(one, other, besides) for one, other in pairs)
        case _:
            return False


def _settings(old: City, new: City) -> Iterable[str]:
    for field in fields(DaemonSettings):
        if getattr(old.daemon, field.name) != getattr(new.daemon, field.name):
            yield field.name
    if old.alerts != new.alerts:
        yield "alerts"
    if old.runs != new.runs:
        yield "runs"
    if (old.default_provider, old.chose_provider) != (new.default_provider, new.chose_provider):
        yield "session provider"
    yield from (f"session.{name}" for name in _different(old, new))
    if old.screens != new.screens:
        yield "screens"


def _different(old: City, new: City) -> list[str]:
    before: Mapping[str, object] = old.provider_settings
    after: Mapping[str, object] = new.provider_settings
    return sorted(n for n in before.keys() | after.keys() if before.get(n) != after.get(n))


def _counted(names: tuple[str, ...], what: str, *, first: bool) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    noun = (" agent" if len(names) == 1 else " agents") if first else ""
    return f"{len(names)}{noun} {what} ({shown}{more})"
