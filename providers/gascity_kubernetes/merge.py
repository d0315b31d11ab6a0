"""Laying our pod over the person's template.

Mappings are merged key by key. Lists of things that have a name (containers, volumes, variables,
mounts) are merged by that name; other lists hold what both say. Where both say something about the
same thing, ours stands.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

# How the entries of a list are told apart, by what the list is called.
_KEYS = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "volumeMounts": "mountPath",
    "imagePullSecrets": "name",
    "ports": "containerPort",
}


def merged(base: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, ours above the base; neither is changed."""
    whole = copy.deepcopy(dict(base))
    for key, value in ours.items():
        whole[key] = _value(key, whole.get(key), value)
    return whole


def _value(name: str, base: object, ours: object) -> object:
    if isinstance(base, dict) and isinstance(ours, dict):
        return merged(base, ours)
    if isinstance(base, list) and isinstance(ours, list):
        return _list(_KEYS.get(name, ""), base, ours)
    return copy.deepcopy(ours)


def _list(key: str, base: list[Any], ours: list[Any]) -> list[Any]:
    if not key:
        return copy.deepcopy([*base, *(one for one in ours if one not in base)])
    by_key = {str(one.get(key)): one for one in ours if isinstance(one, dict)}
    whole = [
        merged(one, by_key.pop(str(one.get(key)), {})) if isinstance(one, dict) else one
        for one in base
    ]
    return [*whole, *copy.deepcopy(list(by_key.values()))]
