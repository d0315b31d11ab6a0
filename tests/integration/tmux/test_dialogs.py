"""Dialogs of real programs in real terminals are answered by label, or left alone."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import LIMIT, City
from tests.zoo.dialog_cases import Case
from tests.zoo.dialogs import Spec

from gascity.screens.reading import Policy
from gascity.session.dialogs import Answer, answer
from gascity.session.terminal import Terminal
from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux

ROOT = str(Path(__file__).parents[3])
BYPASS = Spec(("No, exit", "Yes, I accept"))
ACCEPT = re.compile("Yes, I accept")
LONG = "Yes, I accept all that is said above, for this folder and for every folder in it"


class Asked:
    """A program with a dialog in a session, and what it wrote down."""

    def __init__(self, city: City, spec: Spec, width: int = 120) -> None:
        self.city = city
        self.provider = city.provider({"width": width, "height": 40})
        self.log = city.work / "zoo.log"
        command = shlex.join([sys.executable, "-S", "-m", "tests.zoo.dialogs", spec.json()])
        env = {"PYTHONPATH": ROOT, "ZOO_LOG": str(self.log), "LANG": "C.UTF-8"}
        env["ZOO_GO"] = str(city.work / "go")
        self.provider.start("a", city.config(f"exec {command}", env=env), timeout=LIMIT)
        self.spec = spec
        self.until("Quick check" if not spec.box else "❯\N{NO-BREAK SPACE}")  # noqa: RUF001 - a box

    @property
    def terminal(self) -> Terminal:
        found = self.provider.terminal("a")
        assert found is not None
        return found

    def until(self, text: str) -> None:
        eventually(lambda: text in self.terminal.look(timeout=LIMIT).text, within=LIMIT)

    def answer(self, policy: Policy = Policy.ACCEPT, pattern: re.Pattern[str] = ACCEPT) -> Answer:
        case = Case(self.spec, 0, policy, pattern, 0)
        deadline = time.monotonic() + 60.0
        return answer(self.terminal, case.rules, case.rule, policy, deadline=deadline)

    def logged(self, event: str) -> list[str]:
        lines = map(json.loads, self.log.read_text("utf-8").splitlines())
        return [line["text"] for line in lines if line["event"] == event]


@pytest.mark.parametrize(
    ("spec", "width", "wanted"),
    [
        pytest.param(BYPASS, 120, 1, id="the default is to leave"),
        pytest.param(Spec(("Yes, I accept", "No, exit"), default=1), 80, 0, id="another order"),
        pytest.param(
            Spec(("Ask later", LONG, "No, exit"), default=2, start=3, numbers="({})", glyph="●"),
            40,
            1,
            id="wrapped and renumbered",
        ),
        pytest.param(replace(BYPASS, labels=("No, exit", LONG), wrap="hard"), 40, 1, id="cut"),
        pytest.param(replace(BYPASS, numbers="", gap=True, glyph="›"), 80, 1, id="no numbers"),  # noqa: RUF001 - a glyph
        pytest.param(replace(BYPASS, burst=True, lag=0.3), 80, 1, id="acts on the old selection"),
        pytest.param(replace(BYPASS, burst=True, slow=0.4), 80, 1, id="slow"),
        pytest.param(replace(BYPASS, swallow=1, next=True), 80, 1, id="swallows an Enter"),
        pytest.param(replace(BYPASS, arrows=False, digits="choose"), 80, 1, id="a digit chooses"),
        pytest.param(replace(BYPASS, arrows=False, digits="move"), 80, 1, id="a digit moves"),
        pytest.param(replace(BYPASS, alternate=True, frame="│"), 80, 1, id="alternate screen"),
        pytest.param(
            Spec(("いいえ、終了します", "👉 Yes, I accept 👍", "後で"), frame="┃", default=2),
            40,
            1,
            id="wide characters",
        ),
        pytest.param(
            replace(BYPASS, above=("● It said:", "  ❯ 1. Yes, I accept", "    2. No, exit", "")),  # noqa: RUF001 - a quote
            80,
            1,
            id="output above quotes a dialog",
        ),
    ],
)
def test_the_wanted_option_is_taken(city: City, spec: Spec, width: int, wanted: int) -> None:
    asked = Asked(city, spec, width)

    said = asked.answer()

    assert said.done, said
    assert "Yes, I accept" in said.chosen
    assert asked.logged("chosen") == [str(wanted)]
    assert not [key for key in asked.logged("stray") if "Enter" in key]


def test_a_dialog_can_be_refused(city: City) -> None:
    asked = Asked(city, replace(BYPASS, default=1))

    said = asked.answer(Policy.DENY, re.compile("^No"))

    assert said.done
    assert asked.logged("chosen") == ["0"]


def test_nothing_is_pressed_before_the_dialog_took_the_place_of_the_input_box(city: City) -> None:
    asked = Asked(city, replace(BYPASS, box=1000.0))

    early = asked.answer()
    (city.work / "go").touch()
    asked.until("Quick check")
    late = asked.answer()

    assert (early.done, early.presses) == (False, 0)
    assert late.done
    assert asked.logged("chosen") == ["1"]


def test_output_that_quotes_a_dialog_over_an_input_box_is_left_alone(city: City) -> None:
    quoted = ("● Quick check", "  ❯ 1. Yes, I accept", "    2. No, exit", "")  # noqa: RUF001 - a quote
    asked = Asked(city, replace(BYPASS, box=1000.0, above=quoted))

    said = asked.answer()

    assert (said.done, said.presses) == (False, 0)
    assert asked.logged("keys") == []


def test_nothing_is_pressed_while_a_person_is_attached(city: City) -> None:
    asked = Asked(city, BYPASS)
    city.attach("a")
    eventually(lambda: asked.terminal.look(timeout=LIMIT).attached == 1, within=LIMIT)

    said = asked.answer()

    assert (said.done, said.presses, said.evidence) == (False, 0, "a person is attached")
    assert asked.logged("chosen") == []


def test_nothing_is_pressed_while_somebody_scrolled_back(city: City) -> None:
    asked = Asked(city, BYPASS)
    city.tmux("copy-mode", "-t", "=a:")
    eventually(lambda: asked.terminal.look(timeout=LIMIT).scrolled, within=LIMIT)

    said = asked.answer()

    assert (said.done, said.presses) == (False, 0)
    assert asked.logged("keys") == []


def test_two_that_match_are_left_alone(city: City) -> None:
    asked = Asked(city, Spec(("Yes, I accept", "No, exit", "Yes, I accept for ever")))

    said = asked.answer()

    assert (said.done, said.presses) == (False, 0)
    assert "Yes, I accept for ever" in said.evidence
    assert asked.logged("keys") == []
