"""Commands as lines of text that tmux's parser reads as they were meant."""

from __future__ import annotations

import pytest

from gascity.session.tmux.wire import command, quote


@pytest.mark.parametrize(
    "word", ["a", "set-option", "-t", "$1"[1:], "a=b", "/tmp/x", "@x", "a:0.1"]
)
def test_a_plain_word_stays_as_it_is(word: str) -> None:
    assert quote(word) == word


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("", '""'),
        (";", '";"'),
        ("a b", '"a b"'),
        ("=a:", '"=a:"'),
        ("%if", '"%if"'),
        ("~", '"\\~"'),
        ("$HOME", '"\\$HOME"'),
        ('"', '"\\""'),
        ("\\", '"\\\\"'),
        ("a\nb\r", '"a\\012b\\015"'),
        ("\x1b\x7f", '"\\033\\177"'),
        ("{", '"{"'),
        ("#{pid}", '"#{pid}"'),
        ("é☃", '"é☃"'),
        ("\udcff", '"\\377"'),
    ],
)
def test_what_the_parser_would_take_for_something_else_is_quoted(word: str, quoted: str) -> None:
    assert quote(word) == quoted


def test_a_command_is_its_words_with_blanks_between() -> None:
    assert command("resize", "-x", 80, "a b") == 'resize -x 80 "a b"'
