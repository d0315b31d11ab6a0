# ruff: noqa: RUF001 - the glyphs that real programs draw
from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.zoo.dialog_cases import Case
from tests.zoo.dialogs import Dialog, Spec

from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Region, Rule, Rules
from gascity.screens.screen import Screen
from gascity.session.dialogs import Answer, answer

BYPASS = Spec(("No, exit", "Yes, I accept"))
CASE = Case(BYPASS, 80, Policy.ACCEPT, re.compile("Yes, I accept"), 1)


class Desk:
    """A terminal on a clock of its own; `change` may alter every screen before it is seen."""

    def __init__(self, spec: Spec, change: Callable[[Screen], Screen] = lambda seen: seen) -> None:
        self.dialog = Dialog(spec)
        self.time = 0.0
        self.pressed: list[str] = []
        self.change = change

    def look(self, *, timeout: float) -> Screen:
        self.dialog.advance(self.time)
        return self.change(Screen.of("\n".join(self.dialog.rows(80, self.time))))

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self.pressed += keys
        self.dialog.receive(list(keys), self.time)

    def paste(self, text: str, *, timeout: float) -> None:
        raise AssertionError(text)

    def wake(self, *, timeout: float) -> None:
        raise AssertionError

    def pause(self, seconds: float) -> None:
        self.time += seconds

    def answer(
        self,
        policy: Policy = Policy.ACCEPT,
        rules: Rules = CASE.rules,
        deadline: float = 60.0,
    ) -> Answer:
        return answer(
            self,
            rules,
            rules.rules[0],
            policy,
            deadline=deadline,
            pause=self.pause,
            now=lambda: self.time,
        )


def test_a_press_of_two_keys_at_once_would_take_the_old_selection() -> None:
    dialog = Dialog(replace(BYPASS, burst=True))

    dialog.receive(["Down", "Enter"], 0.0)

    assert dialog.chosen == 0


def test_the_cursor_is_moved_and_seen_before_enter() -> None:
    desk = Desk(replace(BYPASS, burst=True))

    said = desk.answer()

    assert (said.done, said.chosen, said.presses) == (True, "Yes, I accept", 2)
    assert desk.pressed == ["Down", "Enter"]
    assert "❯ 1. No, exit" in said.before.text
    assert "took 1" in said.after.text


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        (lambda seen: replace(seen, attached=1), "a person is attached"),
        (lambda seen: replace(seen, scrolled=True), "scrolled back"),
        (lambda seen: replace(seen, alive=False), "its program has ended"),
        (lambda seen: Screen.of("$ "), "not on the screen"),
        (lambda seen: Screen((*seen.rows, "─" * 20, "❯\N{NO-BREAK SPACE}", "─" * 20)), "input box"),
        (lambda seen: Screen(tuple(row.replace("❯", " ") for row in seen.rows)), "no options"),
        (lambda seen: Screen(tuple(row.replace("Yes", "Oh") for row in seen.rows)), '"No, exit"'),
    ],
)
def test_nothing_is_pressed(change: Callable[[Screen], Screen], evidence: str) -> None:
    desk = Desk(BYPASS, change)

    said = desk.answer()

    assert (said.done, said.presses, desk.pressed) == (False, 0, [])
    assert evidence in said.evidence


def test_to_ask_is_to_press_nothing() -> None:
    desk = Desk(BYPASS)

    assert not desk.answer(Policy.ASK).done
    assert not desk.answer(Policy.DENY).done  # the rule does not say how
    assert desk.pressed == []


def test_a_person_who_comes_meanwhile_ends_it() -> None:
    desk = Desk(BYPASS)
    desk.change = lambda seen: replace(seen, attached=len(desk.pressed))

    said = desk.answer()

    assert (said.done, desk.pressed) == (False, ["Down"])


