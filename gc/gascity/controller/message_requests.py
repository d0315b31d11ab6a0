"""What people ask of a running controller about messages: send, keep, list, take back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from gascity.controller.messages import Asked
from gascity.controller.telling import nudge_event
from gascity.controller.workers import Workers
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec, declared
from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.errors import GascityError, NotFound, UsageError
from gascity.session.receipts import Receipt

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

DEFAULT_TIMEOUT = 30.0
LONGEST_TIMEOUT = 3600.0
DAY = 86_400.0


class MessageRequests:
    """Answers them. Used by the loop's thread, but for the delivery itself."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._workers = Workers()  # of their own: a message may wait long, supervision may not
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "nudge": self._nudge,
            "queue_nudge": self._queue,
            "nudges": self._list,
            "cancel_nudge": self._cancel,
        }

    def _nudge(self, asked: Asked) -> None:
        spec, text = self._addressed(asked.params)
        timeout = min(_number(asked.params, "timeout", DEFAULT_TIMEOUT), LONGEST_TIMEOUT)
        wait, raw = asked.params.get("wait") is True, asked.params.get("raw") is True
        provider = self._controller.providers[spec.provider]

        def job() -> None:
            try:
                receipt = provider.nudge(spec.session, text, timeout=timeout, wait=wait, raw=raw)
            except GascityError as problem:
                asked.answer(problem)
            except Exception as problem:  # noqa: BLE001  a provider is foreign code: its bug is an answer
                asked.answer(GascityError(f"{type(problem).__name__}: {problem}"))
            else:
                self._controller.tell(
                    nudge_event(spec.name, spec.session, receipt.delivery, receipt.evidence)
                )
                said = self._controller.conceal(spec.name, receipt.evidence)
                asked.answer(receipt_document(spec.name, replace(receipt, evidence=said)))

        self._workers.submit(job)

    def _queue(self, asked: Asked) -> None:
        spec, text = self._addressed(asked.params)
        controller = self._controller
        now = controller.now()
        nudge = controller.journal.nudges.add(
            spec.name,
            spec.session,
            text,
            at=now,
            expires_at=now + _number(asked.params, "expires", DAY),
            raw=asked.params.get("raw") is True,
        )
        controller.remember(controller.memory, [controller.postbox.add(nudge)])
        controller.look_again()
        asked.answer(queued_document(nudge))

    def _list(self, asked: Asked) -> None:
        found = self._controller.journal.nudges.recent()
        asked.answer({"nudges": [nudge_document(nudge) for nudge in found]})

    def _cancel(self, asked: Asked) -> None:
        number = asked.params.get("number")
        if not isinstance(number, int):
            raise UsageError("number must be that of a message")
        controller = self._controller
        controller.journal.nudges.cancel(number)
        controller.postbox.forget(number)
        event = Event(EventType.NUDGE_CANCELLED, message=f"message {number} was taken back")
        controller.remember(controller.memory, [event])
        asked.answer({"number": number, "state": NudgeState.CANCELLED})

    def _addressed(self, params: Mapping[str, object]) -> tuple[AgentSpec, str]:
        specs = specs_of(self._controller, params)
        text = params.get("text")
        if len(specs) != 1 or not isinstance(text, str):
            raise UsageError("a nudge has one agent and a text")
        return specs[0], text


def specs_of(controller: Controller, params: Mapping[str, object]) -> Sequence[AgentSpec]:
    """Return the agents that a request names. Raises UsageError or NotFound."""
    names = params.get("agents")
    if not isinstance(names, list) or not names:
        raise UsageError("agents must be a list of names")
    known = {spec.name: spec for spec in declared(controller.city.desired)}
    unknown = [name for name in names if not isinstance(name, str) or name not in known]
    if unknown:
        raise NotFound(f'this controller knows no agent "{unknown[0]}"')
    return [known[name] for name in names]


def receipt_document(agent: str, receipt: Receipt) -> dict[str, object]:
    """Return a receipt as `gc nudge --json` prints it. Its keys are a promise to scripts."""
    return {"agent": agent, **asdict(receipt), "elapsed": round(receipt.elapsed, 3)}


def queued_document(nudge: QueuedNudge) -> dict[str, object]:
    """Return what `gc nudge --queue --json` prints."""
    return {
        "agent": nudge.agent,
        "delivery": "queued",
        "evidence": "it is kept until its agent can take it",
        "text": nudge.text,
        "attempts": 0,
        "elapsed": 0.0,
        "number": nudge.number,
        "expires_at": nudge.expires_at,
    }


def nudge_document(nudge: QueuedNudge) -> dict[str, object]:
    """Return one message as `gc nudges --json` prints it."""
    return {key: value for key, value in asdict(nudge).items() if key not in ("session", "run")}


def _number(params: Mapping[str, object], key: str, default: float) -> float:
    value = params.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise UsageError(f"{key} must be a number of seconds")
    return float(value)
