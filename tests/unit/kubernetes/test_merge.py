"""A template below our pod: both are there, and where they disagree ours stands."""

from __future__ import annotations

import copy
from typing import Any

from gascity_kubernetes.merge import merged


def test_what_only_one_of_them_says_is_kept() -> None:
    assert merged({"a": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_where_both_say_something_ours_stands() -> None:
    assert merged({"a": {"x": 1, "y": 1}}, {"a": {"x": 2}}) == {"a": {"x": 2, "y": 1}}


def test_a_template_may_leave_things_empty() -> None:
    assert merged({"labels": None, "spec": {}}, {"labels": {"a": "b"}}) == {
        "labels": {"a": "b"},
        "spec": {},
    }


def test_containers_are_told_apart_by_their_names() -> None:
    base = {"containers": [{"name": "side", "image": "s"}, {"name": "agent", "stdin": True}]}

    found = merged(base, {"containers": [{"name": "agent", "image": "a"}]})

    assert found["containers"] == [
        {"name": "side", "image": "s"},
        {"name": "agent", "stdin": True, "image": "a"},
    ]


def test_a_variable_of_both_has_our_value_and_no_other() -> None:
    ours = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}

    found = merged({"env": [{"name": "KEY", "value": "plain"}, {"name": "B"}]}, {"env": [ours]})

    assert found["env"] == [ours, {"name": "B"}]


def test_a_volume_of_both_has_our_source_and_no_other() -> None:
    ours = {"name": "cache", "persistentVolumeClaim": {"claimName": "c"}}

    found = merged({"volumes": [{"name": "cache", "emptyDir": {}}]}, {"volumes": [ours]})

    assert found["volumes"] == [ours]


def test_a_place_of_both_holds_our_volume() -> None:
    ours = {"name": "mine", "mountPath": "/data"}
    theirs = {"name": "theirs", "mountPath": "/data", "subPath": "deep", "readOnly": True}

    assert merged({"volumeMounts": [theirs]}, {"volumeMounts": [ours]})["volumeMounts"] == [ours]


def test_lists_without_names_hold_what_both_say_once() -> None:
    base = {"tolerations": [{"key": "a"}, {"key": "b"}]}

    assert merged(base, {"tolerations": [{"key": "b"}, {"key": "c"}]}) == {
        "tolerations": [{"key": "a"}, {"key": "b"}, {"key": "c"}]
    }


def test_neither_is_changed_and_nothing_is_shared() -> None:
    base: dict[str, Any] = {"env": [{"name": "A"}], "meta": {"x": {"y": 1}}, "l": [{"k": 1}]}
    ours: dict[str, Any] = {"env": [{"name": "B", "deep": {}}], "n": {"z": [1]}, "l": [{"k": 2}]}
    before = copy.deepcopy((base, ours))

    found = merged(base, ours)
    found["env"][0]["name"] = found["env"][1]["deep"]["new"] = "changed"
    found["meta"]["x"]["y"] = found["n"]["z"][0] = found["l"][0]["k"] = found["l"][1]["k"] = 9

    assert (base, ours) == before
