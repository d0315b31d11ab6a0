"""Taking the misshapen parts out of a document, so that the rest can still be checked."""

from __future__ import annotations

from collections.abc import Sequence

from gascity.config.places import Path


def prune(document: dict[str, object], faulty: Sequence[Path]) -> bool:
    """Take the keys with `faulty` paths out of their tables; tell whether the rest makes sense.

    It does not when the name of an agent is lost or the settings of the whole city are in doubt:
    most of what could be found then would follow from the first problem.
    """
    return all(_taken(document, path) for path in faulty)


def _taken(document: dict[str, object], path: Path) -> bool:
    match path:
        case ("daemon" | "alerts" as table, str(key), *_):
            inside: object = document.get(table)
        case ("agents", int(index), str(key), *_) if key not in {"name", "dir"}:
            agents = document.get("agents")
            inside = agents[index] if isinstance(agents, list) else None
        case ("providers", str(name), str(key), *_) if key != "[key]":
            providers = document.get("providers")
            inside = providers.get(name) if isinstance(providers, dict) else None
        case _:
            return False
    if isinstance(inside, dict):
        inside.pop(key, None)
    return True
