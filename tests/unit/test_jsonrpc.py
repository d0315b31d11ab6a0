from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity import jsonrpc


@given(st.text(), st.dictionaries(st.text(), st.text()), st.integers(0, jsonrpc.LONGEST_ID))
def test_a_request_comes_back_as_it_went(method: str, params: dict[str, str], id_: int) -> None:
    line = jsonrpc.request(method, params, id_)

    assert line.count(b"\n") == 1
    assert jsonrpc.read_request(line) == jsonrpc.Request(method, params, id_)


def test_a_request_without_an_id_is_a_notification() -> None:
    line = jsonrpc.request("note", {}, None)

    assert b'"id"' not in line
    assert jsonrpc.read_request(line) == jsonrpc.Request("note", {}, None)


@given(st.binary())
def test_any_bytes_are_understood_or_refused(line: bytes) -> None:
    assert isinstance(jsonrpc.read_request(line), jsonrpc.Request | jsonrpc.BadRequest)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc": "2.0",}'],
    ids=["empty", "open", "no text", "deep", "comma"],
)
def test_what_is_not_json_is_a_parse_error(line: bytes) -> None:
    answer = jsonrpc.read_request(line)

    assert isinstance(answer, jsonrpc.BadRequest)
    assert (answer.id, answer.code) == (None, jsonrpc.PARSE_ERROR)


@pytest.mark.parametrize(
    ("body", "id_", "code"),
    [
        ([], None, jsonrpc.INVALID_REQUEST),
        ([{"jsonrpc": "2.0", "method": "m", "id": 1}], None, jsonrpc.INVALID_REQUEST),
        ("text", None, jsonrpc.INVALID_REQUEST),
        (None, None, jsonrpc.INVALID_REQUEST),
        ({}, None, jsonrpc.INVALID_REQUEST),
        ({"id": 7, "method": "m"}, 7, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "1.0", "id": 7, "method": "m"}, 7, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 7}, 7, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 7, "method": 3}, 7, jsonrpc.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 7, "method": "m", "params": 3}, 7, jsonrpc.INVALID_PARAMS),
        ({"jsonrpc": "2.0", "id": 7, "method": "m", "params": []}, 7, jsonrpc.INVALID_PARAMS),
    ],
)
def test_json_that_is_no_request_is_refused_with_its_id(
    body: object, id_: int | None, code: int
) -> None:
    answer = jsonrpc.read_request(json.dumps(body).encode())

    assert isinstance(answer, jsonrpc.BadRequest)
    assert (answer.id, answer.code) == (id_, code)


@pytest.mark.parametrize("line", [b"1" * 5_000_000, b'{"id": -%s}' % (b"1" * 5_000_000)])
def test_a_number_of_any_length_is_json(line: bytes) -> None:
    answer = jsonrpc.read_request(line)

    assert isinstance(answer, jsonrpc.BadRequest)
    assert (answer.id, answer.code) == (None, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize("id_", [-1, 2**64, 1.5, True, "text", None, [], {}])
def test_an_id_that_is_no_whole_number_is_refused(id_: object) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "m", "id": id_}).encode()

    answer = jsonrpc.read_request(line)

    assert isinstance(answer, jsonrpc.BadRequest)
    assert (answer.id, answer.code) == (None, jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_know_is_no_json(word: str) -> None:
    line = f'{{"jsonrpc":"2.0","method":"m","id":1,"params":{{"a":{word}}}}}'.encode()

    assert jsonrpc.read_request(line) == jsonrpc.BadRequest(
        None, jsonrpc.PARSE_ERROR, "this line is not JSON"
    )


def test_a_server_may_insist_on_an_id() -> None:
    line = jsonrpc.request("note", {}, None)

    answer = jsonrpc.read_request(line, notifications=False)

    assert answer == jsonrpc.BadRequest(None, jsonrpc.INVALID_REQUEST, "id is missing")


@pytest.mark.parametrize(
    ("given", "params"),
    [([], {}), ([1], {"a": 1}), ([1, 2, 3], {"a": 1, "b": 2}), ({"b": 1}, {"b": 1})],
)
def test_a_server_may_name_the_parameters_of_an_array(
    given: object, params: dict[str, object]
) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": "m", "id": 1, "params": given}).encode()

    assert jsonrpc.read_request(line, names={"m": ("a", "b")}) == jsonrpc.Request("m", params, 1)


@pytest.mark.parametrize("id_", [0, 1, 2**53 + 1, 2**64 - 1])
def test_an_id_is_kept_to_the_last_digit(id_: int) -> None:
    asked = jsonrpc.read_request(jsonrpc.request("m", {}, id_))

    assert isinstance(asked, jsonrpc.Request)
    assert asked.id == id_


@given(st.lists(st.binary().filter(lambda line: b"\n" not in line)), st.integers(1, 7))
def test_lines_are_found_however_the_stream_is_cut(sent: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in sent)
    lines = jsonrpc.Lines()

    found = [
        line
        for start in range(0, len(stream), size)
        for line in lines.feed(stream[start : start + size])
    ]

    assert found == sent


def test_a_line_beyond_the_limit_is_reported_once_and_the_next_is_read() -> None:
    lines = jsonrpc.Lines(limit=10)

    found = list(lines.feed(b"x" * 8))
    found += lines.feed(b"x" * 8)
    found += lines.feed(b"x" * 8 + b"\nshort\n" + b"y" * 10 + b"\n" + b"z" * 11 + b"\nend\n")

    assert found == [None, b"short", b"y" * 10, None, b"end"]


def test_a_line_is_known_to_be_too_long_before_it_ends() -> None:
    lines = jsonrpc.Lines(limit=10)

    told = [(list(lines.feed(b"x" * 5)), lines.overlong) for _ in range(3)]

    assert told == [([], False), ([], False), ([], True)]
    assert list(lines.feed(b"\nnext")) == [None]
    assert (lines.overlong, lines.rest()) == (False, b"next")


def test_a_line_beyond_the_limit_is_not_kept_in_memory() -> None:
    lines = jsonrpc.Lines(limit=10)

    for _ in range(100):
        assert list(lines.feed(b"x" * 1000)) == []

    assert len(lines._kept) <= 10
