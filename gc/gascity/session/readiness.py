"""When an agent is up, told from its screen, with the dialogs in its way answered.

A prompt that shows is not enough: some programs draw their input box before the dialog that covers
it, so it must last. A dialog that a person is to answer, or that does not go away, ends the wait:
the agent is started, and not ready.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from enum import Enum

from gascity import awake
from gascity.screens.classify import classify
from gascity.screens.reading import Kind, Policy, Reading
from gascity.screens.rules import Rule, Rules
from gascity.screens.screen import Screen
from gascity.session.delivery import Hold
from gascity.session.dialogs import Answer, answer
from gascity.session.locks import SessionBusy
from gascity.session.terminal import Terminal

MOST_ANSWERS = 3  # to one dialog; a second look may find what the first did not
STANDS_STILL = 10.0  # seconds after which a screen that no rule knows is not waited for
LASTING_TROUBLE = 2.0  # seconds for which a login screen or a limit must be seen
ANSWERING = 10.0
KEPT_ROWS = 40  # of a screen, in the record of an answer


class Stand(Enum):
    """How far a session is on its way to being ready."""

    READY = "ready"
    NOT_YET = "not yet"
    STUCK = "stuck"  # nothing will change without a person
    UNKNOWN = "unknown"  # there is nothing to tell it by


class ScreenReadiness:
    """Watches one session come up. `policies` says what to do about each dialog."""

    def __init__(
        self,
        terminal: Terminal,
        rules: Rules,
        policies: Mapping[str, Policy],
        hold: Hold,
        now: Callable[[], float] = awake.seconds,
    ) -> None:
        self._terminal = terminal
        self._rules = rules
        self._policies = policies
        self._hold = hold
        self._now = now
        self._tries: Counter[str] = Counter()
        self._since: float | None = None
        self._last: str | None = None
        self.answers: list[tuple[str, Answer]] = []

    def stand(self, *, timeout: float) -> Stand:
        """Look once, and answer a dialog if there is one to answer."""
        screen = self._terminal.look(timeout=timeout)
        reading = classify(screen, self._rules, time.time())
        rule = self._rules.rule(reading.rule)
        lasted = self._lasted(reading, screen)
        if reading.kind is Kind.DIALOG and rule is not None:
            return self._meet(rule, screen, timeout)
        if reading.kind is Kind.WORKING or (reading.has_box and reading.kind is not None):
            needed = 0.0 if self.answers else self._rules.lasting
            return Stand.READY if lasted >= needed else Stand.NOT_YET
        if reading.kind in (Kind.AUTH, Kind.LIMITED, Kind.WAITING):
            return Stand.STUCK if lasted >= LASTING_TROUBLE else Stand.NOT_YET
        return Stand.STUCK if reading.is_unknown and lasted >= STANDS_STILL else Stand.NOT_YET

    def _meet(self, rule: Rule, screen: Screen, timeout: float) -> Stand:
        policy = self._policies.get(rule.name, Policy.ASK)
        if policy is Policy.ASK or self._tries[rule.name] >= MOST_ANSWERS:
            return Stand.STUCK
        if screen.attached:
            return Stand.NOT_YET  # the person may want to answer it
        deadline = time.monotonic() + min(timeout, ANSWERING)
        try:
            with self._hold(deadline - time.monotonic()):
                given = answer(self._terminal, self._rules, rule, policy, deadline=deadline)
        except SessionBusy:
            return Stand.NOT_YET
        self._tries[rule.name] += 1
        self.answers.append((rule.name, given))
        return Stand.NOT_YET

    def _lasted(self, reading: Reading, screen: Screen) -> float:
        """Return for how long the screen has shown this; one that no rule knows, unchanged."""
        up = reading.has_box or reading.kind is Kind.WORKING
        shown = "up" if up else reading.rule or screen.text
        if shown != self._last or self._since is None:
            self._last, self._since = shown, self._now()
        return self._now() - self._since


def shows_prompt(screen: str, prefix: str) -> bool:
    """Tell whether one of the lines begins with the prompt; no-break spaces count as blanks."""
    wanted = _plain(prefix)
    return any(_plain(line).startswith(wanted) for line in screen.split("\n"))


def stand_by_prompt(prefix: str, show: Callable[[], str]) -> Stand:
    """Tell whether what is shown has the prompt; without one there is nothing to tell it by."""
    if not prefix:
        return Stand.UNKNOWN
    return Stand.READY if shows_prompt(show(), prefix) else Stand.NOT_YET


def _plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").strip()


def record(name: str, given: Answer) -> str:
    """Return what became of a dialog as one JSON object, for the journal."""
    return json.dumps(
        {
            "dialog": name,
            "done": given.done,
            "chosen": given.chosen,
            "presses": given.presses,
            "evidence": given.evidence,
            "before": list(given.before.rows[-KEPT_ROWS:]),
            "after": list(given.after.rows[-KEPT_ROWS:]),
        },
        ensure_ascii=False,
    )
