"""What the hooks of agents report, and what is known from them.

A report is answered as soon as it is taken, and most who report do not wait for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gascity.controller.message_requests import specs_of
from gascity.controller.messages import Asked, Heard
from gascity.core.model import declared
from gascity.core.reports import HOOK, Report
from gascity.errors import UsageError
from gascity.hooks.backends import hooked

if TYPE_CHECKING:
    from gascity.controller.loop import Controller

LONGEST = 200  # characters of anything in a report
_WORD = re.compile(r"[\w.:/ -]{0,64}", re.ASCII)  # no secret has a place in what an event tells


class HookRequests:
    """Answers them. Used by the loop's thread alone."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self.methods: Mapping[str, Callable[[Asked], None]] = {
            "report": self._report,
            "reported": self._reported,
        }

    def _report(self, asked: Asked) -> None:
        given = [asked.params.get(key, "") for key in _KEYS]
        words = [word for word in given if isinstance(word, str) and len(word) <= LONGEST]
        if len(words) != len(_KEYS):
            raise UsageError(f"a report has {', '.join(_KEYS)}, all of them short texts")
        backend, event, detail, owner, session, run = words
        backend_hooks = hooked(backend)
        if backend_hooks is None or event not in backend_hooks.events:
            raise UsageError(f'"{backend}" has no hook "{event}" that this controller knows')
        controller = self._controller
        state = controller.sessions().get(session)
        known = {spec.session for spec in declared(controller.city.desired)}
        if not run or (state is None and session not in known):
            asked.answer({"owner": False})  # of another city, or of nobody's any more
            return
        detail = detail if _WORD.fullmatch(detail) else ""
        evidence = f"{event} ({detail})" if detail else event
        kind = backend_hooks.kind(event, detail)
        report = Report(run, kind, controller.now(), event, evidence, owner)
        living = state.run if state is not None else ""
        ends = event == backend_hooks.end_event

        def answer(is_owner: bool) -> None:  # noqa: FBT001  the one thing that is answered
            asked.answer({"owner": is_owner})

        controller.post(Heard(session, report, living, ends, answer))

    def _reported(self, asked: Asked) -> None:
        """Tell what the hook of an agent said last, and whether that counts now."""
        controller = self._controller
        (spec, *_) = specs_of(controller, asked.params)
        sessions = controller.sessions()
        state, now = sessions.get(spec.session), controller.now()
        report = None
        if state is not None:
            report = controller.screens.hearing.last(spec.session, state.run)
        if report is None:
            asked.answer({"report": None})
            return
        shown = controller.screens.heard(sessions, now).get(spec.session)
        told = {
            "event": report.event,
            "evidence": report.evidence,
            "kind": report.kind,
            "age": round(max(now - report.at, 0.0), 1),
            "counts": shown is not None and shown.reading.rule == HOOK,
        }
        asked.answer({"report": told})


_KEYS = ("backend", "event", "detail", "owner", "session", "run")