def test_an_enter_that_was_lost_is_given_again_after_a_move_was_seen() -> None:
    desk = Desk(replace(BYPASS, swallow=1, next=True))

    said = desk.answer()

    assert said.done
    assert desk.pressed == ["Down", "Enter", "Up", "Down", "Enter"]
    assert desk.dialog.stray == []


def test_an_enter_that_is_late_does_not_fall_into_the_next_dialog() -> None:
    desk = Desk(replace(BYPASS, default=1, slow=2.5, next=True))

    said = desk.answer()

    assert said.done
    assert desk.pressed.count("Enter") == 1


def test_a_program_that_reads_no_key_for_long_gets_one_enter() -> None:
    desk = Desk(replace(BYPASS, default=1, slow=6.0, next=True))

    said = desk.answer()

    assert said.done
    assert desk.pressed.count("Enter") == 1


def test_a_menu_quoted_above_a_dialog_without_cursor_is_not_taken_for_its_own() -> None:
    quoted = ("● It said:", "  ❯ 1. Yes, I accept", "    2. No, exit", "")
    desk = Desk(Spec(("Leave", "I agree"), glyph=" ", numbers="", above=quoted))

    said = desk.answer()

    assert (said.done, desk.pressed) == (False, [])


def test_an_enter_that_is_always_lost_is_given_three_times() -> None:
    desk = Desk(replace(BYPASS, swallow=99))

    said = desk.answer()

    assert not said.done
    assert desk.pressed.count("Enter") == 3


def test_keys_that_are_drawn_late_are_waited_for() -> None:
    desk = Desk(Spec(("No", "Yes, I accept", "Quit"), lag=1.9))

    said = desk.answer()

    assert said.done
    assert desk.dialog.chosen == 1


@pytest.mark.parametrize("digits", ["move", "choose"])
def test_where_arrows_do_nothing_the_digit_is_pressed(digits: str) -> None:
    desk = Desk(replace(BYPASS, arrows=False, digits=digits))

    said = desk.answer()

    assert (said.done, said.chosen) == (True, "Yes, I accept")
    assert desk.pressed[:3] == ["Down", "Down", "2"]
    assert desk.dialog.chosen == 1


def test_where_nothing_moves_the_cursor_enter_is_never_pressed() -> None:
    desk = Desk(replace(BYPASS, arrows=False))

    said = desk.answer()

    assert not said.done
    assert desk.pressed == ["Down", "Down", "2"]


def test_a_dialog_that_acts_on_an_arrow_is_told_of() -> None:
    desk = Desk(replace(BYPASS, acts_on_arrow=True))

    said = desk.answer()

    assert (said.done, said.chosen, desk.pressed) == (False, "", ["Down"])
    assert "went away when the cursor was moved" in said.evidence


def test_time_that_is_over_ends_it() -> None:
    desk = Desk(replace(BYPASS, deaf=1000.0))

    said = desk.answer(deadline=1.0)

    assert not said.done
    assert "Enter" not in desk.pressed


NOTES = Rules(
    rules=(
        Rule(
            "notes",
            Kind.DIALOG,
            Region.SCREEN,
            match=(re.compile("Quick check"),),
            accept=re.compile("Yes"),
            keys=("Enter",),
        ),
    )
)


def test_the_keys_of_a_rule_are_for_a_dialog_without_options() -> None:
    desk = Desk(replace(BYPASS, glyph=" ", labels=("Press Enter to continue",), numbers=""))

    said = desk.answer(rules=NOTES)

    assert (said.done, said.chosen, desk.pressed) == (True, "", ["Enter"])


def test_the_keys_of_a_rule_are_not_pressed_where_options_are_read() -> None:
    desk = Desk(Spec(("Leave", "Stay")))

    said = desk.answer(rules=NOTES)

    assert (said.done, desk.pressed) == (False, [])


def test_keys_are_not_a_way_to_refuse() -> None:
    desk = Desk(replace(BYPASS, glyph=" "))

    assert not desk.answer(Policy.DENY, rules=NOTES).done
    assert desk.pressed == []
