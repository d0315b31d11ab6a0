"""Listening to files that grow: all of them, in whole lines, nothing twice and nothing lost."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.oneshot import Format
from gascity.worktrees.listening import LONGEST, ROUND, Heard, Listener, Source
from gascity.worktrees.loglines import LogLine

RECORDED = Path(__file__).parents[1] / "runs" / "streams"
AGENTS = (Format.CLAUDE, Format.CODEX, Format.GEMINI)


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.close()


@pytest.fixture
def said(tmp_path: Path) -> Path:
    return tmp_path / "agent-stdout.txt"


def source(path: Path, agent: str = "a", form: Format = Format.TEXT) -> Source:
    return Source(agent, "stdout", str(path), form)


def add(path: Path, *printed: object) -> None:
    """Print bytes as they are, and anything else as a line of JSON."""
    with path.open("ab") as file:
        for one in printed:
            file.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")


def lines(heard: Iterator[Heard]) -> list[tuple[str, str]]:
    return [(one.line.level, one.line.message) for one in heard]


def raw(heard: Iterator[Heard]) -> bytes:
    return b"".join(one.raw for one in heard)


def claude(text: str, of: str = "m") -> dict[str, object]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"id": of, "content": content}}


def gemini(text: str) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def test_what_was_said_is_heard_with_who_said_it_and_where(listener: Listener, said: Path) -> None:
    add(said, b"[WARN] careful\n")
    listener.add(Source("claude", "stderr", str(said)))

    careful = LogLine("warning", "careful")
    assert list(listener.hear()) == [Heard("claude", "stderr", careful, b"[WARN] careful\n")]


def test_each_line_is_heard_once(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"one\ntwo\n")
    first = lines(listener.hear())
    add(said, b"three\n")

    assert first == [("info", "one"), ("info", "two")]
    assert lines(listener.hear()) == [("info", "three")]
    assert lines(listener.hear()) == []


def test_a_line_is_heard_when_it_is_whole(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"[ERR")
    begun = lines(listener.hear())
    add(said, b"OR] no\n")

    assert begun == []
    assert lines(listener.hear()) == [("error", "no")]


def test_a_last_line_without_an_end_is_heard_at_the_finish(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"one\ntwo")
    assert lines(listener.hear()) == [("info", "one")]

    assert lines(listener.finish("a")) == [("info", "two")]


def test_who_is_finished_is_not_heard_any_more(listener: Listener, said: Path) -> None:
    other = said.with_name("other")
    listener.add(source(said))
    listener.add(source(other, "b"))
    add(said, b"one\n")
    add(other, b"two")

    assert lines(listener.finish("a")) == [("info", "one")]
    add(said, b"late\n")
    assert lines(listener.hear()) == []
    assert lines(listener.finish("a")) == []
    assert lines(listener.finish("b")) == [("info", "two")]


def test_a_finish_hears_all_files_of_an_agent(listener: Listener, tmp_path: Path) -> None:
    for name in ("stdout", "stderr"):
        add(tmp_path / name, name.encode())
        listener.add(Source("a", name, str(tmp_path / name)))

    assert [one.stream for one in listener.finish("a")] == ["stdout", "stderr"]


def test_a_file_that_is_not_there_yet_is_waited_for(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    before = lines(listener.hear())
    add(said, b"late\n")

    assert before == []
    assert lines(listener.hear()) == [("info", "late")]


def test_a_file_that_never_comes_says_nothing(listener: Listener, said: Path) -> None:
    listener.add(source(said))

    assert lines(listener.finish("a")) == []


def test_what_is_no_file_says_nothing_and_keeps_nobody_waiting(
    listener: Listener, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "folder", "loop", "file"):
        listener.add(source(tmp_path / name, name))
    add(tmp_path / "file", b"heard\n")

    assert lines(listener.hear()) == [("info", "heard")]
    assert lines(listener.finish("pipe")) == []


def test_a_file_that_was_emptied_is_read_from_its_beginning(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"a long line\n")
    assert lines(listener.hear()) == [("info", "a long line")]
    said.write_bytes(b"new\n")

    assert lines(listener.hear()) == [("info", "new")]


def test_a_loud_agent_does_not_keep_others_from_being_heard(
    listener: Listener, tmp_path: Path
) -> None:
    add(tmp_path / "loud", b"x\n" * (2 * ROUND))
    add(tmp_path / "calm", b"y" * 99 + b"\n", b"z\n" * ROUND)
    listener.add(source(tmp_path / "loud", "loud"))
    listener.add(source(tmp_path / "calm", "calm"))

    turns = [(who, len(raw(one))) for who, one in groupby(listener.hear(), lambda one: one.agent)]

    assert [who for who, _ in turns[:4]] == ["loud", "calm", "loud", "calm"]
    assert all(size <= ROUND for _, size in turns[:4])


def test_a_look_ends_although_an_agent_goes_on(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"x\n")
    heard = 0
    for _ in listener.hear():
        heard += 1
        add(said, b"more\n")

    assert heard == 1
    assert lines(listener.hear()) == [("info", "more")]


def test_what_was_not_taken_comes_at_the_next_look(listener: Listener, said: Path) -> None:
    listener.add(source(said))
    add(said, b"one\ntwo\nthree\n")
    first = next(listener.hear())

    assert first.line.message == "one"
    assert lines(listener.hear()) == [("info", "two"), ("info", "three")]


def test_an_agent_may_be_finished_in_the_midst_of_a_look(
    listener: Listener, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        add(tmp_path / name, b"one\ntwo\n")
        listener.add(source(tmp_path / name, name))
    looking = listener.hear()
    first = next(looking)

    assert first.agent == "a"
    assert lines(listener.finish("b")) == [("info", "one"), ("info", "two")]
    assert lines(looking) == [("info", "two")]


@pytest.mark.parametrize("form", [*AGENTS, Format.TEXT])
def test_a_very_long_line_comes_in_pieces_between_letters(
    listener: Listener, said: Path, form: Format
) -> None:
    text = "xä".encode() * LONGEST + b"\n"
    add(said, text, b"[INFO] short\n")
    listener.add(source(said, form=form))

    found = list(listener.hear())

    assert raw(iter(found)) == text + b"[INFO] short\n"
    assert all(len(one.raw) <= LONGEST for one in found)
    assert all(one.raw.decode() for one in found)
    assert found[-1].line == LogLine("info", "short")


def test_memory_does_not_grow_with_a_file(listener: Listener, said: Path) -> None:
    add(said, b"x" * (30 * LONGEST), b"\n" + b"word\n" * ROUND)
    listener.add(source(said))
    tracemalloc.start()
    total = sum(len(one.raw) for one in listener.hear())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert total == said.stat().st_size
    assert peak < 12 * LONGEST


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    listener = Listener()
    for name in ("a", "b", "c"):
        add(tmp_path / name, b"x\n")
        listener.add(source(tmp_path / name, name))
    heard = len(list(listener.hear())) + len(list(listener.finish("a")))
    listener.close()
    listener.close()

    assert heard == 3
    assert len(os.listdir("/dev/fd")) == before
    assert lines(listener.hear()) == []


# --- tools with JSON of their own


@pytest.mark.parametrize("form", AGENTS)
def test_what_a_tool_says_is_heard_once_and_the_rest_is_for_debugging(
    listener: Listener, form: Format
) -> None:
    recorded = RECORDED / f"{form}.jsonl"
    listener.add(source(recorded, form=form))
    found = [*listener.hear(), *listener.finish("a")]

    assert "".join(one.line.message for one in found if is_said(one)) == "Hello wörld"
    assert raw(iter(found)) == recorded.read_bytes()


def is_said(heard: Heard) -> bool:
    """Tell whether it is of the agent, and not a complaint that its tool logged."""
    return heard.line.level == "info" and "Reconnecting" not in heard.line.message


def test_each_text_of_a_line_is_heard(listener: Listener, said: Path) -> None:
    content = [{"type": "text", "text": text} for text in ("one", "two")]
    add(said, {"type": "assistant", "message": {"id": "m", "content": content}})
    listener.add(source(said, form=Format.CLAUDE))

    found = list(listener.hear())
    assert lines(iter(found)) == [("info", "one"), ("info", "two")]
    assert raw(iter(found)) == said.read_bytes()


def test_of_a_message_that_grows_only_what_is_new_is_heard(listener: Listener, said: Path) -> None:
    add(said, claude("Hello"), claude("Hello wörld"), claude("Hello wörld"), claude("Bye", "m2"))
    listener.add(source(said, form=Format.CLAUDE))

    told = [text for level, text in lines(listener.hear()) if level == "info"]
    assert told == ["Hello", " wörld", "Bye"]


def test_an_answer_that_was_not_said_before_is_heard(listener: Listener, said: Path) -> None:
    add(said, claude("thinking"), {"type": "result", "result": "done"})
    listener.add(source(said, form=Format.CLAUDE))

    assert lines(listener.hear()) == [("info", "thinking"), ("info", "done")]


def test_an_answer_that_was_said_before_is_not_heard_again(listener: Listener, said: Path) -> None:
    add(said, claude("done\n"), {"type": "result", "result": "done"})
    listener.add(source(said, form=Format.CLAUDE))

    assert [level for level, _ in lines(listener.hear())] == ["info", "debug"]


def test_a_message_in_parts_is_heard_by_its_lines(listener: Listener, said: Path) -> None:
    listener.add(source(said, form=Format.GEMINI))
    add(said, *map(gemini, ("Hel", "lo\nwö", "rld", "\n\nit is", " done")))
    first = lines(listener.hear())
    add(said, {"type": "tool_use", "tool_name": "shell"}, gemini("really"))
    second = lines(listener.hear())

    assert first == [("info", "Hello"), ("info", "wörld\n")]
    assert second[0] == ("info", "it is done")
    assert [level for level, _ in second[1:]] == ["debug"]
    assert lines(listener.finish("a")) == [("info", "really")]


def test_a_message_in_parts_that_never_ends_a_line_is_heard(listener: Listener, said: Path) -> None:
    add(said, *[gemini("x" * 100)] * 2000)
    listener.add(source(said, form=Format.GEMINI))

    found = list(listener.hear())
    assert sum(len(one.line.message) for one in found) > 100_000
    assert all(len(one.raw) < ROUND for one in found)


def test_a_log_line_of_a_tool_is_one(listener: Listener, said: Path) -> None:
    add(said, b"[ERROR] no network\n", {"level": "warn", "message": "slow"}, b"Loading\n", b"{\n")
    listener.add(source(said, form=Format.CODEX))

    assert lines(listener.hear()) == [
        ("error", "no network"),
        ("warning", "slow"),
        ("debug", "Loading"),
        ("debug", "{"),
    ]


def test_half_a_character_that_a_tool_says_is_written_out(listener: Listener, said: Path) -> None:
    add(said, claude("a\ud800b"))
    listener.add(source(said, form=Format.CLAUDE))

    assert lines(listener.hear()) == [("info", "a\\ud800b")]


# --- any bytes at all

PRINTED = st.one_of(
    st.binary(max_size=40).map(lambda some: some.replace(b"1", b"\n")),
    st.sampled_from(
        [
            json.dumps(event).encode() + b"\n"
            for event in (claude("a"), claude("a\nb"), gemini("a"), gemini("b\n"))
        ]
    ),
)


@given(st.sampled_from([Format.TEXT, *AGENTS]), st.lists(PRINTED), st.lists(st.integers(0, 400)))
def test_what_is_heard_put_together_is_the_file(
    form: Format, printed: list[bytes], cuts: list[int]
) -> None:
    text = b"".join(printed)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    found: list[Heard] = []
    with TemporaryDirectory() as folder:
        listener = Listener()
        listener.add(source(Path(folder, "said"), form=form))
        for begin, end in pairwise(places):
            add(Path(folder, "said"), text[begin:end])
            found += listener.hear()
        found += listener.finish("a")

    assert raw(iter(found)) == text
    if form is Format.TEXT:
        assert all(one.raw.find(b"\n") in {-1, len(one.raw) - 1} for one in found)
        assert all(one.raw.endswith(b"\n") for one in found[:-1])
