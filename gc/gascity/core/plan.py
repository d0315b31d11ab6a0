"""The whole city: what to do now.

    plan(desired, observed, memory, now) -> Plan(actions, events, memory, views, wake_at)

A function of values. Given the plan before, it decides again only about what is different: the
result is the same, sooner. Two rules come before everything else: a provider that did not answer
says nothing about its sessions, and a session without this city's mark is not ours to touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gascity.core import brake
from gascity.core.actions import Action, Event
from gascity.core.alerts import Alert
from gascity.core.away import STATES, pends, why_of
from gascity.core.decide import decide
from gascity.core.decision import Decision, Permit, Wanted, Wish, is_away, is_up, view
from gascity.core.doing import doing
from gascity.core.drift import has_drifted
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec, Desired, declared
from gascity.core.observed import CITY_ID, Observed, Seen, SessionState, Shown, Standing, Unseen
from gascity.core.order import blocker, needed_by
from gascity.core.silence import mind_silence
from gascity.core.strays import foreign, orphan, orphans, told_of
from gascity.core.turns import Turns
from gascity.core.views import AgentView, State
from gascity.core.wishes import NOT_NEEDED, WANTED, learn_demand, sees, session_of, wishes


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, what happened, what to remember, how all stands, and when to look again.

    `foreign` are sessions that look like ours and are not, with their providers. `troubles` are all
    that a person should know of; of the sessions and providers that are `blind` there may be more,
    which were there before.
    """

    actions: tuple[Action, ...]
    events: tuple[Event, ...]
    memory: Memory
    views: tuple[AgentView, ...]
    wake_at: float | None
    foreign: tuple[tuple[str, str], ...] = ()
    troubles: tuple[Alert, ...] = ()
    blind: frozenset[str] = frozenset()
    made_at: float = field(default=0.0, compare=False)
    settled: Mapping[str, _Settled] = field(default_factory=dict, compare=False, repr=False)


def plan(
    desired: Desired, observed: Observed, memory: Memory, now: float, before: Plan | None = None
) -> Plan:
    """Compare what should be with what is. Acts on nothing that was not seen."""
    memory = learn_demand(desired, observed, memory)
    memory, silences = mind_silence(observed, memory, now)
    known: Mapping[str, _Settled] = {}
    if before is not None and now >= before.made_at and len(observed.providers) == 1:
        known = before.settled
    wished = list(wishes(desired, observed, memory))
    settled: dict[str, _Settled] = {}
    open_ones: list[tuple[AgentSpec, Wish]] = []
    wanted = 0
    for spec, wish in wished:
        wanted += isinstance(wish, Wanted)
        last = known.get(spec.session)
        if last is not None and last.holds(spec, wish, observed, memory, now):
            settled[spec.session] = last
        else:
            open_ones.append((spec, wish))
    memory, braking = _brake(open_ones, wanted, desired, observed, memory, now)
    turns = Turns(desired, observed, memory)
    decided: dict[str, Decision] = {}
    for spec, wish in open_ones:
        decision = _about(spec, wish, desired, observed, memory, turns, now)
        turns.took(spec, decision)
        decided[spec.session] = decision
        state = session_of(spec, observed)
        if state is None or wish is not WANTED or spec.session in observed.busy:
            continue  # what is being done to it decides how it stands: that is over soon
        if _is_quiet(decision, memory.of(spec.session)):
            shown = observed.shown.get(spec.session)
            settled[spec.session] = _Settled(spec, wish, state, decision.memory, shown, decision)
    decisions = [
        decided[spec.session] if spec.session in decided else settled[spec.session].decision
        for spec, _ in wished
    ]
    strays = list(orphans(desired, observed))
    wish_of = {spec.session: wish for spec, wish in wished} if strays else {}
    for provider, state in strays:
        spec = AgentSpec(state.name, state.name, provider, "", "", ".", fingerprint="")
        shown = observed.shown.get(state.name)
        rolls = turns.may_roll(spec)
        decision = orphan(
            state,
            provider,
            desired,
            memory,
            now,
            wish=wish_of.get(state.name),
            rolls=rolls,
            shown=shown,
            stood_still=observed.stood_still,
        )
        turns.took(spec, decision)
        decisions.append(decision)
    strangers = foreign(desired, observed)
    memory, met = told_of(strangers, observed, memory)
    result = _gather(decisions, memory, _kept(desired, observed, memory), desired)
    wakes = [time for time in (result.wake_at, silences.wake_at) if time is not None]
    unasked = {spec.provider for spec, _ in wished} - observed.providers.keys()
    city_wide = (*silences.troubles, *((brake.BRAKED,) if memory.braked else ()))
    return replace(
        result,
        events=(*braking, *result.events, *met),
        wake_at=min(wakes, default=None),
        foreign=strangers,
        troubles=(*city_wide, *result.troubles),
        blind=result.blind | silences.unsure | unasked,
        made_at=now,
        settled=settled,
    )


