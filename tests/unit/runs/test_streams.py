"""Answers out of what agents print; the tools themselves printed the files in `streams/`."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.oneshot import Format
from gascity.runs import streams
from gascity.runs.streams import END, Final, Piece, SoFar, joined, said_in, text_of

RECORDED = Path(__file__).parent / "streams"
AGENTS = (Format.CLAUDE, Format.CODEX, Format.GEMINI)


def answer(form: Format, path: Path) -> str | None:
    parts = text_of(form, str(path))
    return None if parts is None else "".join(parts)


@pytest.fixture
def said(tmp_path: Path) -> Path:
    return tmp_path / "agent-stdout.txt"


def claude(text: str, of: str = "m", **more: object) -> dict[str, object]:
    content = [{"type": "text", "text": text}, {"type": "tool_use", "name": "Bash"}]
    return {"type": "assistant", "message": {"id": of, "content": content}, **more}


def codex(text: str, of: str = "item_0", kind: str = "item.completed") -> dict[str, object]:
    return {"type": kind, "item": {"id": of, "type": "agent_message", "text": text}}


def gemini(text: str, **more: object) -> dict[str, object]:
    return {"type": "message", "role": "assistant", "content": text, **more}


def write(path: Path, *events: object) -> None:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


@pytest.mark.parametrize("form", AGENTS)
def test_what_the_tools_print_is_understood(form: Format) -> None:
    assert answer(form, RECORDED / f"{form}.jsonl") == "Hello wörld"


@pytest.mark.parametrize("form", AGENTS)
def test_garbage_is_passed_over(form: Format, said: Path) -> None:
    garbage = (
        b'\xff\xfe"result" "message"\n{"type": "result"\n[]\n"message"\n{"type": "assistant"}\n'
        b'{"type": "result", "result": 7}\n{"type": "message", "content": {}}\n{"item": "x"}\n'
        b'{"type": "assistant", "message": {"content": [1, {"type": "text"}]}}\n\n'
        b'{"type":"result","deep":' + b"[" * 100_000 + b"\n"
    )
    said.write_bytes(garbage + (RECORDED / f"{form}.jsonl").read_bytes() + garbage)

    assert answer(form, said) == "Hello wörld"


@pytest.mark.parametrize("form", [*AGENTS, Format.TEXT])
def test_where_nothing_is_understood_the_file_is_the_answer(form: Format, said: Path) -> None:
    said.write_bytes(b"plain words \xff\n")

    assert text_of(form, str(said)) is None


def test_text_is_the_answer_even_when_it_looks_like_a_stream() -> None:
    assert text_of(Format.TEXT, str(RECORDED / "claude.jsonl")) is None


@pytest.mark.parametrize("form", AGENTS)
def test_a_line_of_many_megabytes_is_fine(form: Format, said: Path) -> None:
    text = "x" * 5_000_000
    events = {Format.CLAUDE: claude(text), Format.CODEX: codex(text), Format.GEMINI: gemini(text)}
    write(said, events[form])

    assert answer(form, said) == text


# --- claude


def test_the_result_of_claude_is_believed(said: Path) -> None:
    write(said, claude("thinking"), {"type": "result", "is_error": False, "result": "done"})

    assert answer(Format.CLAUDE, said) == "done"


def test_the_last_result_of_claude_counts(said: Path) -> None:
    results = [{"type": "result", "result": text} for text in ("one", "two", "")]
    write(said, *results)

    assert answer(Format.CLAUDE, said) == "two"


def test_without_a_good_result_of_claude_all_it_said_counts(said: Path) -> None:
    write(
        said,
        claude("one", "m1"),
        claude("said to another", "m2", parent_tool_use_id="t1"),
        claude("two", "m3", parent_tool_use_id=None),
        {"type": "result", "is_error": True, "result": "API Error"},
        {"type": "result", "is_error": False, "result": ""},
    )

    assert answer(Format.CLAUDE, said) == "one\ntwo"


# --- codex


def test_the_messages_of_codex_come_in_order(said: Path) -> None:
    error = {"type": "item.completed", "item": {"id": "item_1", "type": "error", "message": "no"}}
    write(said, codex("one", "item_0"), error, codex("two", "item_2"), {"type": "turn.completed"})

    assert answer(Format.CODEX, said) == "one\ntwo"


def test_a_message_of_codex_that_grows_counts_once(said: Path) -> None:
    grown = [codex(text, kind="item.updated") for text in ("Hel", "Hello", "Hello wörld")]
    write(said, *grown, codex("Hello wörld"), codex("Hello wörld, again", "item_1"))

    assert answer(Format.CODEX, said) == "Hello wörld\nHello wörld, again"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "result", "result": "done"},
        {"type": "turn.completed", "text": "done"},
        {
            "type": "response.completed",
            "response": {
                "output": [
                    {"type": "reasoning"},
                    {"type": "message", "content": [{"type": "output_text", "text": "done"}]},
                ]
            },
        },
    ],
)
def test_codex_is_believed_what_its_answer_is(said: Path, event: object) -> None:
    write(said, codex("thinking"), event)

    assert answer(Format.CODEX, said) == "done"


def test_what_the_user_said_to_codex_is_no_answer(said: Path) -> None:
    user = {"type": "message", "role": "user", "content": "say hello"}
    write(said, user, {"type": "message", "content": [{"type": "text", "text": "hello"}]})

    assert answer(Format.CODEX, said) == "hello"


# --- gemini


def test_parts_of_a_message_of_gemini_are_put_together_exactly(said: Path) -> None:
    parts = [gemini(text, delta=True) for text in ("1", "10", " ", "1", "\n")]
    write(said, {"type": "message", "role": "user", "content": "count"}, *parts)

    assert answer(Format.GEMINI, said) == "110 1\n"


def test_a_tool_stands_between_two_messages_of_gemini(said: Path) -> None:
    write(said, gemini("a", delta=True), {"type": "tool_use"}, gemini("b", delta=True))

    assert answer(Format.GEMINI, said) == "a\nb"


def test_a_message_of_gemini_that_grows_counts_once(said: Path) -> None:
    write(said, gemini("Hel"), gemini("Hello"), {"type": "result", "status": "success"})

    assert answer(Format.GEMINI, said) == "Hello"


def test_gemini_is_believed_what_its_answer_is(said: Path) -> None:
    write(said, gemini("x"), {"type": "result", "status": "success", "response": "done"})

    assert answer(Format.GEMINI, said) == "done"


def test_an_error_of_gemini_is_no_answer(said: Path) -> None:
    write(said, gemini("partly"), {"type": "result", "status": "error", "result": "quota"})

    assert answer(Format.GEMINI, said) == "partly"


# --- limits


def test_half_a_character_can_be_written_down(said: Path) -> None:
    said.write_text('{"type":"result","result":"a\\ud800b"}\n')

    assert answer(Format.CLAUDE, said) == "a?b"


def test_memory_does_not_grow_with_the_file(said: Path) -> None:
    line = json.dumps(claude("x" * 100_000)) + "\n"
    with said.open("w") as file:
        for number in range(600):
            file.write(line.replace('"m"', f'"m{number}"'))
    tracemalloc.start()
    parts = text_of(Format.CLAUDE, str(said))
    total = sum(map(len, parts or ()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert total == 600 * 100_000 + 599
    assert peak < 5_000_000


def test_a_line_without_end_is_garbage(said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LONGEST", 1000)
    write(said, claude("x" * 5000, "m1"), claude("short", "m2"))

    assert answer(Format.CLAUDE, said) == "short"


def test_a_long_message_is_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_REMEMBERED", 10)
    parts = [Piece("x" * 8, added=True)] * 3

    assert "".join(joined(parts)) == "x" * 24


def test_a_message_of_very_many_parts_costs_no_more_than_its_length() -> None:
    """Were each put behind a copy of those before it, this would take minutes."""
    parts = (Piece("abcdefgh\r\n", added=True) for _ in range(300_000))

    assert sum(map(len, joined(parts))) == 3_000_000


@given(st.lists(st.text(min_size=1), max_size=20))
def test_parts_that_are_added_are_never_changed(texts: list[str]) -> None:
    assert "".join(joined(Piece(text, added=True) for text in texts)) == "".join(texts)


@given(st.text(min_size=1), st.lists(st.integers(1, 50)))
def test_a_text_that_grows_is_told_once(text: str, ends: list[int]) -> None:
    grown = [Piece(text[:end], "m") for end in [*sorted(ends), len(text)] if text[:end]]

    assert "".join(joined(grown)) == text


def test_an_end_is_no_text() -> None:
    assert "".join(joined([END, Piece("a"), END, END, Piece("a")])) == "a\na"


# --- one line after the other


def test_a_line_tells_what_it_says() -> None:
    line = json.dumps(gemini("a", delta=True)).encode()

    assert said_in(Format.GEMINI, line) == (Piece("a", added=True),)
    assert said_in(Format.CLAUDE, b'{"type": "result", "result": "done"}\n') == Final("done")


@pytest.mark.parametrize("line", [b"", b"words\n", b'{"type": "assistant"', b'["result"]', b"\xff"])
def test_a_line_that_is_not_of_the_tool_says_nothing(line: bytes) -> None:
    assert all(said_in(form, line) == () for form in AGENTS)


def test_an_answer_is_known_by_the_message_that_was_said_last() -> None:
    so_far = SoFar()
    nothing = so_far.is_last(Final(""))
    for piece in (Piece("first", "m1"), Piece("don", "m2"), Piece("done\n", "m2")):
        so_far.take(piece)

    assert not nothing
    assert so_far.is_last(Final("done"))
    assert not so_far.is_last(Final("first"))
