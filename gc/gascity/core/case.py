"""One agent with all that was looked at when it was decided on: what explanations are made from.

A case is found by a name of the agent or of its session. It need not be declared: what was left
over, what cannot be resolved and what strangers made has a case too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gascity.core.actions import Action
from gascity.core.away import STATES
from gascity.core.decision import is_away, lives
from gascity.core.decision import view as seen_as
from gascity.core.difference import FieldChange
from gascity.core.drift import drifted_fields
from gascity.core.memory import AgentMemory, Memory
from gascity.core.model import AgentSpec, Desired, declared
from gascity.core.naming import session_name
from gascity.core.observed import Observed, Seen, SessionState, Shown
from gascity.core.plan import Plan
from gascity.core.views import AgentView, State
from gascity.core.wishes import NOT_NEEDED


@dataclass(frozen=True, slots=True)
class Scene:
    """A city at one moment: what there should be, what was seen, and what was decided.

    `kept` is False when no controller runs: then what was decided is not done.
    """

    desired: Desired
    observed: Observed
    plan: Plan
    now: float
    kept: bool = True

    @property
    def memory(self) -> Memory:
        """What was remembered after the decision."""
        return self.plan.memory


@dataclass(frozen=True, slots=True)
class Case:
    """One agent in a scene. `spec` is None for what is not declared.

    `former` is how its session on another provider stands, of an agent that moves. One is `due`
    that would be started or replaced if a controller ran.
    """

    scene: Scene
    view: AgentView
    spec: AgentSpec | None
    state: SessionState | None
    former: AgentView | None = None
    due: bool = False

    @property
    def known(self) -> AgentMemory:
        """What was remembered of it after the decision."""
        return self.scene.memory.of(self.view.session)

    @property
    def shown(self) -> Shown | None:
        """What its screen was read as; None for that of another incarnation."""
        shown = self.scene.observed.shown.get(self.view.session)
        return shown if shown and self.state and shown.run == self.state.run else None

    @property
    def busy(self) -> str:
        """What is being done to it right now, but for typing; "" where nothing is."""
        session, observed = self.view.session, self.scene.observed
        return "" if session in observed.typed_at else observed.busy.get(session, "")

    @property
    def actions(self) -> tuple[Action, ...]:
        """What was decided to be done about it."""
        found = self.scene.plan.actions
        return tuple(one for one in found if getattr(one, "session", "") == self.view.session)

    @property
    def is_foreign(self) -> bool:
        """Whether this is a session that this city did not make, and no agent."""
        view = self.view
        return self.spec is None and (view.provider, view.session) in self.scene.plan.foreign

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """The fields in which its session differs from the city file, as far as they are known."""
        return drifted_fields(self.spec, self.state) if self.spec and self.state else ()


def find_case(scene: Scene, name: str) -> Case | None:
    """Return the case of an agent, by its name or that of its session; None for neither."""
    spec = next((one for one in declared(scene.desired) if name in (one.name, one.session)), None)
    session = spec.session if spec else session_name(scene.desired.city, name).name
    views = [one for one in scene.plan.views if session == one.session or name == one.name]
    views = views or [one for one in scene.plan.views if name == one.session]
    if spec is None:
        return next(cases(scene, views[:1]), None) or _stranger(scene, name)
    own = [one for one in views if one.provider == spec.provider]
    return next(cases(scene, own[:1] or [_empty_place(spec)]))


def cases(scene: Scene, views: Iterable[AgentView]) -> Iterator[Case]:
    """Yield the cases that these views of the plan are about."""
    specs = {(one.session, one.provider): one for one in declared(scene.desired)}
    alike: dict[str, list[AgentView]] = {}
    for one in scene.plan.views:
        alike.setdefault(one.session, []).append(one)
    for view in views:
        spec, state = specs.get((view.session, view.provider)), _seen(scene, view)
        if spec is None:
            yield Case(scene, view, None, state)
            continue
        others = (one for one in alike.get(view.session, ()) if one.provider != view.provider)
        due = not scene.kept and _is_to_come(view, state)
        now = _as_it_is(scene, spec, view, state) if due else view
        yield Case(scene, now, spec, state, next(others, None), due)


def _is_to_come(view: AgentView, state: SessionState | None) -> bool:
    """Tell whether there is nothing of an agent yet, or nothing of its next incarnation."""
    return view.state is State.STARTING or (view.state is State.PENDING and state is None)


def _empty_place(spec: AgentSpec) -> AgentView:
    """A member that its pool does not need has no view in a plan."""
    reason = NOT_NEEDED if spec.pool else ""
    return AgentView(spec.name, spec.session, spec.provider, State.STOPPED, reason)


def _as_it_is(
    scene: Scene, spec: AgentSpec, view: AgentView, state: SessionState | None
) -> AgentView:
    """Return how an agent stands that nobody starts or replaces."""
    is_now = State.READY if state is not None and lives(state) else State.STOPPED
    if state is not None and is_away(state):
        is_now = STATES[state.standing]
    return seen_as(spec, scene.memory.of(view.session), is_now, view.reason, state)


def _seen(scene: Scene, view: AgentView) -> SessionState | None:
    seen = scene.observed.providers.get(view.provider)
    return seen.sessions.get(view.session) if isinstance(seen, Seen) else None


def _stranger(scene: Scene, name: str) -> Case | None:
    """Return the case of a session that looks like ours and was not made by this city."""
    session = session_name(scene.desired.city, name).name
    for provider, found in scene.plan.foreign:
        if found in (name, session):
            why = f"{found} on {provider} was not made by this city; it is left alone"
            view = AgentView(found, found, provider, State.UNKNOWN, why)
            return Case(scene, view, None, _seen(scene, view))
    return None
