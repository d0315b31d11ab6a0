"""What a decision about an agent was made from, fact by fact, for people.

Moments are marks (see `moments`).
"""

from __future__ import annotations

from collections.abc import Iterator

from gascity.core.away import why_of
from gascity.core.case import Case
from gascity.core.decision import is_away
from gascity.core.difference import names_of
from gascity.core.draining import acknowledged, asked
from gascity.core.drift import has_drifted
from gascity.core.ends import how
from gascity.core.moments import moment
from gascity.core.observed import (
    CITY_ID,
    READY,
    RESTART_REQUESTED,
    STARTING,
    Alive,
    SessionState,
    Unseen,
)
from gascity.core.reports import HOOK
from gascity.core.restarts import recent
from gascity.core.spans import span


def inputs(case: Case) -> Iterator[tuple[str, str]]:
    """Yield each fact as a name and a text."""
    yield "provider", _provider(case)
    yield "session", _session(case)
    if case.state is not None:
        if case.state.run:
            yield "run", case.state.run
        yield "attached", _attached(case.state)
        if case.spec is not None and case.state.meta.get(CITY_ID) == case.scene.desired.city_id:
            yield "configuration", _configuration(case)
            yield "screen", _screen(case)
        if flags := ", ".join(_flags(case.state)):
            yield "flags", flags
    yield from _past(case)
    yield from _others(case)


def _provider(case: Case) -> str:
    name, scene = case.view.provider, case.scene
    if not name:
        return "not known, as its entry cannot be resolved"
    seen = scene.observed.providers.get(name)
    if seen is None:
        return f"{name} was not asked"
    if isinstance(seen, Unseen):
        return f"{name} does not answer: {seen.reason}"
    looked = scene.observed.looked_at.get(name, scene.now)
    return f"{name} answered to a look at {moment(looked)}"


def _session(case: Case) -> str:
    state, name = case.state, case.view.session
    if isinstance(case.scene.observed.providers.get(case.view.provider), Unseen):
        return f"{name}: cannot be seen"
    if state is None:
        return f"{name}: there is none"
    if not isinstance(state.life, Alive) or not state.agent_alive:
        return f"{name}: {how(state)}"
    if is_away(state):
        began = case.known.away_since
        how_long = "" if began is None else f", since {moment(began)}"
        return f"{name}: {state.standing}{how_long}: {why_of(state)}"
    process = f", process {state.process.pid}" if state.process is not None else ""
    since = f", since {moment(state.created)}" if state.created is not None else ""
    return f"{name}: alive{process}{since}"


def _attached(state: SessionState) -> str:
    if not state.attached:
        return "nobody"
    return "1 terminal" if state.attached == 1 else f"{state.attached} terminals"


def _configuration(case: Case) -> str:
    if case.spec is None or case.state is None or not has_drifted(case.spec, case.state):
        return "as in the city file"
    names = names_of(case.fields)
    what = f"differs in {names}" if names else "differs, and what it was before is not kept"
    since = case.known.drift_since
    return what if since is None else f"{what}; seen at {moment(since)}"


def _screen(case: Case) -> str:
    shown, session = case.shown, case.view.session
    if not case.scene.kept:
        return "not read, as no controller runs"
    if case.state is not None and is_away(case.state):
        return f"not read, as its session is {case.state.standing}"
    if shown is None:
        if session in case.scene.observed.unread:
            return "not read yet"
        never = case.state is not None and case.state.meta.get(READY) == "timeout"
        return "never showed its prompt" if never else "not read: there are no rules for it"
    reading = shown.reading
    since = f", since {moment(shown.since)}"
    if reading.kind is None:
        what = "empty" if reading.is_blank else "nothing that a rule knows"
        return f"{what}{since}"
    evidence = f": {reading.evidence}" if reading.evidence else ""
    source = "its hook" if reading.rule == HOOK else f'the rule "{reading.rule}"'
    return f"{reading.kind}, by {source}{since}{evidence}"


def _flags(state: SessionState) -> Iterator[str]:
    if asked(state):
        yield "asked to drain"
    if acknowledged(state):
        yield "says that it has drained"
    if state.run and state.meta.get(RESTART_REQUESTED) == state.run:
        yield "asks for a new incarnation"
    if state.run and state.meta.get(STARTING) == state.run:
        yield "its start was not finished"


def _past(case: Case) -> Iterator[tuple[str, str]]:
    known, now = case.known, case.scene.now
    if case.spec is not None:
        policy = case.spec.restarts
        limit, window = policy.max_restarts, f"within {span(policy.window)}"
        most = f"of {limit}" if limit else "without a limit"
        yield "restarts", f"{len(recent(known.restarts, policy.window, now))} {most} {window}"
        if failures := len(recent(known.failures, policy.window, now)):
            most = f"of {limit + 1}" if limit else most  # a start, and that many again
            yield "failed starts", f"{failures} {most} {window}"
    if known.crashed_at is not None:
        yield "last crash", f"{known.last_end}, at {moment(known.crashed_at)}"
    if known.last_failure:
        yield "last failure", known.last_failure
    if known.held:
        yield "a person said", known.held
    elif known.drained:
        yield "a person said", "drain, and stay down"


def _others(case: Case) -> Iterator[tuple[str, str]]:
    spec, scene = case.spec, case.scene
    nudge = scene.observed.queued.get(case.view.session)
    if nudge is not None:
        yield "message", f"number {nudge.number} waits since {moment(nudge.at)}"
    if spec is None:
        return
    if spec.depends_on:
        yield "depends on", ", ".join(spec.depends_on)
    if spec.pool:
        size = scene.memory.pools.get(spec.pool, 0)
        yield "pool", f"{spec.pool}, which wants {size}"
