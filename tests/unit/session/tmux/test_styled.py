"""Telling what a person typed from what a program hints at."""

from __future__ import annotations

import pytest

from gascity.session.tmux.styled import read_rows


def read(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return read_rows(text.encode().split(b"\n"))


def test_plain_rows_are_typed() -> None:
    assert read("a row\nanother  ") == (("a row", "another"), ("a row", "another"))


def test_empty_rows_at_the_end_are_left_out() -> None:
    assert read("a\n\n \n") == (("a",), ("a",))


@pytest.mark.parametrize("faint", ["\x1b[2m", "\x1b[02m", "\x1b[1;2m", "\x1b[38;5;8;2m"])
@pytest.mark.parametrize("end", ["\x1b[0m", "\x1b[m", "\x1b[22m", ""])
def test_what_is_faint_is_not_typed(faint: str, end: str) -> None:
    rows, typed = read(f"> {faint}Try this{end}")

    assert rows == ("> Try this",)
    assert typed == (">",)


def test_a_style_lasts_over_the_end_of_a_row() -> None:
    _, typed = read("\x1b[2mone\ntwo\x1b[0m three")

    assert typed == ("", "    three")


def test_a_drawn_cursor_on_a_hint_is_part_of_the_hint() -> None:
    _, typed = read("> \x1b[7mT\x1b[0;2mry this\x1b[0m")

    assert typed == (">",)


def test_a_drawn_cursor_on_a_draft_is_part_of_the_draft() -> None:
    _, typed = read("> half a dra\x1b[7mf\x1b[0mt")

    assert typed == ("> half a draft",)


@pytest.mark.parametrize("colour", ["\x1b[38;5;2m", "\x1b[38;2;2;2;2m", "\x1b[48;5;2m", "\x1b[32m"])
def test_the_numbers_of_a_colour_are_no_style(colour: str) -> None:
    _, typed = read(f"{colour}text")

    assert typed == ("text",)


def test_links_and_other_sequences_leave_no_trace() -> None:
    rows, _ = read("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b[K\x0eqq\x0f end")

    assert rows == ("link qq end",)