@dataclass(frozen=True, slots=True)
class _Settled:
    """A decision to do nothing, and all that it came from."""

    spec: AgentSpec
    wish: Wish
    state: SessionState
    memory: AgentMemory
    shown: Shown | None
    decision: Decision

    def holds(
        self, spec: AgentSpec, wish: Wish, observed: Observed, memory: Memory, now: float
    ) -> bool:
        """Tell whether nothing it came from is different now."""
        session = spec.session
        seen = observed.providers.get(spec.provider)
        until = self.decision.wake_at
        return (
            self.spec is spec
            and self.wish is wish
            and isinstance(seen, Seen)
            and seen.sessions.get(session) is self.state
            and memory.agents.get(session) is self.memory
            and observed.shown.get(session) is self.shown
            and session not in observed.queued
            and session not in observed.busy
            and (until is None or now < until)
        )


def _is_quiet(decision: Decision, memory: AgentMemory) -> bool:
    """Tell whether nothing happens, nothing was learnt, and only time can change that."""
    quiet = not decision.actions and not decision.events and decision.memory is memory
    return quiet and decision.view.state in _QUIET and not decision.view.drift


_QUIET = (State.READY, State.WORKING)


def _brake(
    candidates: list[tuple[AgentSpec, Wish]],
    wanted: int,
    desired: Desired,
    observed: Observed,
    memory: Memory,
    now: float,
) -> tuple[Memory, tuple[Event, ...]]:
    """Put the brake on or off; return what has to be said of it."""
    massive = brake.is_mass_death(candidates, wanted, desired, observed, memory, now)
    if massive == memory.braked:
        return memory, ()
    return replace(memory, braked=massive), (brake.told(),) if massive else ()


def _kept(desired: Desired, observed: Observed, memory: Memory) -> dict[str, AgentMemory]:
    """Return what is remembered although nobody decides on it: what cannot be seen."""
    return {
        name: agent
        for name, agent in memory.agents.items()
        if name in desired.unresolved or (agent.run and not sees(observed, agent.provider))
    }


def _gather(
    decisions: list[Decision], memory: Memory, kept: Mapping[str, AgentMemory], desired: Desired
) -> Plan:
    """Put the parts together. Of agents nobody decided on, only `kept` is remembered."""
    names = {spec.session for spec in declared(desired)}
    decided: dict[str, AgentMemory] = {}
    for decision in decisions:
        session, after = decision.view.session, decision.memory
        if session in decided:  # its former self, on another provider
            after = replace(
                decided[session],
                run=after.run,
                provider=after.provider,
                drain_since=after.drain_since,
                orphan_since=after.orphan_since,
                rolling=after.rolling,
            )
        decided[session] = after
    agents = {**kept, **decided}
    wakes = [decision.wake_at for decision in decisions if decision.wake_at is not None]
    unresolved = tuple(
        AgentView(session, session, "", State.UNKNOWN, why)
        for session, why in sorted(desired.unresolved.items())
    )
    return Plan(
        actions=tuple(action for decision in decisions for action in decision.actions),
        events=tuple(event for decision in decisions for event in decision.events),
        memory=memory if agents == memory.agents else replace(memory, agents=agents),
        views=(
            *(decision.view for decision in decisions if _shown(decision.view, names)),
            *unresolved,
        ),
        wake_at=min(wakes, default=None),
        troubles=tuple(alert for decision in decisions for alert in decision.troubles),
        blind=frozenset(
            (
                *(decision.view.session for decision in decisions if decision.blind),
                *desired.unresolved,
            )
        ),
    )


def _shown(view: AgentView, declared: set[str]) -> bool:
    """A pool's empty places and orphans that are gone do not clutter the table."""
    empty = view.state is State.STOPPED and view.reason == NOT_NEEDED and not view.run
    return not empty or view.session not in declared


