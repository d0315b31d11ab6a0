"""The right option is chosen, or none: whatever a dialog looks like and does to keys."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

import pytest
from tests.zoo.dialog_cases import Case, make_case
from tests.zoo.dialogs import Dialog
from tests.zoo.kit import wrapped

from gascity.screens.screen import Screen
from gascity.session.dialogs import Answer, answer

TIMES = 500
PARTS = 4
SEED = int(os.environ.get("DIALOG_SEED", "20261120"))
HEIGHT = 40


class Model:
    """A terminal with a dialog in it, on a clock of its own."""

    def __init__(self, case: Case, chance: random.Random) -> None:
        self.dialog = Dialog(case.spec)
        self.time = 0.0
        self._columns = case.columns
        self._chance = chance

    def look(self, *, timeout: float) -> Screen:
        self.time += self._chance.uniform(0.002, 0.03)
        self.dialog.advance(self.time)
        rows = self.dialog.rows(self._columns, self.time)
        drawn = [part.rstrip() for row in rows for part in wrapped(row, self._columns)]
        return Screen.of("\n".join(drawn[-HEIGHT:]))

    def press(self, keys: Sequence[str], *, timeout: float) -> None:
        self.time += 0.005
        self.dialog.receive(list(keys), self.time)

    def paste(self, text: str, *, timeout: float) -> None:
        raise AssertionError("nothing is pasted into a dialog")

    def wake(self, *, timeout: float) -> None:
        raise AssertionError("a dialog is not woken")

    def pause(self, seconds: float) -> None:
        self.time += seconds

    def now(self) -> float:
        return self.time


def run(case: Case, chance: random.Random) -> tuple[Model, Answer]:
    model = Model(case, chance)
    said = answer(
        model, case.rules, case.rule, case.policy, deadline=60.0, pause=model.pause, now=model.now
    )
    model.dialog.advance(model.time + 10.0)  # what was pressed, is acted on in the end
    return model, said


@pytest.mark.parametrize("part", range(PARTS))
def test_the_right_option_is_chosen_or_nothing(part: int) -> None:
    clear = right = 0
    for number in range(part, TIMES, PARTS):
        seed = SEED * 1000 + number
        chance = random.Random(seed)
        case = make_case(chance)
        model, said = run(case, chance)
        chosen = model.dialog.chosen
        told = f"seed {seed}: {said.evidence}\n{said.before.text}\n{case}"

        assert chosen in (None, case.wanted), f"the wrong one: {told}"
        assert chosen == case.wanted or not said.done, f"said done, but is not: {told}"
        assert not set(model.dialog.stray) - {"Up", "Down"}, f"a key too many: {told}"
        clear += case.is_clear
        right += case.is_clear and said.done

    assert clear >= 0.8 * TIMES / PARTS
    assert right >= 0.95 * clear, f"only {right} of {clear} were chosen"
