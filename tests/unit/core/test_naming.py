from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.naming import (
    city_id,
    is_component,
    is_session_name,
    qualified,
    session_name,
    split,
)

COMPONENTS = st.from_regex(r"[A-Za-z0-9_]{1,3}(-[A-Za-z0-9_]{1,3}){0,2}", fullmatch=True)
AGENTS = st.builds(qualified, st.just("") | COMPONENTS, COMPONENTS)


def test_the_default_name_says_city_and_agent() -> None:
    assert session_name("city", "mayor").name == "gc-city-mayor"


def test_a_slash_becomes_two_dashes() -> None:
    assert session_name("city", "hello-world/worker").name == "gc-city-hello-world--worker"


@given(COMPONENTS, AGENTS, AGENTS)
def test_two_agents_of_a_city_never_share_a_default_name(city: str, one: str, other: str) -> None:
    same = session_name(city, one).name == session_name(city, other).name

    assert same == (one == other)


@given(COMPONENTS, AGENTS)
def test_a_default_name_is_safe_and_an_agent_can_be_split(city: str, agent: str) -> None:
    assert is_session_name(session_name(city, agent).name)
    assert qualified(*split(agent)) == agent


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{.City}}_{{.Agent}}", "city_rig--worker"),
        ("{{ .Dir }}-{{.Name}}", "rig-worker"),
        ("fixed", "fixed"),
    ],
)
def test_a_template_makes_the_name(template: str, name: str) -> None:
    made = session_name("city", "rig/worker", template)

    assert made.name == name
    assert not made.warning


@pytest.mark.parametrize(
    "template", ["{{.Nope}}", "{{.City", "a b", "{{.City}}:{{.Name}}", "-x", "x" * 300, "é", "x\n"]
)
def test_a_template_that_cannot_be_used_gives_the_default_and_a_warning(template: str) -> None:
    made = session_name("city", "rig/worker", template)

    assert made.name == "gc-city-rig--worker"
    assert "session_template" in made.warning


@pytest.mark.parametrize("text", ["a", "a-b", "A_1-b_2-c", "_", "x" * 64])
def test_words_with_single_dashes_are_components(text: str) -> None:
    assert is_component(text)


@pytest.mark.parametrize(
    "text", ["", "-", "a-", "-a", "a--b", "a/b", "a.b", "a b", "é", "a\n", "x" * 65, "٣"]
)
def test_nothing_else_is_a_component(text: str) -> None:
    assert not is_component(text)


def test_a_city_is_known_by_the_hash_of_its_path() -> None:
    expected = hashlib.sha256(b"/srv/city").hexdigest()[:16]

    assert city_id("/srv/city") == expected
    assert city_id("/srv/\udcff") != expected
