"""One-shot backends that are classes, found by entry point `gascity.backends`.

Here they are only known by name and by where they are; who runs one loads it. Reading entry points
is slow, so those that come with `gc` stand in a table, and the installed packages are searched for
a name that is not in it.
"""

from __future__ import annotations

GROUP = "gascity.backends"
SHIPPED = {
    "perplexity": "gascity.runs.rest.perplexity:Perplexity",
    "xai": "gascity.runs.rest.xai:Xai",
}


def where(name: str) -> str:
    """Return `module:Class` of the backend of that name; the empty string when there is none."""
    return SHIPPED.get(name) or _installed().get(name, "")


def _installed() -> dict[str, str]:
    from importlib.metadata import entry_points  # noqa: PLC0415  80 ms that few runs need

    return {point.name: point.value for point in entry_points(group=GROUP)}
