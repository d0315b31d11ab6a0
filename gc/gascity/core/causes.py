"""Why an agent is as it is, in one sentence, and what it waits for.

The sentence is built on the reason that was decided with, and adds what the reason leaves out:
until when, how often, which fields, since when, and the way out. Moments in it are marks (see
`moments`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gascity.core.actions import Start, Stop
from gascity.core.case import Case
from gascity.core.dead import WANTED
from gascity.core.decision import lives
from gascity.core.difference import names_of
from gascity.core.drift import CHANGED
from gascity.core.idle import idle_at, idle_since
from gascity.core.model import OnDrift, OnIdle
from gascity.core.moments import moment
from gascity.core.observed import Unseen
from gascity.core.order import blocker
from gascity.core.spans import span
from gascity.core.strays import ATTACHED
from gascity.core.views import State
from gascity.core.wishes import NOT_NEEDED

PERSON = "a person"
_IDLE: Mapping[OnIdle, str] = {
    OnIdle.RESTART: "it is restarted",
    OnIdle.NUDGE: "it is reminded of its work",
    OnIdle.STOP: "it is stopped",
}


@dataclass(frozen=True, slots=True)
class Cause:
    """A sentence, what is waited for ("" for nothing), and until when that is sure to be over."""

    sentence: str
    waits_for: str = ""
    until: float | None = None


def cause(case: Case) -> Cause:
    """Return why an agent is as it is."""
    if case.busy and case.view.state is not State.PENDING:
        return Cause(f"the controller is at work on it ({case.busy})", "the end of that")
    if case.due:
        return _not_kept(case)
    if case.view.drift and case.view.state is not State.DRAINING:
        return _drifted(case)
    return _BY_STATE[case.view.state](case)


def reason_of(case: Case) -> str:
    """Return the reason it was decided with, and of a change which fields it is about."""
    reason, fields = case.view.reason, names_of(case.fields)
    if reason.startswith(CHANGED) and fields:
        return f"{CHANGED} ({fields}){reason.removeprefix(CHANGED)}"
    return reason


def _is_bare(reason: str) -> bool:
    """Tell whether a reason lacks the agent itself, as `suspended in the city file` does."""
    return reason.startswith(("stopped ", "drained ", "suspended ", "waits "))


def _not_kept(case: Case) -> Cause:
    """What would be started if there were a controller."""
    runs = case.state is not None and lives(case.state)
    then = "replaces it" if runs else "starts it"
    reason = reason_of(case)
    why = "" if reason == WANTED else f"; it {reason}" if _is_bare(reason) else f"; {reason}"
    return Cause(f"no controller runs, so nobody {then}{why}", "a controller")


def _drifted(case: Case) -> Cause:
    """It runs on with what it was started with."""
    state, until = case.state, case.view.next_at
    latest = "" if until is None else f", at the latest until {moment(until)}"
    if case.spec is not None and case.spec.on_drift is OnDrift.NOTIFY:
        waits_for = PERSON
    elif state is not None and state.attached:
        waits_for = "the person who is attached"
    elif until is not None:
        waits_for = "the end of its turn"
    else:
        waits_for = "others that are replaced first"
    return Cause(f"{reason_of(case)}{latest}", waits_for, until)


def _starting(case: Case) -> Cause:
    spec, scene = case.spec, case.scene
    if not any(isinstance(one, Start) for one in case.actions):
        needed = blocker(spec, scene.desired, scene.observed) if spec is not None else ""
        why = f"it depends on {needed}, which is not up, so it waits for {needed}"
        return Cause(why if needed else case.view.reason, needed)
    if case.state is not None and lives(case.state):
        return Cause(f"it is replaced by a new incarnation: {reason_of(case)}")
    if case.view.reason != WANTED:
        return Cause(f"it is started again: {case.view.reason}")
    past = "does not run" if case.known.counted or case.known.total_restarts else "never ran"
    return Cause(f"it {past} and is wanted by the city, so it is started now")


def _pending(case: Case) -> Cause:
    needs = case.view.reason.removeprefix("waits for ")
    if needs != case.view.reason:
        return Cause(f"it is not up yet, and waits for {needs}, which is not up", needs)
    return Cause(f"it is not up yet: {case.view.reason}", "what it lacks")


def _lost(case: Case) -> Cause:
    said = f"{case.view.reason}; it may live there, so it is not restarted"
    return Cause(said, "its machine to answer")


def _ending(case: Case) -> Cause:
    return Cause(f"{case.view.reason}; it is left alone until it is gone", "its end")


def _ready(case: Case) -> Cause:
    said = case.view.reason or "it runs as it should"
    if case.known.crashed_at is not None:
        said += f"; it last crashed at {moment(case.known.crashed_at)}: {case.known.last_end}"
    session, observed = case.view.session, case.scene.observed
    if case.spec is None or case.state is None or session in observed.unread:
        return Cause(said)
    facts = (case.spec, case.state, case.known, case.shown)
    since, idle = idle_since(*facts), idle_at(*facts, observed.stood_still)
    if session in observed.queued or since is None or idle is None:
        return Cause(said)
    then = _IDLE[case.spec.on_idle]
    said += f"; it has been idle since {moment(since)}, and {then} at {moment(idle)} if it stays so"
    return Cause(said, "work", idle)


def _working(case: Case) -> Cause:
    shown = case.shown
    since = f", since {moment(shown.since)}" if shown is not None else ""
    return Cause(case.view.reason or f"it is at work{since}")


def _needs_a_person(case: Case) -> Cause:
    return Cause(case.view.reason, PERSON)


def _blocked(case: Case) -> Cause:
    shown = case.shown
    if not case.view.run:
        return Cause(case.view.reason, "the end of that session")
    if case.actions:  # its dialog is being answered
        return Cause(case.view.reason, "its dialog to go")
    if shown is not None and shown.reading.is_unknown:
        return Cause(f"{case.view.reason}, since {moment(shown.still)}", PERSON)
    return Cause(case.view.reason, PERSON)


def _limited(case: Case) -> Cause:
    until = case.view.next_at
    then = "it goes on" if case.view.run and case.view.since is not None else "it is started again"
    if until is None:
        return Cause(f"{case.view.reason}; until when is not known", "the end of its limit")
    return Cause(f"{case.view.reason}; {then} at {moment(until)}", "the end of its limit", until)


def _auth(case: Case) -> Cause:
    until = case.view.next_at
    if until is None:
        return _needs_a_person(case)
    return Cause(f"{case.view.reason}; it is tried again at {moment(until)}", PERSON, until)


def _backoff(case: Case) -> Cause:
    until = case.view.next_at
    if until is None:
        return Cause(case.view.reason, "its turn")
    said = f"{case.view.reason}; it is started again at {moment(until)}"
    return Cause(said, "the time between restarts", until)


def _quarantined(case: Case) -> Cause:
    until = case.view.next_at or case.scene.now
    window = "" if case.spec is None else f" within {span(case.spec.restarts.window)}"
    rest = f"it is left alone until {moment(until)}"
    said = f"{case.view.reason}{window}; {rest}, and `gc reset {case.view.name}` tries at once"
    return Cause(said, "the end of its quarantine", until)


def _draining(case: Case) -> Cause:
    until, known = case.view.next_at, case.known
    if any(isinstance(one, Stop) for one in case.actions):
        return Cause(f"{reason_of(case)}; it is stopped now")
    if known.drain_since is None:
        return _left_over(case)
    by = "it may take as long as it needs"
    if until is not None:
        by = f"it is stopped at {moment(until)} if it has not finished by then"
    said = f"{reason_of(case)}, so it drains since {moment(known.drain_since)}; {by}"
    return Cause(said, "its work to be finished", until)


def _left_over(case: Case) -> Cause:
    """A session that no agent accounts for, or that is still needed while the city ends."""
    said = reason_of(case)
    if case.scene.desired.ending:
        return Cause(said, "those that need it")
    if case.state is None or not case.state.attached:
        return Cause(said, "another look")
    return _while_attached(said, case, ATTACHED)


def _while_attached(said: str, case: Case, patience: float) -> Cause:
    """Somebody is attached to a session that is to end: they have some time."""
    since = case.known.orphan_since
    until = None if since is None else since + patience
    latest = "" if until is None else f", at the latest until {moment(until)}"
    return Cause(f"{said}{latest}", "the person who is attached", until)


def _down(case: Case) -> Cause:
    reason = case.view.reason
    said = f"it was {reason}" if _is_bare(reason) else reason
    if case.view.state is State.SUSPENDED:
        said = f"it is {reason}"
    if reason == NOT_NEEDED and case.spec is not None:
        said = f"{reason}: {_demand(case)}"
    stops = any(isinstance(one, Stop) for one in case.actions)
    waits = "" if reason != NOT_NEEDED else "more work for its pool"
    return Cause(f"{said}, so it is stopped now" if stops else said, waits)


def _demand(case: Case) -> str:
    pools = {pool.name: pool for pool in case.scene.desired.pools}
    pool = pools[case.spec.pool] if case.spec is not None else None
    if pool is None:
        return ""
    size = case.scene.memory.pools.get(pool.name, pool.min)
    return f"{size} of at most {pool.max} are wanted"


def _unknown(case: Case) -> Cause:
    scene, view = case.scene, case.view
    seen = scene.observed.providers.get(view.provider)
    if isinstance(seen, Unseen):
        silent = scene.memory.silent.get(view.provider)
        since = f", since {moment(silent)}" if silent is not None else ""
        return Cause(f"{view.reason}{since}; until it does, nothing is done", view.provider)
    if case.former is not None:
        said = f"{view.reason}: {case.former.reason}"
        if case.former.attached and case.spec and case.spec.on_drift is not OnDrift.NOTIFY:
            return _while_attached(said, case, case.spec.drift_patience)
        return Cause(said, "the end of its former session")
    return Cause(view.reason)


_BY_STATE: Mapping[State, Callable[[Case], Cause]] = {
    State.STARTING: _starting,
    State.PENDING: _pending,
    State.LOST: _lost,
    State.ENDING: _ending,
    State.READY: _ready,
    State.IDLE: _ready,
    State.WORKING: _working,
    State.WAITING: _needs_a_person,
    State.BLOCKED: _blocked,
    State.LIMITED: _limited,
    State.AUTH: _auth,
    State.BACKOFF: _backoff,
    State.QUARANTINED: _quarantined,
    State.DRAINING: _draining,
    State.SUSPENDED: _down,
    State.STOPPED: _down,
    State.UNKNOWN: _unknown,
}
