"""Whatever a text holds, tmux reads it as one word, and metadata comes back as it was."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gascity.session.tmux import meta
from gascity.session.tmux.wire import Block, command, quote
from gascity_tmux.connection import Connection
from gascity_tmux.wire import Notice, Parser

LIMIT = 60.0

# Texts, and bytes that are no text, as they come out of the environment.
WORDS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1),
    st.text("\"'\\$~;{}#%-= \t\n\r\x1b*?@,x1", min_size=1),
    st.binary(min_size=1).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"0"))),
)


@given(WORDS)
def test_a_quoted_word_is_one_line(word: str) -> None:
    quoted = quote(word)

    assert not set("\r\n\0") & set(quoted)
    assert quoted == word or (quoted[0], quoted[-1]) == ('"', '"')


@given(st.text() | WORDS)
def test_metadata_is_stored_as_plain_ascii_and_comes_back(value: str) -> None:
    if any(0xD800 <= ord(char) < 0xDC80 or 0xDCFF < ord(char) < 0xE000 for char in value):
        return  # half of a character, which no file and no environment holds
    stored = meta.encode(value)

    assert stored.isascii()
    assert stored == "" or stored.isprintable()
    assert meta.decode(stored.encode()) == value


LINES = st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b" ")), max_size=5)


@given(st.lists(LINES, max_size=4), st.lists(st.integers(1, 30), max_size=30))
def test_blocks_are_read_whichever_way_they_are_cut(
    blocks: list[list[bytes]], at: list[int]
) -> None:
    data = b"".join(
        b"".join(
            [b"%%begin 1 %d 1\n" % n, *(line + b"\n" for line in lines), b"%%end 1 %d 1\n" % n]
        )
        + b"%sessions-changed\n"
        for n, lines in enumerate(blocks)
        if not any(line.startswith((b"%end 1 ", b"%error 1 ")) for line in lines)
    )
    whole = list(Parser().feed(data))
    parser, rest, found = Parser(), data, list[Block | Notice]()
    for size in at:
        found += parser.feed(rest[:size])
        rest = rest[size:]
    found += parser.feed(rest)

    assert found == whole
    assert [one.lines for one in found if isinstance(one, Block)] == [
        tuple(lines)
        for lines in blocks
        if not any(line.startswith((b"%end 1 ", b"%error 1 ")) for line in lines)
    ]


# --- and tmux itself


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    path = Path("/tmp") / f"gc-wire-{secrets.token_hex(6)}"
    words = ["tmux", "-u", "-f", "/dev/null", "-S", str(path), "-C", "new-session", "cat"]
    made = Connection(words, {"PATH": os.environ["PATH"]}, lambda _: None)
    try:
        (said,) = made.ask("display-message -p '#{pid}'", deadline=time.monotonic() + LIMIT)
        yield made
        os.kill(int(said.text), signal.SIGKILL)
    finally:
        made.close()
        made.ended.wait(LIMIT)
        path.unlink(missing_ok=True)


@pytest.mark.tmux
@given(word=WORDS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tmux_reads_back_the_word_that_was_quoted(
    connection: Connection, tmp_path_factory: pytest.TempPathFactory, word: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "buffer"
    lines = [
        command("set-buffer", "-b", "word", "--", word),
        command("save-buffer", "-b", "word", str(path)),
    ]

    answered = connection.ask(*lines, deadline=time.monotonic() + LIMIT)

    assert [block.ok for block in answered] == [True, True]
    assert path.read_bytes() == os.fsencode(word)
