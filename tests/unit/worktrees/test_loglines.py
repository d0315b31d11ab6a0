"""Lines of agents as lines of a log: levels are recognised, and nothing is lost or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.worktrees.loglines import LEVELS, LogLine, complaint, logged, recognise

KEYS = st.text(min_size=1).filter(lambda key: key not in {"message", "level", "timestamp"})


def test_a_json_line_is_recognised() -> None:
    line = b'{"timestamp": "2024-01-01T12:00:00Z", "level": "error", "message": "no config"}\n'

    assert recognise(line) == LogLine("error", "no config", "2024-01-01T12:00:00Z")


def test_a_level_in_brackets_is_recognised() -> None:
    assert recognise(b"[ERROR] Failed to parse config\n") == LogLine(
        "error", "Failed to parse config"
    )


@pytest.mark.parametrize(
    ("word", "level"),
    [
        ("DEBUG", "debug"),
        ("Info", "info"),
        ("warn", "warning"),
        ("WARNING", "warning"),
        ("error", "error"),
        ("FATAL", "error"),
        ("critical", "error"),
    ],
)
def test_a_level_is_one_of_four_however_it_is_written(word: str, level: str) -> None:
    assert recognise(f"[{word}] x".encode()).level == level
    assert recognise(json.dumps({"level": word, "message": "x"}).encode()).level == level


@pytest.mark.parametrize(
    "line",
    [
        "[1/3] compiling",
        "[foo] bar",
        "[error](https://example.org)",
        "[error",
        "[]",
        "  [error] is how it looks",
        "error: no",
        "",
        "{",
        "{}",
        '{"message": 7}',
        '{"message": {"content": []}}',
        '["message"]',
        '{"level": "error", "text": "x"}',
        '{"message": "one", "message": "two"}',
    ],
)
def test_what_only_looks_like_a_log_line_is_a_message_as_it_stands(line: str) -> None:
    assert recognise(line.encode()) == LogLine("info", line)
    assert logged(line.encode()) is None


def test_a_level_alone_is_a_log_line_without_a_text() -> None:
    assert recognise(b"[WARN]\n") == LogLine("warning", "")


def test_the_indent_of_a_text_is_kept() -> None:
    assert recognise(b"[INFO]   deeper") == LogLine("info", "  deeper")


def test_a_json_message_without_a_level_is_information() -> None:
    assert recognise(b'{"message": "hello"}') == LogLine("info", "hello")


@pytest.mark.parametrize("level", ["verbose", "", 30, None, ["error"]])
def test_a_level_that_is_not_known_stays_beside_the_message(level: object) -> None:
    found = recognise(json.dumps({"level": level, "message": "x"}).encode())

    assert found.level == "info"
    assert found.message.startswith("x level=")


def test_a_time_that_is_no_text_stays_beside_the_message() -> None:
    assert recognise(b'{"timestamp": 17, "message": "x"}') == LogLine("info", "x timestamp=17")


def test_what_else_a_json_line_says_is_put_behind_its_message_in_order() -> None:
    line = b'{"file": "a.py", "level": "warn", "message": "odd", "n": 3, "w": "two words", "o": {}}'

    assert recognise(line) == LogLine("warning", 'odd file=a.py n=3 w="two words" o={}')


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("line", [b"[INFO] x", b'{"message": "x"}', b"x"])
def test_the_end_of_a_line_is_no_part_of_it(line: bytes, end: bytes) -> None:
    assert recognise(line + end) == LogLine("info", "x")


def test_a_carriage_return_within_a_line_is_kept() -> None:
    assert recognise(b"10%\r20%\r\r\n") == LogLine("info", "10%\r20%\r")


def test_bytes_that_are_no_text_are_written_out() -> None:
    assert recognise(b"a\xffb \xc3\xa4") == LogLine("info", "a\\xffb ä")
    assert recognise(b"[ERROR] \xff") == LogLine("error", "\\xff")
    assert recognise(b'{"level": "error", "message": "\xff"}') == LogLine("error", "\\xff")


def test_half_a_character_is_written_out() -> None:
    assert recognise(b'{"message": "\\ud800", "timestamp": "\\udfff"}') == LogLine(
        "info", "\\ud800", "\\udfff"
    )


@pytest.mark.parametrize(
    "line",
    [
        '{"message": "x", "deep": ' + "[" * 100_000,
        '{"message": "x", "deep": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a":' * 50_000,
        '{"message": "x", "number": ' + "9" * 100_000 + "}",
    ],
)
def test_json_beyond_all_measure_is_a_message_as_it_stands(line: str) -> None:
    assert recognise(line.encode()) == LogLine("info", line)


@given(st.binary())
def test_no_bytes_are_refused_and_none_are_lost(line: bytes) -> None:
    found = recognise(line)

    whole = line.removesuffix(b"\r\n") if line.endswith(b"\r\n") else line.removesuffix(b"\n")
    assert found.message.encode() in whole.decode("utf-8", "backslashreplace").encode()
    assert found.level in LEVELS.values()
    assert logged(line) or found.message == whole.decode("utf-8", "backslashreplace")


@given(st.sampled_from(sorted(LEVELS)), st.text())
def test_no_text_behind_a_level_is_lost(word: str, text: str) -> None:
    line = f"[{word}] {text}".encode()

    assert recognise(line + b"\n") == LogLine(LEVELS[word], text.removesuffix("\r"))


@given(st.text(), st.text(), st.dictionaries(KEYS, st.integers() | st.booleans() | st.none()))
def test_no_key_of_a_json_line_is_lost(
    message: str, timestamp: str, more: dict[str, object]
) -> None:
    line = {"message": message, "level": "info", "timestamp": timestamp, **more}
    found = recognise(json.dumps(line).encode())

    assert found.message.startswith(message)
    assert found.timestamp == timestamp
    for key, value in more.items():
        assert f"={json.dumps(value)}" in found.message
        assert key in found.message or json.dumps(key, ensure_ascii=False) in found.message


@pytest.mark.parametrize(
    "line",
    [
        b'{"type": "result", "is_error": true, "result": "no credit"}',
        b'{"type": "result", "status": "error", "error": {"message": "no credit"}}',
        b'{"type": "error", "message": "no credit"}',
        b'{"type": "turn.failed", "error": {"message": "no credit"}}\n',
    ],
)
def test_what_a_tool_says_went_wrong_is_an_error(line: bytes) -> None:
    assert complaint(line) == LogLine("error", "no credit")


@pytest.mark.parametrize("line", [b"", b"{", b"[" * 100_000, b'{"type": "result"}', b"\xff"])
def test_any_other_line_says_nothing_of_that(line: bytes) -> None:
    assert complaint(line) is None
