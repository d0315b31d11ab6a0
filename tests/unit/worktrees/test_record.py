"""What is written down of an attempt, and what is made of a file that somebody changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.worktrees.progress import Progress
from gascity.worktrees.record import BrokenSolve, Part, Solve, from_json, to_json
from gascity.worktrees.repository import Base
from gascity.worktrees.verdict import State

BASE = Base("origin/main", "refs/remotes/origin/main", "main", "origin", "a" * 40)
PART = Part("a", "claude", "gc/1/a-1", "/w/1-a-1", progress=Progress("b", "c", 2, "d", 1, 2, 3))
SOLVE = Solve("p", "1", 1, "/r", "/r/.git", BASE, 1, "u", "t", "m", 1800.0, "now", parts=(PART,))


@given(
    text=st.text(),
    state=st.sampled_from(State),
    code=st.none() | st.integers(),
    timeout=st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
def test_what_is_written_is_read(
    text: str, state: State, code: int | None, timeout: float | None
) -> None:
    part = replace(PART, state=state, exit_code=code, why=text, worktree=text)
    solve = replace(SOLVE, title=text, timeout=timeout, parts=(part, PART))

    assert from_json(to_json(solve), "x") == solve


def test_a_path_of_any_bytes_is_kept() -> None:
    solve = replace(SOLVE, repo=b"/caf\xe9".decode("utf-8", "surrogateescape"))

    assert from_json(to_json(solve), "x") == solve


def test_a_key_of_a_newer_gc_is_ignored() -> None:
    document = {**json.loads(to_json(SOLVE)), "mood": "good"}

    assert from_json(json.dumps(document), "x") == SOLVE


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "it is of another version, or none"),
        ({"attempt": "1"}, "attempt cannot be '1'"),
        ({"attempt": True}, "attempt cannot be True"),
        ({"parts": {}}, "parts cannot be {}"),
        ({"parts": [1]}, "there is no part in it"),
        ({"parts": [{"agent": "a"}]}, "missing 3 required positional arguments"),
        ({"base": None}, "there is no base in it"),
        ({"timeout": "30m"}, "timeout cannot be '30m'"),
    ],
)
def test_a_file_that_is_wrong_is_told_in_a_sentence(change: dict[str, object], told: str) -> None:
    document = {**json.loads(to_json(SOLVE)), **change}

    with pytest.raises(BrokenSolve, match="the record x cannot be read: ") as caught:
        from_json(json.dumps(document), "x")
    assert told in caught.value.message


@given(st.text())
def test_any_text_is_a_record_or_told(text: str) -> None:
    with pytest.raises(BrokenSolve):
        from_json(text, "x")
