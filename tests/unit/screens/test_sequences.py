"""What a terminal obeys, and what it shows."""

from __future__ import annotations

import pytest

from gascity.screens.sequences import without_sequences


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[38:2::1:2:3mred\x1b[m", "red"),
        ("\x1b[2J\x1b[Hgone\x1b[?25l", "gone"),
        ("\x9b31mred", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("\x1b(Btext\x1b7\x1b8\x1b=", "text"),
        ("a\x1b[K\r\nb", "a\r\nb"),
    ],
)
def test_a_sequence_is_removed_as_a_whole(text: str, left: str) -> None:
    assert without_sequences(text) == left


@pytest.mark.parametrize("text", ["[31m", "\x1b[31", "\x1b]0;a title\nno title", "\x1b", "\x07"])
def test_what_is_no_sequence_stays(text: str) -> None:
    assert without_sequences(text) == text
