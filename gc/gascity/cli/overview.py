"""What a status document says to people: whom to look at first, and what there is to say of each.

The order is by who needs a person most. How it is drawn is not decided here: `board` draws it on a
terminal, and a pipe gets one whole line an agent.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence

from gascity.cli.render import ago
from gascity.config.problems import visible

Agent = Mapping[str, object]

NEEDS_YOU = ("blocked", "waiting", "auth", "quarantined")
"""The states that only a person can end, or end at once."""

RANKS = (
    ("blocked",),
    ("waiting",),
    ("auth",),
    ("limited",),
    ("quarantined",),
    ("backoff",),
    ("lost",),
    ("unknown",),
    ("pending",),
    ("starting",),
    ("draining",),
    ("ending",),
    ("working",),
    ("ready", "idle"),
    ("stopped",),
    ("suspended",),
)
_RANK = {state: rank for rank, states in enumerate(RANKS) for state in states}

COLUMNS = ("AGENT", "STATE", "PID", "SINCE", "RESTARTS", "PROVIDER", "REASON", "NEXT")


def agents_of(document: Mapping[str, object]) -> list[Agent]:
    """Return the agents of a status document, the most actionable first."""
    agents = document["agents"]
    if not isinstance(agents, list):
        raise TypeError("not a status document")
    return sorted(agents, key=_urgency)


def _urgency(agent: Agent) -> tuple[int, list[tuple[int, int, str]]]:
    rank = _RANK.get(str(agent["state"]), _RANK["unknown"])
    return rank, natural(str(agent["name"]))


def natural(name: str) -> list[tuple[int, int, str]]:
    """Return a key by which `worker-2` comes before `worker-10`."""
    parts = (part for part in re.split(r"([0-9]+)", name) if part)
    return [
        (0, len(part.lstrip("0")), part.lstrip("0")) if "0" <= part[0] <= "9" else (1, 0, part)
        for part in parts
    ]


def headline(document: Mapping[str, object]) -> str:
    """Return the sum: `town: 3 agents: 1 needs you, 2 ready; controller 4711`."""
    controller, agents = document["controller"], agents_of(document)
    if not isinstance(controller, dict):
        raise TypeError("not a status document")
    counts: dict[str, int] = {}
    for agent in agents:
        state = str(agent["state"])
        kind = "" if state in NEEDS_YOU else state
        counts[kind] = counts.get(kind, 0) + 1
    need = counts.pop("", 0)
    told = [f"{need} {'needs' if need == 1 else 'need'} you"] if need else []
    told += [f"{count} {visible(state)}" for state, count in counts.items()]
    total = {0: "no agents", 1: "1 agent"}.get(len(agents), f"{len(agents)} agents")
    running = f"controller {controller['pid']}" if controller["running"] else "no controller runs"
    parts = [visible(str(document["city"])), total, ", ".join(told)]
    return ": ".join(part for part in parts if part) + f"; {running}"


def troubles(document: Mapping[str, object]) -> list[str]:
    """Return a line for each trouble of the controller: an older city, a lost journal."""
    controller = document["controller"]
    if not isinstance(controller, dict):
        return []
    said = {
        "config_problem": "the city file is refused, an older city runs",
        "journal_problem": "what happens is not written down",
    }
    return [
        f"{words}: {one_line(controller[key])}"
        for key, words in said.items()
        if controller.get(key)
    ]


def strangers(document: Mapping[str, object]) -> list[str]:
    """Return the line that names sessions which look like ours and are not, if there are any."""
    found = document.get("foreign")
    names = [one_line(one["session"]) for one in found] if isinstance(found, list) else []
    if not names:
        return []
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return [f"not made by this city, and left alone: {shown}"]


def plain_rows(agents: Sequence[Agent], now: float) -> list[list[str]]:
    """Return the table as a pipe gets it: `COLUMNS`, with nothing left out."""
    return [
        [
            one_line(agent["name"]),
            one_line(agent["state"]),
            pid(agent),
            since(agent, now),
            str(agent["restarts"]),
            one_line(agent["provider"]),
            "; ".join(part for part in (reason(agent, now), *_marked(agent)) if part),
            next_step(agent),
        ]
        for agent in agents
    ]


def _marked(agent: Agent) -> list[str]:
    attached = agent.get("attached")
    told = [f"{attached} attached"] if isinstance(attached, int) and attached else []
    return [*told, "drifted"] if agent.get("drift") else told


def reason(agent: Agent, now: float) -> str:
    """Return why the agent stands as it does, and when something will be done about it."""
    return f"{one_line(agent['reason'])} {until(agent, now)}".strip()


def until(agent: Agent, now: float) -> str:
    """Return when something will be done about the agent, in parentheses, if that is known."""
    next_at = agent["next_at"]
    return f"({when(next_at, now)})" if isinstance(next_at, int | float) else ""


def next_step(agent: Agent) -> str:
    """Return what comes next for the agent; the empty string where nothing does."""
    return one_line(agent.get("next") or "")


def since(agent: Agent, now: float) -> str:
    """Return for how long the agent stands as it does; `-` where that is not known."""
    moment = agent.get("state_since", agent["since"])
    return ago(now - moment) if isinstance(moment, int | float) else "-"


def pid(agent: Agent) -> str:
    """Return the process of the agent; `-` where there is none."""
    return "-" if agent["pid"] is None else str(agent["pid"])


def when(moment: float, now: float) -> str:
    """Return a time to come: `in 12s`, after an hour `at 14:05`, after a day with the day."""
    left = moment - now
    if left < 3600:
        return f"in {ago(left)}"
    try:
        local = time.localtime(moment)
    except (OverflowError, OSError, ValueError):
        return "not soon"
    return time.strftime("at %H:%M" if left < 86400 else "on %Y-%m-%d at %H:%M", local)


def one_line(text: object) -> str:
    """Return a text on one line, with all that a terminal would act on written out."""
    return visible(" ".join(str(text).split()))