def _about(
    spec: AgentSpec,
    wish: Wish,
    desired: Desired,
    observed: Observed,
    memory: Memory,
    turns: Turns,
    now: float,
) -> Decision:
    """Decide about one agent, or say why nothing can be decided."""
    known = memory.of(spec.session)
    busy = observed.busy.get(spec.session)
    if busy is not None and _gives_way(spec, wish, known, desired, observed):
        busy = None
    if busy is not None and isinstance(wish, Wanted):
        waiting = pends(spec, _own_session(spec, desired, observed), known, now)
        if waiting is not None:
            return replace(waiting, blind=True)
    if busy is not None and (typed_at := _typed_at(spec, known, observed, now)) is not None:
        return Decision(known, typed_at, blind=True)
    if busy is not None:
        state = State.STARTING if isinstance(wish, Wanted) else State.DRAINING
        seen_busy = view(spec, known, state, busy, session_of(spec, observed))
        return Decision(known, seen_busy, blind=True)
    if why := _elsewhere(spec, known, desired, observed):
        return Decision(known, view(spec, known, State.UNKNOWN, why, None), blind=True)
    seen = observed.providers.get(spec.provider, _NOT_ASKED)
    if isinstance(seen, Unseen):
        why = f"{spec.provider} does not answer: {seen.reason}"
        return Decision(known, view(spec, known, State.UNKNOWN, why, None), blind=True)
    session = seen.sessions.get(spec.session)
    if desired.ending and session is not None and (user := needed_by(spec, desired, observed)):
        why = f"the city is being stopped; {user}, which needs it, ends first"
        return Decision(known, view(spec, known, State.DRAINING, why, session), blind=True)
    alive = session is not None and is_up(session)
    return decide(
        spec,
        wish,
        session,
        replace(known, orphan_since=None) if known.orphan_since is not None else known,
        city_id=desired.city_id,
        now=now,
        permit=Permit(
            waits_for="" if alive else blocker(spec, desired, observed),
            restarts=turns.may_restart(),
            rolls=turns.may_roll(spec),
        ),
        shown=observed.shown.get(spec.session),
        queued=observed.queued.get(spec.session),
        unread=spec.session in observed.unread,
        looked_at=observed.looked_at.get(spec.provider),
        stood_still=observed.stood_still,
    )


def _gives_way(
    spec: AgentSpec, wish: Wish, known: AgentMemory, desired: Desired, observed: Observed
) -> bool:
    """Tell whether a start that waits for a machine is given up: it is for another one, or none."""
    session = _own_session(spec, desired, observed)
    if spec.session not in observed.yielding or session is None or not is_away(session):
        return False
    wanted = isinstance(wish, Wanted) and known.recycle != session.run
    return session.standing is Standing.PENDING and (not wanted or has_drifted(spec, session))


def _own_session(spec: AgentSpec, desired: Desired, observed: Observed) -> SessionState | None:
    session = session_of(spec, observed)
    ours = session is not None and session.meta.get(CITY_ID) == desired.city_id
    return session if ours else None


def _typed_at(
    spec: AgentSpec, known: AgentMemory, observed: Observed, now: float
) -> AgentView | None:
    """Return how an agent stands that is only being typed at: as it did before."""
    session = session_of(spec, observed)
    if spec.session not in observed.typed_at or session is None:
        return None
    if is_away(session):
        return view(spec, known, STATES[session.standing], why_of(session), session)
    shown = observed.shown.get(spec.session)
    found, _ = doing(spec, session, shown, None, known, now, stood_still=observed.stood_still)
    return view(spec, known, found.state, found.reason, session)


_NOT_ASKED = Unseen("it was not asked")


def _elsewhere(spec: AgentSpec, known: AgentMemory, desired: Desired, observed: Observed) -> str:
    """Say where else the agent lives or may live: it must not be started a second time."""
    others = observed.providers.keys() - {spec.provider}
    for provider in sorted(others) if others else ():
        seen = observed.providers[provider]
        if isinstance(seen, Seen):
            other = seen.sessions.get(spec.session)
            if other is not None and other.meta.get(CITY_ID) == desired.city_id:
                return f"its session on {provider} has to end first"
    if known.run and known.provider not in ("", spec.provider):
        seen = observed.providers.get(known.provider, _NOT_ASKED)
        if isinstance(seen, Unseen):
            return f"it last ran on {known.provider}, which does not answer: {seen.reason}"
    return ""
