"""An account of one agent: what it is, why, what it waits for, and what comes next.

Made from values that a decision was made from, so it cannot say anything else than what was
decided. Whoever shows it puts times in the place of marks (see `moments`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gascity.core.advice import next_step
from gascity.core.away import STATES
from gascity.core.case import Case, Scene, find_case
from gascity.core.causes import cause
from gascity.core.inputs import inputs
from gascity.core.views import State
from gascity.core.wishes import NOT_NEEDED

_BY_SCREEN = frozenset(
    {State.WORKING, State.WAITING, State.BLOCKED, State.LIMITED, State.AUTH, State.READY}
)


@dataclass(frozen=True, slots=True)
class Why:
    """The account. `until` is when something is sure to happen, `since` when its state began.

    `waits_for` and `next` are "" for nothing, `inputs` are facts by name, and `notes` are what
    holds for the whole city and matters here.
    """

    name: str
    session: str
    provider: str
    state: str
    since: float | None
    cause: str
    waits_for: str
    until: float | None
    next: str
    inputs: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def spoken(self, tell: Callable[[str], str]) -> Why:
        """Return it with every text changed by `tell`, to put in times or to leave out secrets."""
        return replace(
            self,
            cause=tell(self.cause),
            waits_for=tell(self.waits_for),
            inputs=tuple((name, tell(text)) for name, text in self.inputs),
            notes=tuple(map(tell, self.notes)),
        )


def account(scene: Scene, name: str, *, config_problem: str = "") -> Why | None:
    """Return the account of an agent, by its name or its session's; None for no such one.

    `config_problem` is why the city file was refused.
    """
    case = find_case(scene, name)
    if case is None:
        return None
    found = cause(case)
    return Why(
        name=case.view.name,
        session=case.view.session,
        provider=case.view.provider,
        state=str(case.view.state),
        since=_since(case),
        cause=found.sentence,
        waits_for=found.waits_for,
        until=found.until,
        next=_next(case),
        inputs=tuple(inputs(case)),
        notes=_notes(case, config_problem),
    )


def _next(case: Case) -> str:
    if not case.scene.kept and case.view.state is State.STOPPED and not case.known.held:
        return "`gc start` runs it"
    if case.former is not None:
        return f"starts on {case.view.provider} when that has ended"
    if case.view.reason == NOT_NEEDED and not case.view.run:
        return "starts when its pool needs it"
    return "" if case.is_foreign else next_step(case.view)


def _since(case: Case) -> float | None:
    """Return since when it is as it is, as far as that is known."""
    view, known, shown = case.view, case.known, case.shown
    if view.state in _BY_SCREEN:
        return shown.since if shown is not None else view.since
    if view.state is State.DRAINING:
        return known.drain_since if known.drain_since is not None else known.orphan_since
    if view.state in (State.BACKOFF, State.QUARANTINED):
        return known.ended_at if known.ended_at is not None else max(known.failures, default=None)
    if view.state in STATES.values():
        return known.away_since
    if view.state is State.UNKNOWN:
        return case.scene.memory.silent.get(view.provider)
    return None


def _notes(case: Case, config_problem: str) -> tuple[str, ...]:
    notes, scene = [], case.scene
    if not scene.kept and not case.due:  # whose cause says so
        notes.append("no controller runs: nothing of this is done until one does")
    if config_problem:
        notes.append(f"the city file is refused, an older city runs: {config_problem}")
    if scene.desired.ending:
        notes.append("the city is being stopped")
    if scene.memory.braked:
        notes.append("many agents died at once: they come back a few at a time")
    return tuple(notes)
