"""A message as it may be typed: nothing in it acts, whatever it is, and that is told at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.unit.screens.gallery import BACKENDS

from gascity.config.screens import shipped
from gascity.screens.rules import Rules
from gascity.session.text import message, spoken

REAL = [backend for backend in BACKENDS if backend != "demo"]
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"  # a blank for the programs written in JavaScript
LONG = ["'@' * 200_000 + ' x'", "'a@' * 100_000 + ' x'", "' ' * 200_000 + 'x'", "'\\\\' * 200_000"]


def said(backend: str, text: str) -> str:
    return spoken(text, (shipped(backend) or Rules()).talk)


@pytest.mark.parametrize("backend", REAL)
@pytest.mark.parametrize("before", ["", " ", "\n", BYTE_ORDER_MARK, f" {BYTE_ORDER_MARK} "])
@pytest.mark.parametrize("command", ["!ls", "/clear", "exit"])
def test_a_command_is_made_harmless_whatever_blanks_stand_before_it(
    backend: str, before: str, command: str
) -> None:
    assert said(backend, before + command).startswith("[nudge] ")


@pytest.mark.parametrize("backend", REAL)
@pytest.mark.parametrize("text", ["see @", "see @docs", "@"])
def test_a_name_at_the_end_is_closed(backend: str, text: str) -> None:
    assert said(backend, text) == f"{text} "


def test_what_would_act_in_a_terminal_is_left_out() -> None:
    assert message("a\x1b[201~\rb\x9bc\td\r\ne\n\n") == "a[201~bc\td\ne"


@pytest.mark.parametrize("text", LONG)
def test_no_text_takes_minutes_to_look_through(text: str) -> None:
    """In a process of its own: a pattern that does not come back could not be interrupted."""
    code = (
        "from gascity.config.screens import shipped\n"
        "from gascity.session.text import spoken\n"
        f"for backend in {REAL}: spoken({text}, shipped(backend).talk)\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
