"""What the controller heard from an agent's hook, for `gc explain`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gascity.cli.city import Here
from gascity.cli.story import fact
from gascity.errors import NotRunning, RemoteError, Unreachable

TIMEOUT = 5.0

Reported = Mapping[str, object]


def reported(here: Here, agent: str) -> Reported | None:
    """Return the last report of an agent's hook; None where there is none, or nobody to ask."""
    try:
        answered = here.ask("reported", {"agents": [agent]}, timeout=TIMEOUT)
    except (NotRunning, Unreachable, RemoteError):
        return None
    found = answered.get("report") if isinstance(answered, dict) else None
    return found if isinstance(found, dict) else None


def speaker(report: Reported | None) -> str:
    """Return who says what the agent does: "hook" or "screen"."""
    return "hook" if report is not None and report.get("counts") is True else "screen"


def told(report: Reported) -> str:
    """Return the report in words: what was said, how long ago, and whether that counts."""
    kind = report.get("kind") or "nothing of what it does"
    said = f"{kind}: {report.get('evidence')}, {report.get('age')} s ago"
    return said if report.get("counts") is True else f"{said}; the screen counts"


def without_screen(agent: str, report: Reported, *, as_json: bool) -> str:
    """Return all there is to say of an agent that has no screen, and a hook that reports."""
    if as_json:
        return json.dumps({"agent": agent, "spoke": speaker(report), "hook": report}, indent=2)
    return "\n".join([fact("agent", agent), fact("hook", told(report))])
