"""Answering a dialog: choose an option by its label, and see that it was taken.

One key at a time, and a look after every key. Enter is pressed only when two looks in a row showed
the cursor on the wanted label, and only when all earlier keys had their effect: what a program has
not drawn yet, it may still do. An Enter that seems lost is given again only after a move was seen
to work, because then the program has read everything before it, and a late Enter cannot fall into
the next dialog.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from gascity.screens.classify import has_ended
from gascity.screens.options import Option, Options, find
from gascity.screens.reading import Policy
from gascity.screens.rules import Rule, Rules
from gascity.screens.screen import Screen
from gascity.session.guarded import GLANCE, TWICE, Guarded, Over
from gascity.session.terminal import Terminal

MOVED = 1.5  # a key showed its effect by then, or has none
SETTLED = 3.0  # quiet time after keys whose effect was not seen
GONE = 2.0  # a dialog that was answered is gone by then
TRIES = 2  # arrows without effect before something else is tried
ENTERS = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a dialog. `done`: the wanted option was chosen, and the dialog is gone.

    `chosen` is the label that was taken, "" when it is not known; `presses` counts all keys.
    """

    done: bool
    chosen: str
    evidence: str
    presses: int
    before: Screen
    after: Screen


def answer(
    terminal: Terminal,
    rules: Rules,
    rule: Rule,
    policy: Policy,
    *,
    deadline: float,
    pause: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Answer:
    """Answer the dialog of a rule, until `deadline` by the clock `now`.

    Presses nothing where it is not sure: a person is attached, the input box is there, the rule
    does not hold, no option or more than one matches.
    """
    effort = Guarded(terminal, rules, rule, deadline, pause, now)
    try:
        done, chosen, evidence = _answer(effort, rule, policy)
    except Over as over:
        done, chosen, evidence = False, "", str(over)
    return Answer(done, chosen, evidence, effort.presses, effort.before, effort.screen)


def _answer(effort: Guarded, rule: Rule, policy: Policy) -> tuple[bool, str, str]:
    pattern = {Policy.ACCEPT: rule.accept, Policy.DENY: rule.deny}.get(policy)
    keys = rule.keys if policy is Policy.ACCEPT else ()
    if policy is Policy.ASK or (pattern is None and not keys):
        raise Over(f"nothing is known to press for policy {policy.value}")
    options = effort.steady()
    if keys and (options is None or pattern is None):
        return _press_keys(effort, keys)
    if options is None or pattern is None:
        raise Over("no options can be read on the screen")
    wanted = find(options, pattern, denying=policy is Policy.DENY)
    if wanted is None:
        raise Over(f"not exactly one of {_quoted(options)} matches /{pattern.pattern}/")
    return _Choice(effort, pattern, policy, options, wanted).make()


class _Choice:
    """The way from the cursor to the wanted label, and Enter."""

    def __init__(
        self,
        effort: Guarded,
        pattern: re.Pattern[str],
        policy: Policy,
        options: Options,
        wanted: Option,
    ) -> None:
        self._effort = effort
        self._pattern = pattern
        self._policy = policy
        self._label = wanted.label
        self._moves = 2 * len(options.options) + 2
        self._unseen = 0  # keys whose effect was not seen
        self._idle = 0  # arrows in a row that did nothing
        self._arrows_work = False
        self._patience = MOVED

    def make(self) -> tuple[bool, str, str]:
        entered = False
        try:
            for _ in range(ENTERS):
                if self._go():
                    return True, self._label, f'"{self._label}" was chosen by its number'
                self._effort.press("Enter")
                entered = True
                if self._effort.gone(GONE) or not self._was_read():
                    return self._taken()
        except Over:
            if entered and self._effort.gone(0.0):  # a late program: it took the Enter after all
                return self._taken()
            raise
        raise Over(f'Enter on "{self._label}" did nothing, {ENTERS} times')

    def _taken(self) -> tuple[bool, str, str]:
        if self._policy is Policy.ACCEPT and has_ended(self._effort.screen):
            raise Over(f'the program ended after Enter on "{self._label}"')
        return True, self._label, f'"{self._label}" was under the cursor when Enter was pressed'

    def _go(self) -> bool:
        """Bring the cursor to the wanted label; True when a digit already chose it."""
        while True:
            options, wanted = self._menu()
            if options.current is wanted:
                if self._stays():
                    return False
            elif self._idle >= TRIES:
                return self._by_number(wanted)
            else:
                self._move("Down" if options.options.index(wanted) > options.cursor else "Up")

    def _menu(self) -> tuple[Options, Option]:
        """Return what the last look showed; a menu that is being drawn gets time."""
        options = self._effort.options()
        wanted = self._find(options)
        if wanted is None:
            options = self._effort.steady()
            wanted = self._find(options)
        if options is None or wanted is None:
            raise Over(f'"{self._label}" is not among the options any more')
        return options, wanted

    def _find(self, options: Options | None) -> Option | None:
        if options is None:
            return None
        return find(options, self._pattern, denying=self._policy is Policy.DENY)

    def _is_there(self) -> bool:
        """Tell whether the last look shows the cursor on the wanted label."""
        options = self._effort.options()
        wanted = self._find(options)
        return options is not None and options.current is wanted

    def _stays(self) -> bool:
        """Tell whether the cursor is still there a while later, long enough for all keys before."""
        end = self._effort.now() + (SETTLED if self._unseen else TWICE)
        while self._effort.now() < end:
            self._effort.wait(TWICE)
            self._effort.look()
            if not self._is_there():
                return False
        return True

    def _move(self, key: str) -> bool:
        """Press an arrow and tell whether the cursor was seen to move."""
        if self._moves == 0:
            raise Over(f'the cursor could not be brought to "{self._label}"')
        self._moves -= 1
        before = self._effort.options()
        self._effort.press(key)
        moved = self._differs(before)
        self._idle = 0 if moved else self._idle + 1
        self._arrows_work = self._arrows_work or moved
        if not moved:
            self._unseen += 1
        elif self._unseen:
            self._catch_up()
        return moved

    def _catch_up(self) -> None:
        """The program is late: wait until nothing moves any more, and be patient from now on."""
        self._patience = SETTLED
        last: object = None
        quiet = 0.0
        while quiet < SETTLED:
            self._effort.wait(TWICE)
            self._effort.look()
            options = self._effort.options()
            place = None if options is None else _place(options)
            quiet = quiet + TWICE if place == last else 0.0
            last = place
        self._unseen = 0

    def _differs(self, before: Options | None) -> bool:
        """Look until the cursor is elsewhere; what else changes on the screen does not count."""
        end = self._effort.now() + self._patience
        while self._effort.now() < end:
            self._effort.wait(GLANCE)
            self._effort.look()
            options = self._effort.options()
            if not self._effort.holds():
                if self._effort.gone(0.0):
                    raise Over(
                        "the dialog went away when the cursor was moved; its choice is not known"
                    )
                continue
            if options is not None and before is not None and _place(options) != _place(before):
                return True
        return False

    def _by_number(self, wanted: Option) -> bool:
        """Press the option's digit; True when that chose it, False when the cursor went there."""
        if wanted.number is None or wanted.number > 9:
            raise Over(f'the cursor does not move to "{self._label}", which has no digit to press')
        self._idle = 0
        self._moves = 0
        self._effort.press(str(wanted.number))
        end = self._effort.now() + GONE
        while self._effort.now() < end:
            if self._effort.gone(0.0):
                self._taken()
                return True
            if self._is_there() and self._stays():
                return False
            self._effort.wait(GLANCE)
        raise Over(f'neither the arrows nor the digit {wanted.number} reach "{self._label}"')

    def _was_read(self) -> bool:
        """After an Enter without effect: tell whether a move is seen, so that the Enter is lost.

        False when the dialog, or at least its option, went away meanwhile.
        """
        options = self._effort.steady()
        if options is None or self._find(options) is None:
            return False
        there, back = ("Up", "Down") if options.cursor else ("Down", "Up")
        moved = not self._moves or self._move(there) or self._move(back)
        if not moved and self._arrows_work:
            raise Over(f'Enter on "{self._label}" did nothing, and now no key does')
        self._idle = 0
        return True


def _press_keys(effort: Guarded, keys: tuple[str, ...]) -> tuple[bool, str, str]:
    """Press the keys of a rule, for a dialog that shows no options."""
    pressed = " ".join(keys)
    for number, key in enumerate(keys):
        effort.press(key)
        last = number == len(keys) - 1
        if effort.gone(GONE if last else 2 * TWICE):
            if last:
                return True, "", f"the dialog went away after {pressed}"
            raise Over(f"the dialog went away after {key}, before all of {pressed}")
    raise Over(f"the dialog is still there after {pressed}")


def _place(options: Options) -> tuple[int, int | None, str]:
    return options.cursor, options.current.number, options.current.parts[0]


def _quoted(options: Options) -> str:
    return ", ".join(f'"{label}"' for label in options.labels)
