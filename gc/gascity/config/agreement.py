"""What must agree across a city: every name once, every reference to something that is there."""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Mapping, Sequence

from gascity.config.members import Entry
from gascity.config.places import Path
from gascity.config.problems import quoted
from gascity.config.report import Report
from gascity.core.model import AgentSpec

Declared = Sequence[tuple[Entry, tuple[AgentSpec, ...]]]

PARALLEL = "parallel"  # the setting that every provider has
_LARGEST_INTEGER = 2**63
_MOST_CYCLES = 10


def check_agreement(declared: Declared, report: Report) -> None:
    """Report names and sessions that meet, and dependencies that cannot be followed."""
    _check_names(declared, report)
    _check_depends_on([entry for entry, _ in declared], report)


def check_settings(
    settings: Mapping[str, Mapping[str, object]], known: Collection[str], report: Report
) -> None:
    """Report tables `[session.NAME]` of providers nobody knows, and values that make no sense.

    A provider checks its own keys; here it is numbers TOML does not have, and `parallel`.
    """
    for name, table in settings.items():
        if name not in known:
            report.unknown(("session", name), "session provider", name, known)
        parallel = table.get(PARALLEL, 1)
        if not isinstance(parallel, int) or isinstance(parallel, bool) or parallel < 1:
            report.at(("session", name, PARALLEL), "must be a whole number above zero")
        _check_integers(table, ("session", name), report)


def _check_integers(value: object, path: Path, report: Report) -> None:
    match value:
        case Mapping():
            for key, inner in value.items():
                _check_integers(inner, (*path, key), report)
        case list():
            for index, inner in enumerate(value):
                _check_integers(inner, (*path, index), report)
        case int() if not -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
            report.at(path, "an integer of more than 64 bits")
        case _:
            pass


def _check_names(declared: Declared, report: Report) -> None:
    names: dict[str, Entry] = {}
    sessions: dict[str, str] = {}
    for entry, specs in declared:
        for name in dict.fromkeys((entry.name, *(spec.name for spec in specs))):
            if (other := names.setdefault(name, entry)) is not entry:
                report.at((*entry.path, "name"), _met(name, entry, other))
                break
        else:
            for spec in specs:
                if (taken := sessions.setdefault(spec.session, spec.name)) != spec.name:
                    report.at(
                        (*entry.path, "name"),
                        f"agents {quoted(taken)} and {quoted(spec.name)} would share "
                        f"the session {quoted(spec.session)}",
                        "session_template must tell them apart",
                    )
                    break


def _met(name: str, entry: Entry, other: Entry) -> str:
    if entry.name == other.name:
        return f"there are two agents {quoted(name)}"
    pool = entry if name != entry.name else other
    return f"agent {quoted(name)} is also a member of the pool {quoted(pool.name)}"


def _check_depends_on(entries: Sequence[Entry], report: Report) -> None:
    names = {entry.name: entry for entry in entries}
    graph: dict[str, set[str]] = {}
    for entry in entries:
        wanted = graph.setdefault(entry.name, set())
        for index, name in enumerate(entry.table.depends_on):
            at = (*entry.path, "depends_on", index)
            if name == entry.name:
                report.at(at, f"{quoted(name)} depends on itself")
            elif name not in names:
                report.unknown(at, "agent or pool", name, names)
            else:
                wanted.add(name)
    for _ in range(_MOST_CYCLES):
        try:
            graphlib.TopologicalSorter(graph).prepare()
        except graphlib.CycleError as error:
            # The sorter lists each node before the one that depends on it.
            cycle = [str(name) for name in error.args[1]][::-1]
            way = " -> ".join(cycle if len(cycle) <= 10 else [*cycle[:9], "...", cycle[-1]])
            report.at((*names[cycle[0]].path, "depends_on"), f"depends_on goes in a circle: {way}")
            graph[cycle[0]].discard(cycle[1])
        else:
            return
