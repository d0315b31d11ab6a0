"""What comes back over a control connection."""

from __future__ import annotations

from gascity.session.tmux.wire import Block
from gascity_tmux.wire import Notice, Parser


def test_an_answer_is_a_block() -> None:
    found = list(Parser().feed(b"%begin 1 2 1\na\n\nb\n%end 1 2 1\n"))

    assert found == [Block(ok=True, lines=(b"a", b"", b"b"))]


def test_a_refusal_is_a_block_that_is_not_ok() -> None:
    (found,) = Parser().feed(b"%begin 1 2 1\nno such thing\n%error 1 2 1\n")

    assert found == Block(ok=False, lines=(b"no such thing",))
    assert isinstance(found, Block)
    assert found.text == "no such thing"


def test_an_answer_that_looks_like_the_protocol_is_an_answer() -> None:
    lines = (b"%begin 9 9 1", b"%end 1 3 1", b"%exit", b"%output %1 x")

    (found,) = Parser().feed(b"%begin 1 2 1\n" + b"\n".join(lines) + b"\n%end 1 2 1\n")

    assert found == Block(ok=True, lines=lines)


def test_blocks_of_commands_that_others_sent_are_left_out() -> None:
    found = list(Parser().feed(b"%begin 1 2 0\nx\n%end 1 2 0\n%begin 1 3 1\n%end 1 3 1\n"))

    assert found == [Block(ok=True, lines=())]


def test_a_notice_has_a_kind_and_what_belongs_to_it() -> None:
    found = list(Parser().feed(b"%session-renamed $1 a b\n%exit\n"))

    assert found == [Notice("session-renamed", "$1 a b"), Notice("exit", "")]


def test_what_is_said_beside_the_protocol_has_no_kind() -> None:
    assert list(Parser().feed(b"no server running\n")) == [Notice("", "no server running")]


def test_a_line_is_read_when_it_is_whole() -> None:
    parser = Parser()

    assert list(parser.feed(b"%ex")) == []
    assert list(parser.feed(b"it\n")) == [Notice("exit", "")]
