"""What a monitor may want to know of a city as numbers: what `gc metrics` prints.

A function of the status document and of what the journal has counted. Every sample has the name of
its city, so that the files of several cities can be read together. Every state and severity has a
sample, also where it is 0: an alarm on one that never was would otherwise never be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gascity.core.actions import EventType
from gascity.core.alerts import Severity
from gascity.core.nudges import NudgeState
from gascity.core.views import UP, State
from gascity.patrol.exposition import Family, Kind, text_of

Fields = Mapping[str, object]
"""A part of the status document."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the journal has counted: events and messages, by type and state.

    `last_event` is when the last event happened, `size` how many bytes the journal takes.
    """

    events: Mapping[str, int] = field(default_factory=dict)
    nudges: Mapping[str, int] = field(default_factory=dict)
    last_event: float | None = None
    size: int = 0


def metrics(status: Fields, counted: Counted | None, *, answers: bool, version: str) -> str:
    """Return the numbers of a city as text for Prometheus.

    `answers` says whether its controller does; `counted` is None where the journal cannot be read.
    """
    agents = _once(_tables(status, "agents"))
    families = [
        _one("gc_build_info", "The gc that wrote this, as a label.", 1, version=version),
        _one("gc_up", "Whether a controller runs and answers.", answers),
        *_of_controller(status),
        *_of_city(status, agents),
        *_of_agents(agents),
        *_of_alerts(_tables(status, "alerts")),
        *([] if counted is None else _of_journal(counted)),
    ]
    return text_of(families, {"city": str(status.get("city", ""))})


def _one(name: str, about: str, value: float, **labels: str) -> Family:
    family = Family(name, Kind.GAUGE, about)
    family.add(value, **labels)
    return family


def _of_controller(status: Fields) -> list[Family]:
    controller = status.get("controller")
    if not isinstance(controller, Mapping) or not controller.get("running"):
        return []
    return [
        _one(
            "gc_config_accepted",
            "Whether the controller keeps the city that the city file declares now.",
            not controller.get("config_problem"),
        ),
        _one(
            "gc_journal_written",
            "Whether what happens can be written down.",
            not controller.get("journal_problem"),
        ),
    ]


def _once(agents: Iterable[Fields]) -> list[Fields]:
    """Return each agent once: of one that moves to another provider, the session that runs."""
    found: dict[str, Fields] = {}
    for agent in agents:
        name = str(agent.get("name"))
        if name not in found or _lives(agent):
            found[name] = agent
    return list(found.values())


def _lives(agent: Fields) -> bool:
    """Tell whether it has a session that lives; on another machine that has no process here."""
    return agent.get("pid") is not None or agent.get("since") is not None


def _of_city(status: Fields, agents: Iterable[Fields]) -> list[Family]:
    counted = Family("gc_agents", Kind.GAUGE, "How many agents are in which state.")
    states = [str(agent.get("state")) for agent in agents]
    for state in dict.fromkeys([*map(str, State), *states]):
        counted.add(states.count(state), state=state)
    foreign = _tables(status, "foreign")
    about = "Sessions with a name like ours that this city did not make."
    return [counted, _one("gc_foreign_sessions", about, len(foreign))]


def _of_agents(agents: Iterable[Fields]) -> list[Family]:
    up = Family("gc_agent_up", Kind.GAUGE, "Whether an agent runs, whatever it can do now.")
    state = Family("gc_agent_state", Kind.GAUGE, "1 for the state an agent is in.")
    drift = Family("gc_agent_drifted", Kind.GAUGE, "Whether it runs with an older configuration.")
    numbers = {
        "restarts": Family("gc_agent_restarts_total", Kind.COUNTER, "Restarts after a crash."),
        "failures": Family("gc_agent_start_failures_total", Kind.COUNTER, "Starts that failed."),
        "requests": Family(
            "gc_agent_requested_restarts_total",
            Kind.COUNTER,
            "New incarnations that a person or the agent asked for.",
        ),
        "attached": Family("gc_agent_attached", Kind.GAUGE, "Terminals that show it to somebody."),
        "since": Family(
            "gc_agent_started_timestamp_seconds",
            Kind.GAUGE,
            "When what runs was started, in seconds since the epoch.",
        ),
        "next_at": Family(
            "gc_agent_next_action_timestamp_seconds",
            Kind.GAUGE,
            "When something will be done about it, in seconds since the epoch.",
        ),
    }
    for agent in agents:
        name, word = str(agent.get("name")), str(agent.get("state"))
        runs = word in UP or (word == State.DRAINING and _lives(agent))
        up.add(runs, agent=name)
        state.add(1, agent=name, state=word)
        drift.add(bool(agent.get("drift")), agent=name)
        for key, family in numbers.items():
            if isinstance(value := agent.get(key), int | float):
                family.add(value, agent=name)
    return [up, state, drift, *numbers.values()]


def _of_alerts(alerts: Iterable[Fields]) -> list[Family]:
    opened = Family("gc_alerts_open", Kind.GAUGE, "Troubles that are not known to be over.")
    muted = Family("gc_alerts_muted", Kind.GAUGE, "Those of them that nobody wants to hear of.")
    found = [(str(one.get("severity")), bool(one.get("muted"))) for one in alerts]
    for severity in dict.fromkeys([*map(str, Severity), *(word for word, _ in found)]):
        quiet = [hushed for word, hushed in found if word == severity]
        opened.add(len(quiet), severity=severity)
        muted.add(sum(quiet), severity=severity)
    return [opened, muted]


def _of_journal(counted: Counted) -> list[Family]:
    events = Family("gc_events_total", Kind.COUNTER, "Events, those counted that are not kept.")
    for kind in dict.fromkeys([*map(str, EventType), *counted.events]):
        events.add(counted.events.get(kind, 0), type=kind)
    nudges = Family("gc_nudges", Kind.GAUGE, "Messages that are kept, by what became of them.")
    for state in dict.fromkeys([*map(str, NudgeState), *counted.nudges]):
        nudges.add(counted.nudges.get(state, 0), state=state)
    families = [events, nudges, _one("gc_journal_bytes", "The size of the journal.", counted.size)]
    if counted.last_event is not None:
        about = "When the last event happened, in seconds since the epoch."
        families.append(_one("gc_last_event_timestamp_seconds", about, counted.last_event))
    return families


def _tables(document: Fields, key: str) -> list[Fields]:
    found = document.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
