"""What a living agent does, by its screen, and what follows from that.

An agent at its prompt is given the message that waits for it. A dialog that a rule knows is
answered, unless a person is there or is to be asked. Whatever only a person can mend is a trouble,
but for what a person who is attached sees anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gascity.core.actions import Action, Dismiss, Nudge
from gascity.core.alerts import Alert, Trouble, of_agent
from gascity.core.memory import AgentMemory
from gascity.core.model import AgentSpec
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import SessionState, Shown
from gascity.core.reports import HOOK, SETTLED
from gascity.core.standstill import NEVER, Standstills
from gascity.core.views import State
from gascity.screens.reading import Kind, Policy, Reading

BLOCKED_AFTER = 10.0  # seconds for which an unknown screen must stand still
MOST_TRIES = 3  # to answer one dialog


@dataclass(frozen=True, slots=True)
class Doing:
    """How the agent stands, and what to do about it.

    `trouble` is the kind of what a person should know, `about` the rule that saw it. A screen that
    says nothing at the moment is `blind`: what there was may last.
    """

    state: State
    reason: str = ""
    next_at: float | None = None
    actions: tuple[Action, ...] = ()
    wake_at: float | None = None
    trouble: Trouble | None = None
    about: str = ""
    troubles: tuple[Alert, ...] = ()
    blind: bool = False


READY = Doing(State.READY)


def doing(
    spec: AgentSpec,
    state: SessionState,
    shown: Shown | None,
    queued: QueuedNudge | None,
    memory: AgentMemory,
    now: float,
    stood_still: Standstills = NEVER,
    *,
    unread: bool = False,
) -> tuple[Doing, AgentMemory]:
    """Return what the agent does, and the memory with how often its dialog was answered.

    `unread` says that its screen has rules and was not read yet.
    """
    if shown is not None and shown.run != state.run:
        shown, unread = None, True  # of its former self
    found = READY if shown is None else _by_screen(spec, state, shown, memory, now, stood_still)
    if shown is not None and shown.reading.kind is not Kind.DIALOG:
        memory = replace(memory, dialog_tries=0) if memory.dialog_tries else memory
    if shown is not None and shown.until is not None:
        found = replace(found, wake_at=min(found.wake_at or shown.until, shown.until))
    if queued is not None and (shown is None or _is_free(shown.reading, now)):
        why = f"message {queued.number} waits for it"
        nudge = Nudge(spec.session, spec.provider, spec.name, queued, why)
        found = replace(found, actions=(*found.actions, nudge))
    if unread or (found.trouble is not None and state.attached):
        found = replace(found, blind=True)
    elif found.trouble is not None and shown is not None:
        screen = "\n".join(shown.bottom)
        text = f"{spec.name} needs a person: {found.reason}"
        alert = of_agent(found.trouble, spec, text, about=found.about, screen=screen)
        found = replace(found, troubles=(alert,))
    return found, memory


def _by_screen(
    spec: AgentSpec,
    state: SessionState,
    shown: Shown,
    memory: AgentMemory,
    now: float,
    stood_still: Standstills,
) -> Doing:
    reading = shown.reading
    match reading.kind:
        case Kind.READY:
            return READY
        case Kind.ERROR:
            return Doing(State.READY, f"its last turn failed: {reading.evidence}")
        case Kind.WORKING:
            return _working(spec, shown, now, stood_still)
        case Kind.WAITING:
            return _waiting(shown, now)
        case Kind.AUTH:
            why = f"it is not logged in: {reading.evidence}"
            return Doing(State.AUTH, why, trouble=Trouble.AUTH)
        case Kind.LIMITED:
            return _limited(reading, now)
        case Kind.DIALOG:
            return _dialog(spec, state, reading, memory)
        case None:
            return _unread(shown, now, stood_still)


def _waiting(shown: Shown, now: float) -> Doing:
    """A person is told at once of a question that was seen, and a little later of one reported.

    By then the screen was read too: if it knows the question better, it is told of once.
    """
    why = f"it waits for a person: {shown.reading.evidence}"
    told_at = shown.since + SETTLED
    if shown.reading.rule == HOOK and now < told_at:
        return Doing(State.WAITING, why, wake_at=told_at)
    return Doing(State.WAITING, why, trouble=Trouble.WAITING, about=shown.reading.rule)


def _working(spec: AgentSpec, shown: Shown, now: float, stood_still: Standstills) -> Doing:
    """An agent at work draws all the time; one whose screen stands still may have stalled."""
    if spec.stall_timeout <= 0:
        return Doing(State.WORKING)
    stalled_at = stood_still.over(shown.still, spec.stall_timeout)
    if now < stalled_at:
        return Doing(State.WORKING, wake_at=stalled_at)
    why = f"it seems to work, but its screen has not changed for {spec.stall_timeout:g} s"
    return Doing(State.WORKING, why, trouble=Trouble.STALLED)


def _limited(reading: Reading, now: float) -> Doing:
    until = reading.until
    if until is not None and until <= now:
        return Doing(State.READY, "its limit has ended")
    why = f"its limit is used up: {reading.evidence}"
    return Doing(State.LIMITED, why, next_at=until, wake_at=until, trouble=Trouble.LIMITED)


def _dialog(spec: AgentSpec, state: SessionState, reading: Reading, memory: AgentMemory) -> Doing:
    policy = Policy(spec.dialogs.get(reading.rule, reading.policy or Policy.ASK))
    name = f'the dialog "{reading.rule}"'
    if policy is Policy.ASK:
        why = f"{name} waits for a person"
        return Doing(State.WAITING, why, trouble=Trouble.DIALOG, about=reading.rule)
    if memory.dialog_tries >= MOST_TRIES:
        why = f"{name} is still there after {memory.dialog_tries} tries to answer it"
        return Doing(State.BLOCKED, why, trouble=Trouble.DIALOG, about=reading.rule)
    if state.attached:
        return Doing(State.WAITING, f"{name} is left to the person who is attached")
    why = f"{name} is in its way"
    dismiss = Dismiss(
        spec.session, spec.provider, spec.name, spec.backend, reading.rule, policy, why
    )
    return Doing(State.BLOCKED, f"{name} is being answered", actions=(dismiss,))


def _unread(shown: Shown, now: float, stood_still: Standstills) -> Doing:
    if not shown.reading.is_unknown:
        return READY
    stuck_at = stood_still.over(shown.still, BLOCKED_AFTER)
    if now < stuck_at:
        why = "its input box is not on the screen"
        return Doing(State.READY, why, wake_at=stuck_at, blind=True)
    why = "it shows no input box, and nothing that a rule knows"
    return Doing(State.BLOCKED, why, trouble=Trouble.BLOCKED)


def _is_free(reading: Reading, now: float) -> bool:
    """Tell whether a message can be given to it; the provider looks again before it types."""
    if not reading.has_box or reading.draft:
        return False
    if reading.kind is Kind.LIMITED:
        return reading.until is not None and reading.until <= now
    return reading.kind in (Kind.READY, Kind.ERROR)
