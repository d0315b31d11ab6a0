"""Screens that were changed in ways that must not matter."""

from __future__ import annotations

import functools
import textwrap
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.screens.gallery import BACKENDS, NOW, cases, ready

from gascity.config.screens import shipped
from gascity.screens.classify import classify
from gascity.screens.reading import Kind
from gascity.screens.rules import NO_RULES
from gascity.screens.screen import Screen

ALL = cases()
HEIGHT = 40
REPLIES = {  # how a reply begins, and how its other rows do
    "claude": ("● ", "  "),
    "codex": ("• ", "  "),
    "copilot": (" ● ", "   "),
    "demo": ('● You said: "', "  "),
    "gemini": ("✦ ", "  "),
    "opencode": ("     ", "     "),
}
MESSAGES = {  # how a message of a person stands in the transcript
    "claude": ("❯ ", "  "),  # noqa: RUF001  its own mark
    "codex": ("› ", "  "),  # noqa: RUF001  its own mark
    "copilot": (" ❯ ", "   "),  # noqa: RUF001  its own mark
    "demo": ("> ", "  "),
    "gemini": (" > ", "   "),
    "opencode": ("  ┃  ", "  ┃  "),
}


@functools.cache
def box_of(backend: str) -> str:
    """Return the lower end of a ready screen, from the line above the input box."""
    rows = ready(backend).rows
    first = {
        "claude": "────",
        "codex": "› Ask",  # noqa: RUF001  its own mark
        "copilot": " /home",
        "demo": ">",
        "gemini": "────",
        "opencode": "",
    }[backend]
    if backend == "opencode":
        return "  ┃\n  ┃\n  ┃\n  ┃  Build · A Model\n  ╹▀▀▀▀▀▀▀▀\n   ctrl+p commands"
    at = next(number for number, row in enumerate(rows) if row.startswith(first))
    return "\n".join(rows[at:])


def quoted(text: str, begin: str, indent: str) -> str:
    rows = text.strip("\n").split("\n")
    return "\n".join([begin + rows[0], *(indent + row for row in rows[1:])])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_reply_that_quotes_any_screen_is_only_a_reply(backend: str) -> None:
    rules = shipped(backend) or NO_RULES
    begin, indent = REPLIES[backend]

    for case in ALL:
        text = f"{quoted(case.text, begin, indent)}\n\n{box_of(backend)}"
        for shown in (text, "\n".join(text.split("\n")[-HEIGHT:])):
            seen = classify(Screen.of(shown), rules, NOW)
            assert (seen.kind, seen.draft) == (Kind.READY, ""), case.file


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_message_that_quotes_any_screen_is_only_a_message(backend: str) -> None:
    rules = shipped(backend) or NO_RULES
    begin, indent = MESSAGES[backend]
    reply = REPLIES[backend][0] + "Thank you."

    for case in ALL:
        text = f"{quoted(case.text, begin, indent)}\n\n{reply}\n\n{box_of(backend)}"
        for shown in (text, "\n".join(text.split("\n")[-HEIGHT:])):
            seen = classify(Screen.of(shown), rules, NOW)
            assert (seen.kind, seen.draft) == (Kind.READY, ""), case.file


def test_empty_rows_at_the_end_do_not_matter() -> None:
    for case in ALL:
        taller = Screen.of(case.text + "\n" * 30, case.title)

        assert classify(taller, case.rules, NOW) == classify(case.screen, case.rules, NOW)


def test_a_prompt_may_have_a_blank_or_a_no_break_space() -> None:
    for case in (case for case in ALL if case.backend == "claude"):
        plain = Screen.of(case.text.replace("\N{NO-BREAK SPACE}", " "), case.title)
        seen, before = (classify(s, case.rules, NOW) for s in (plain, case.screen))

        assert (seen.kind, seen.rule, seen.has_box) == (before.kind, before.rule, before.has_box)


@pytest.mark.parametrize("width", [40, 50, 60, 80])
def test_a_narrow_terminal_does_not_hide_a_dialog(width: int) -> None:
    asking = [
        case
        for case in ALL
        if case.kind in {"dialog", "waiting"}
        and case.backend in {"claude", "codex", "demo"}  # those of the others have frames
        and case.rule != "title-asks"
    ]

    for case in asking:
        narrow = Screen.of(narrowed(case.text, width), case.title)
        seen = classify(narrow, case.rules, NOW)
        assert (str(seen.kind), seen.rule) == (case.kind, case.rule), case.file


def narrowed(text: str, width: int) -> str:
    rows: list[str] = []
    for row in text.split("\n"):
        indent = row[: len(row) - len(row.lstrip())]
        if len(row) <= width or not row.strip() or set(row) == {"─"}:
            rows.append(row[:width])
        else:
            rows += textwrap.wrap(
                row.strip(), width, initial_indent=indent, subsequent_indent=indent
            )
    return "\n".join(rows)


def test_a_program_that_ended_is_not_read() -> None:
    for case in ALL:
        seen = classify(replace(case.screen, alive=False), case.rules, NOW)

        assert seen.kind is None
        assert not seen.has_box


ROWS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.sampled_from([row for case in ALL[::7] for row in case.screen.rows]),
    ),
    max_size=30,
)


@given(ROWS, st.text(max_size=10))
def test_any_screen_can_be_read(rows: list[str], title: str) -> None:
    for backend in BACKENDS:
        seen = classify(Screen.of("\n".join(rows), title), shipped(backend) or NO_RULES, NOW)

        assert seen.has_box or not seen.draft
        assert seen.kind is not Kind.DIALOG or not seen.has_box
