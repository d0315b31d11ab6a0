"""Reading and writing the lease, over a file that answers as the API does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.controller.shelf import Lease, Shelf

from gascity.session.leadership import Leads, Lost, News, StandsBy
from gascity.testing.eventually import eventually
from gascity_kubernetes.election import NOBODY
from gascity_kubernetes.lease import LeaseLeadership, lease_name, lease_of, own_name

NAME = "gc-town-1"
Make = Callable[[str], tuple[LeaseLeadership, list[News]]]


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "lease")


@pytest.fixture
def claim(shelf: Shelf) -> Iterator[Make]:
    """Make claims to the lease on the shelf, each with what it tells."""
    made: list[LeaseLeadership] = []

    def make(identity: str) -> tuple[LeaseLeadership, list[News]]:
        leadership, told = LeaseLeadership(shelf, NAME, identity), list[News]()
        leadership.begin(told.append)
        made.append(leadership)
        return leadership, told

    yield make
    for one in made:
        one.resign(give_back=False)


def free(labels: dict[str, str] | None = None) -> Lease:
    return dict(lease_of({"name": NAME, "labels": labels or {}}, "", 4, ""))


def test_a_lease_that_is_free_is_taken_at_once(shelf: Shelf, claim: Make) -> None:
    shelf.put(free(labels={"of": "somebody"}))
    leadership, told = claim("me_1")

    eventually(leadership.leads)

    eventually(lambda: told == [Leads("me", "nobody led")])
    spec = shelf.lease["spec"]
    assert spec["holderIdentity"] == "me_1"
    assert spec["leaseDurationSeconds"] == 10
    assert spec["leaseTransitions"] == 5
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec["acquireTime"])
    assert shelf.lease["metadata"]["labels"] == {"of": "somebody"}


def test_a_leader_renews_and_stays_the_same(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    leadership, told = claim("me_1")
    eventually(leadership.leads)
    first = shelf.lease

    eventually(lambda: shelf.lease["metadata"] != first["metadata"])

    assert shelf.lease["spec"] | {"renewTime": ""} == first["spec"] | {"renewTime": ""}
    assert len(told) == 1


def test_the_first_one_makes_the_lease_and_waits(shelf: Shelf, claim: Make) -> None:
    leadership, told = claim("me_1")

    eventually(lambda: told)

    assert told == [StandsBy("")]
    assert str(told[0]) == "nobody leads yet"
    assert shelf.holder == NOBODY
    assert not leadership.leads()


def test_who_resigns_in_good_order_is_followed_at_once(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    first, _ = claim("first_1")
    eventually(first.leads)
    second, told = claim("second_2")
    eventually(lambda: told == [StandsBy("first")])

    first.resign(give_back=True)

    assert not first.leads()
    eventually(second.leads)
    assert shelf.lease["spec"]["leaseTransitions"] == 6


def test_who_does_not_give_it_back_keeps_the_others_waiting(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    leadership, _ = claim("me_1")
    eventually(leadership.leads)

    leadership.resign(give_back=False)

    assert not leadership.leads()
    assert shelf.holder == "me_1"


def test_silence_ends_the_lead_in_time(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    leadership, told = claim("me_1")
    eventually(leadership.leads)

    shelf.silence.touch()

    eventually(lambda: not leadership.leads())
    eventually(lambda: len(told) == 2)
    assert told[1] == Lost("its lease could not be renewed for 6 s")
    assert shelf.holder == "me_1"


def test_a_leader_that_was_replaced_sees_it(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    leadership, told = claim("me_1")
    eventually(leadership.leads)

    shelf.put(dict(lease_of({"name": NAME}, "other_2", 6, "")))

    eventually(lambda: told[-1:] == [Lost("other leads now", late=True)])
    assert not leadership.leads()
    assert shelf.holder == "other_2"


def test_a_lease_taken_away_is_the_end_of_a_lead(shelf: Shelf, claim: Make) -> None:
    shelf.put(free())
    leadership, told = claim("me_1")
    eventually(leadership.leads)

    shelf.put(None)

    eventually(lambda: told[-1:] == [Lost("its lease is gone")])
    assert shelf.lease == {}


def test_one_who_waits_tells_each_trouble_once(shelf: Shelf, claim: Make) -> None:
    shelf.silence.touch()
    _, told = claim("me_1")
    eventually(lambda: shelf.asked >= 3)

    shelf.put(dict(lease_of({"name": NAME}, "other_2", 0, "")))
    shelf.silence.unlink()

    eventually(lambda: len(told) == 2)
    assert str(told[0]) == "the API did not answer within 2 s"
    assert told[1] == StandsBy("other")


def test_a_namespace_that_is_not_there_is_trouble_and_no_hurry(shelf: Shelf, claim: Make) -> None:
    shelf.namespace = "gone"
    _, told = claim("me_1")

    eventually(lambda: shelf.asked >= 4)

    assert told == [StandsBy("", "there is no such namespace")]


@given(city=st.text(min_size=1), city_id=st.text())
def test_a_lease_has_a_name_that_kubernetes_takes(city: str, city_id: str) -> None:
    name = lease_name(city, city_id)

    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name)
    assert len(name) <= 63


def test_the_name_of_a_lease_is_the_same_for_all_and_for_one_city_alone() -> None:
    assert lease_name("Bright_Lights", "id") == lease_name("Bright_Lights", "id")
    assert lease_name("Bright_Lights", "id").startswith("gc-bright-lights-")
    assert lease_name("bright-lights", "id") != lease_name("Bright_Lights", "id")


def test_a_process_is_named_after_its_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POD_NAME", "gc-7d9")

    assert re.fullmatch(r"gc-7d9_[0-9a-f]{8}", own_name())
    assert own_name() != own_name()
