"""What must outlive a tick, and a restart of the controller.

A provider can tell what runs now; it cannot tell how often something crashed, that a person wants
it stopped, or which end was counted already. All changes are functions that return a new memory.
Times are seconds since the epoch on the caller's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from gascity.core.observed import Standing


class Excuse(StrEnum):
    """Why the end of an agent is no crash."""

    LIMITED = "limited"
    AUTH = "auth"


@dataclass(frozen=True, slots=True)
class AgentMemory:
    """What is remembered of one session name.

    `run` is the incarnation believed to live, on `provider`; `counted` the one whose end was
    counted. `restarts` are the times at which it was restarted after a crash, `failures` those at
    which a start failed. `held` says why a person wants it down; the empty string: nobody does.
    `recycle` is the incarnation a person wants replaced. `dialog_tries` counts how often the dialog
    on its screen was answered in vain. `drained` says that a person wants it to drain and stay
    down, `muted_until` until when nobody wants to hear of its troubles. What is counted for ever is
    counted apart: `total_restarts` after crashes, `total_failures` of starts, `total_requests` for
    a new one.

    `crashed_at` is when it last crashed. `excuse` is what its screen last said that makes its end
    no crash, `excuse_until` when that is over; it is not started again before `resume_at`.
    `rolling` is the incarnation that is being replaced because of its configuration, `idled_at`
    when it was last found idle, `orphan_since` when its session was first seen undeclared.

    `away` is how its session stands that is there and not up ("" for none), since `away_since` and
    because of `condition`; `waits` is what its start said that it waits for.
    """

    run: str = ""
    provider: str = ""
    counted: str = ""
    fingerprint: str = ""
    restarts: tuple[float, ...] = ()
    failures: tuple[float, ...] = ()
    total_restarts: int = 0
    total_failures: int = 0
    total_requests: int = 0
    ended_at: float | None = None
    last_end: str = ""
    last_failure: str = ""
    quarantined: bool = False
    held: str = ""
    drained: bool = False
    recycle: str = ""
    drift_since: float | None = None
    drain_since: float | None = None
    dialog_tries: int = 0
    crashed_at: float | None = None
    excuse: str = ""
    excuse_until: float | None = None
    resume_at: float | None = None
    rolling: str = ""
    idled_at: float | None = None
    orphan_since: float | None = None
    muted_until: float | None = None
    away: str = ""
    away_since: float | None = None
    condition: str = ""
    waits: str = ""


FRESH = AgentMemory()
MOST_FAILURES = 100
FOREVER = 253_402_300_800.0  # the end of the year 9999: what is muted until then stays so
DRAINED = "drained with `gc drain`; `gc undrain` brings it back"
HELD = "stopped with `gc stop`; `gc restart` starts it again"


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered of the city. `pools` holds the last size each pool's check wanted.

    The rest is of this controller only: which providers are `silent` and since when, which sessions
    are not ours and were told of (`foreign`), and whether the brake after a mass death is on
    (`braked`).
    """

    agents: Mapping[str, AgentMemory] = field(default_factory=dict)
    pools: Mapping[str, int] = field(default_factory=dict)
    silent: Mapping[str, float] = field(default_factory=dict)
    foreign: frozenset[tuple[str, str]] = frozenset()
    braked: bool = False

    def of(self, session: str) -> AgentMemory:
        """Return what is remembered of a session; a fresh memory when nothing is."""
        return self.agents.get(session, FRESH)

    def with_agent(self, session: str, agent: AgentMemory) -> Memory:
        """Return the memory with this agent's part replaced."""
        if self.agents.get(session) == agent:
            return self
        return replace(self, agents={**self.agents, session: agent})


def after_start(memory: Memory, session: str, *, run: str, provider: str) -> Memory:
    """A start went well: this incarnation lives now, and earlier failures are forgiven."""
    old = replace(present(memory.of(session)), failures=(), last_failure="")
    return memory.with_agent(session, incarnate(old, run, provider))


def after_pending(
    memory: Memory, session: str, *, run: str, provider: str, why: str, now: float
) -> Memory:
    """A start has to wait: the next one goes on with this incarnation, and nobody is to blame."""
    old = memory.of(session)
    since = old.away_since if old.away == Standing.PENDING and old.away_since is not None else now
    return memory.with_agent(
        session,
        replace(
            incarnate(old, run, provider),
            away=Standing.PENDING.value,
            away_since=since,
            condition=why,
            waits=why,
        ),
    )


