from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.fingerprint import canonical, fingerprint, looks_secret, secret_values

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
ENVS = st.dictionaries(st.from_regex(r"[A-Z_]{1,4}", fullmatch=True), TEXTS, max_size=4)


def test_the_hash_covers_the_command_and_the_env_in_sorted_order() -> None:
    expected = hashlib.sha256(b"claude\0A=1\0B=2\0").hexdigest()

    assert fingerprint("claude", {"B": "2", "A": "1"}, {}) == expected


def test_extras_follow_behind_a_mark() -> None:
    expected = hashlib.sha256(b"claude\0A=1\0B=2\0fp\0pool=x\0").hexdigest()

    assert fingerprint("claude", {"B": "2", "A": "1"}, {"pool": "x"}) == expected


def test_an_extra_is_not_an_env_variable() -> None:
    assert fingerprint("x", {"a": "1"}, {}) != fingerprint("x", {}, {"a": "1"})


def test_bytes_that_are_no_text_are_hashed_as_they_were() -> None:
    expected = hashlib.sha256(b"/srv/\xff\0").hexdigest()

    assert fingerprint("/srv/\udcff", {}, {}) == expected


@given(TEXTS, ENVS, TEXTS, ENVS)
def test_equal_hashes_mean_equal_behaviour(
    command: str, env: dict[str, str], other: str, other_env: dict[str, str]
) -> None:
    same = fingerprint(command, env, {}) == fingerprint(other, other_env, {})

    assert same == ((command, env) == (other, other_env))


@given(TEXTS, ENVS, TEXTS, ENVS)
def test_the_canonical_text_differs_when_the_hash_does(
    command: str, env: dict[str, str], other: str, other_env: dict[str, str]
) -> None:
    same = canonical(command, env, {}) == canonical(other, other_env, {})

    assert same == ((command, env) == (other, other_env))


def test_the_canonical_text_is_json_with_sorted_keys() -> None:
    text = canonical("claude", {"B": "2", "A": "1"}, {"pool": "x"})

    assert text == '{"command": "claude", "env": {"A": "1", "B": "2"}, "extra": {"pool": "x"}}'


@pytest.mark.parametrize(
    "key", ["API_TOKEN", "my_key", "Secret", "DB_PASSWORD", "CREDENTIALS", "BASIC_AUTH"]
)
def test_a_secret_is_shown_as_the_beginning_of_its_hash(key: str) -> None:
    text = canonical("run", {key: "hunter2"}, {})

    assert "hunter2" not in text
    assert json.loads(text)["env"][key] == f"sha256:{hashlib.sha256(b'hunter2').hexdigest()[:8]}"


def test_copies_of_a_secret_are_concealed_wherever_they_stand() -> None:
    env = {"API_TOKEN": "it's secret", "COPY": "<it's secret>"}
    text = canonical("run 'it'\"'\"'s secret'", env, {"x": "it's secret"})

    assert "secret" not in text.lower().replace("api_token", "")


def test_ordinary_names_are_not_secret() -> None:
    assert not any(map(looks_secret, ("PATH", "HOME", "LANG", "MODE")))


def test_a_long_command_is_cut_but_still_told_apart() -> None:
    one, other = (canonical("x" * 100_000 + end, {}, {}) for end in "ab")

    assert len(one) < 10_000
    assert one != other


def test_a_value_of_less_than_four_characters_is_not_struck_out() -> None:
    secrets = secret_values({"SHORT_KEY": "abc", "LONG_KEY": "abcd"})

    assert secrets == ("abcd",)
