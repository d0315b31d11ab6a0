"""Finding the input box, and what stands in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from gascity.screens.box import find_box
from gascity.screens.rules import Box, rules_for_prompt
from gascity.screens.screen import Screen

LINE = "─" * 20
FRAMED = Box(
    first=re.compile(r": ?(?P<text>.*)$"),
    next=re.compile(r"(?:  (?P<text>.*))?$"),
    above=re.compile("^─{8,}"),
    below=re.compile("^─{8,}"),
    unless=re.compile("gone"),
    beneath=3,
    empty=(re.compile("^Try "),),
)
OPEN = Box(
    first=re.compile(r"> ?(?P<text>.*)$"),
    next=re.compile(r"(?:  (?P<text>.*))?$"),
    footer=True,
    beneath=2,
)
BLOCK = Box(
    first=re.compile(r"┃(?:  (?P<text>.*))?$"), below=re.compile("^╹"), block=True, inside=2
)


def screen(*rows: str) -> Screen:
    return Screen(tuple(rows))


def test_without_a_description_there_is_no_box() -> None:
    assert find_box(screen("> "), None) is None


def test_the_text_between_the_lines_is_the_draft() -> None:
    found = find_box(screen("hello", LINE, ": one", "  two", "", "  three", LINE, "foot"), FRAMED)

    assert found is not None
    assert (found.begin, found.end) == (2, 6)
    assert (found.text, found.is_empty) == ("one\ntwo\n\nthree", False)


def test_the_lowest_box_counts() -> None:
    found = find_box(screen(LINE, ": old", LINE, "", LINE, ": new", LINE), FRAMED)

    assert found is not None
    assert found.text == "new"


@pytest.mark.parametrize(
    "rows",
    [
        (": text", LINE),  # nothing above
        ("said", ": text", LINE),  # something else above
        (LINE, ": text"),  # nothing below
        (LINE, ": text", "said"),  # something else below
        (LINE, ": text", LINE, "1", "2", "3"),  # too much beneath
        (LINE, ": text", LINE, "it is gone"),  # what must not be beneath
        (LINE, "  : text", LINE),  # not in its column
    ],
)
def test_what_stands_elsewhere_is_no_box(rows: tuple[str, ...]) -> None:
    assert find_box(screen(*rows), FRAMED) is None


def test_a_hint_is_no_draft() -> None:
    found = find_box(screen(LINE, ": Try to be kind", LINE), FRAMED)

    assert found is not None
    assert found.is_empty


def test_what_is_written_faint_is_no_draft() -> None:
    shown = screen(LINE, ": run the tests", LINE)
    typed = replace(shown, typed=(LINE, ":", LINE))

    found, real = find_box(typed, FRAMED), find_box(replace(shown, typed=shown.rows), FRAMED)

    assert found is not None
    assert real is not None
    assert (found.is_empty, real.is_empty) == (True, False)


def test_a_draft_counts_where_even_the_prompt_is_written_faint() -> None:
    shown = replace(screen(LINE, ": run the tests", LINE), typed=(LINE, "", LINE))

    found = find_box(shown, FRAMED)

    assert found is not None
    assert not found.is_empty


def test_a_no_break_space_is_no_draft() -> None:
    found = find_box(screen(LINE, ":\N{NO-BREAK SPACE}", LINE), FRAMED)

    assert found is not None
    assert found.is_empty


def test_the_last_paragraph_is_not_part_of_a_box_with_a_footer() -> None:
    found = find_box(screen("> one", "  two", "", "  foot", "  more"), OPEN)

    assert found is not None
    assert (found.text, found.end) == ("one\ntwo", 2)


def test_without_a_footer_on_the_screen_a_box_still_shows() -> None:
    found = find_box(screen("> one"), OPEN)

    assert found is not None
    assert found.text == "one"


def test_every_row_of_a_block_looks_like_its_first() -> None:
    found = find_box(
        screen("┃  said", "", "┃", "┃  one", "┃  two", "┃", "┃  A Model", "╹▀▀▀"), BLOCK
    )

    assert found is not None
    assert (found.begin, found.end) == (2, 7)
    assert found.text == "one\ntwo"


@pytest.mark.parametrize("row", ["> ", ">", " > hi", ">\N{NO-BREAK SPACE}hi", "> hi"])
def test_a_prompt_alone_tells_a_box_on_the_last_row(row: str) -> None:
    rules = rules_for_prompt("> ")

    assert find_box(screen("welcome", row.rstrip(" ")), rules.box) is not None
    assert find_box(screen("welcome to you"), rules.box) is None