def present(agent: AgentMemory) -> AgentMemory:
    """Its session is up, or gone: nothing is the matter with where it is."""
    if not (agent.away or agent.waits):
        return agent
    return replace(agent, away="", away_since=None, condition="", waits="")


def incarnate(agent: AgentMemory, run: str, provider: str) -> AgentMemory:
    """Another incarnation lives: what was on its former self's screen is of no concern."""
    return replace(agent, run=run, provider=provider, dialog_tries=0, excuse="", excuse_until=None)


def after_failed_start(memory: Memory, session: str, *, now: float, why: str) -> Memory:
    """A start failed: nothing lives, and the next try waits."""
    old = present(memory.of(session))
    failures = (*old.failures, now)[-MOST_FAILURES:]
    return memory.with_agent(
        session,
        replace(
            old,
            run="",
            failures=failures,
            last_failure=why,
            total_failures=old.total_failures + 1,
        ),
    )


def after_stop(memory: Memory, session: str) -> Memory:
    """We ended it: its absence is no crash."""
    old = present(memory.of(session))
    return memory.with_agent(
        session, replace(old, run="", recycle="", drift_since=None, drain_since=None)
    )


def after_failed_dialog(memory: Memory, session: str) -> Memory:
    """A dialog was answered, and is still there."""
    old = memory.of(session)
    return memory.with_agent(session, replace(old, dialog_tries=old.dialog_tries + 1))


def hold(memory: Memory, session: str, why: str) -> Memory:
    """A person wants this agent down."""
    return memory.with_agent(session, replace(memory.of(session), held=why))


def release(memory: Memory, session: str) -> Memory:
    """A person wants this agent up again: nothing of its bad past counts any more."""
    return memory.with_agent(
        session, pardon(replace(memory.of(session), held="", drained=False, drain_since=None))
    )


def drain(memory: Memory, session: str) -> Memory:
    """A person wants this agent to finish its work, and to stay down then."""
    return memory.with_agent(session, replace(memory.of(session), drained=True))


def undrain(memory: Memory, session: str) -> Memory:
    """A person wants this agent to go on, or to come back."""
    return memory.with_agent(session, replace(memory.of(session), drained=False, drain_since=None))


def mute(memory: Memory, session: str, until: float | None) -> Memory:
    """A person does not want to be told of its troubles until then; None: wants to be again."""
    return memory.with_agent(session, replace(memory.of(session), muted_until=until))


def reset(memory: Memory, session: str) -> Memory:
    """A person says that what was wrong is mended: crashes, failures and quarantine are over."""
    return memory.with_agent(session, pardon(memory.of(session)))


def recycle(memory: Memory, session: str, run: str) -> Memory:
    """A person wants this incarnation replaced by a new one."""
    released = release(memory, session)
    old = released.of(session)
    return released.with_agent(
        session, replace(old, recycle=run, total_requests=old.total_requests + bool(run))
    )


def pardon(agent: AgentMemory) -> AgentMemory:
    """Forget crashes and failures."""
    return replace(
        agent,
        restarts=(),
        failures=(),
        quarantined=False,
        ended_at=None,
        crashed_at=None,
        resume_at=None,
        last_failure="",
    )


def not_later(agent: AgentMemory, now: float) -> AgentMemory:
    """Bring times from the future back to now: after a jump of the clock nothing waits for them."""
    stamps = (*agent.restarts, *agent.failures)
    marks = (
        agent.ended_at,
        agent.drift_since,
        agent.drain_since,
        agent.crashed_at,
        agent.idled_at,
        agent.orphan_since,
        agent.away_since,
    )
    if all(time <= now for time in (*stamps, *(mark for mark in marks if mark is not None))):
        return agent
    return replace(
        agent,
        restarts=tuple(min(time, now) for time in agent.restarts),
        failures=tuple(min(time, now) for time in agent.failures),
        ended_at=_not_later(agent.ended_at, now),
        drift_since=_not_later(agent.drift_since, now),
        drain_since=_not_later(agent.drain_since, now),
        crashed_at=_not_later(agent.crashed_at, now),
        idled_at=_not_later(agent.idled_at, now),
        orphan_since=_not_later(agent.orphan_since, now),
        away_since=_not_later(agent.away_since, now),
    )


def _not_later(time: float | None, now: float) -> float | None:
    return None if time is None else min(time, now)
