"""Names of pods and labels: what Kubernetes takes, whatever a city and its sessions are called."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.errors import ProviderError
from gascity_kubernetes import names

DNS = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
LABEL = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
# What sessions are really called, and anything at all.
WORDS = st.one_of(st.from_regex(r"[A-Za-z0-9_-]{1,80}", fullmatch=True), st.text(max_size=120))
# Made to collide: they differ in what a DNS label cannot keep.
ALIKE = st.text(alphabet="aA_-.", max_size=6)


@given(WORDS, WORDS)
def test_every_session_of_every_city_has_a_name_that_kubernetes_takes(city: str, name: str) -> None:
    assert DNS.fullmatch(names.pod_name(city, name))


@given(WORDS, WORDS)
def test_the_same_session_has_the_same_pod_in_every_process(city: str, name: str) -> None:
    assert names.pod_name(city, name) == names.pod_name(str(city), str(name))


def test_a_name_stays_what_it_is_from_one_release_to_the_next() -> None:
    assert names.pod_name("0f3a", "gc-bright-lights-mayor") == "gc-bright-lights-mayor-028feb410d"
    assert names.pod_name("0f3a", "9lives") == "gc-9lives-5707914e6a"


@given(st.sets(st.tuples(ALIKE, ALIKE), min_size=2, max_size=200))
def test_no_two_sessions_share_a_pod(pairs: set[tuple[str, str]]) -> None:
    assert len({names.pod_name(*pair) for pair in pairs}) == len(pairs)


def test_no_two_of_a_hundred_thousand_sessions_share_a_pod() -> None:
    made = {names.pod_name(f"c{n % 10}", f"gc-city-{'worker' * 10}-{n}") for n in range(100_000)}

    assert len(made) == 100_000


def test_long_names_that_differ_at_their_end_have_pods_of_their_own() -> None:
    long = "gc-" + "a" * 100

    assert names.pod_name("c", long + "1") != names.pod_name("c", long + "2")


@pytest.mark.parametrize(
    "name", ["-", "---", "_", "é", "…", "", "9", "9" * 80, "A" * 80, "a-" * 40]
)
def test_names_with_little_to_keep_are_still_names(name: str) -> None:
    assert DNS.fullmatch(names.pod_name("c", name))


@given(WORDS)
def test_any_text_becomes_the_value_of_a_label(text: str) -> None:
    assert LABEL.fullmatch(names.label(text))


@given(st.from_regex(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", fullmatch=True))
def test_what_is_a_label_already_stays_as_it_is(text: str) -> None:
    assert names.label(text) == text
    assert names.owner(text) == text


@given(st.sets(WORDS, min_size=2, max_size=50))
def test_no_city_owns_the_pods_of_another(ids: set[str]) -> None:
    owners = {names.owner(one) for one in ids}

    assert len(owners) == len(ids)
    assert all(owner and LABEL.fullmatch(owner) for owner in owners)


def test_a_selector_asks_for_the_pods_of_one_city() -> None:
    assert names.selector("0f3a") == "gascity.dev/city-id=0f3a"


@pytest.mark.parametrize("key", ["GC_RUN", "k", "a.b-c_d", "A" * 63])
def test_a_key_of_metadata_is_an_annotation(key: str) -> None:
    assert names.annotation(key) == f"meta.gascity.dev/{key}"


@pytest.mark.parametrize("key", ["", "a b", "a/b", "-a", "a-", "é", "A" * 64, "a\n", "a=b"])
def test_a_key_that_no_annotation_can_have_is_refused(key: str) -> None:
    with pytest.raises(ProviderError, match="cannot be a key of a pod's metadata"):
        names.annotation(key)
