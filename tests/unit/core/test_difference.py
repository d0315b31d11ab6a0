from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.difference import Change, FieldChange, field_changes, shown
from gascity.core.fingerprint import canonical, fingerprint

SECRET = "sk-do-not-show-4712"
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
ENVS = st.dictionaries(st.from_regex(r"[A-Z_]{1,4}", fullmatch=True), VALUES, max_size=3)


def changes(
    old: tuple[str, dict[str, str]], new: tuple[str, dict[str, str]]
) -> tuple[FieldChange, ...]:
    return field_changes(canonical(*old, {}), canonical(*new, {}))


def test_a_field_is_named_with_its_old_and_new_value() -> None:
    (found,) = changes(("run", {"MODE": "old", "SAME": "1"}), ("run", {"MODE": "new", "SAME": "1"}))

    assert found == FieldChange("env.MODE", Change.CHANGED, "old", "new")
    assert list(shown(found)) == ["- old", "+ new"]


def test_what_is_new_and_what_is_gone_are_told_apart() -> None:
    found = changes(("run", {"A": "1"}), ("run", {"B": "2"}))

    assert [(one.field, one.change) for one in found] == [
        ("env.A", Change.REMOVED),
        ("env.B", Change.ADDED),
    ]
    assert [line for one in found for line in shown(one)] == ["- 1", "+ 2"]


def test_an_extra_is_a_field() -> None:
    (found,) = field_changes(canonical("x", {}, {}), canonical("x", {}, {"pool": "crew"}))

    assert (found.field, found.new) == ("extra.pool", "crew")


def test_a_long_text_is_shown_by_its_changed_lines() -> None:
    lines = [f"line {number}" for number in range(20)]
    old = "agent '" + "\n".join(lines) + "'"
    (found,) = changes((old, {}), (old.replace("line 10", "line ten"), {}))

    told = list(shown(found))
    assert "- line 10" in told
    assert "+ line ten" in told
    assert "  line 9" in told
    assert told[0].startswith("@@")
    assert len(told) == 7


def test_a_secret_is_told_as_changed_without_a_value() -> None:
    old, new = {"API_KEY": SECRET}, {"API_KEY": "sk-another-one-9921"}
    (found,) = changes(("run", old), ("run", new))

    assert found == FieldChange("env.API_KEY", Change.CHANGED, secret=True)
    assert list(shown(found)) == ["changed (its value is secret)"]


def test_a_copy_of_a_secret_in_the_command_is_not_shown() -> None:
    old, new = {"API_KEY": SECRET}, {"API_KEY": "sk-another-one-9921"}
    found = changes((f"run {SECRET}", old), ("run sk-another-one-9921", new))

    told = "\n".join(line for one in found for line in shown(one))
    assert {one.field for one in found} == {"command", "env.API_KEY"}
    assert SECRET not in told
    assert "9921" not in told


@pytest.mark.parametrize("text", ["", "[]", "{", "7"])
def test_what_is_no_canonical_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a canonical text"):
        field_changes(text, canonical("x", {}, {}))


@given(VALUES, ENVS, VALUES, ENVS)
def test_a_field_is_named_exactly_when_the_hash_differs(
    command: str, env: dict[str, str], other: str, other_env: dict[str, str]
) -> None:
    same = fingerprint(command, env, {}) == fingerprint(other, other_env, {})

    assert (not changes((command, env), (other, other_env))) == same


def test_a_text_nested_to_any_depth_is_no_canonical_one_or_is_read() -> None:
    for depth in (*range(850, 1010), 60_000):
        with contextlib.suppress(ValueError):
            field_changes('{"a": ' + "[" * depth + "]" * depth + "}", "{}")
