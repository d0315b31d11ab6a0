"""Whether a city is well: what `gc health` answers a monitor.

A function of the status document, so that it says the same whoever made that. Whatever a person
was to be told of and that lasts is a problem. What the city does not want up is none, and neither
is what a person muted or sees anyway: that is noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace

from gascity.core.alerts import Severity
from gascity.core.views import State

Fields = Mapping[str, object]
"""A part of the status document."""

_TROUBLES: Mapping[str, Severity] = {
    State.BLOCKED: Severity.CRITICAL,
    State.AUTH: Severity.CRITICAL,
    State.QUARANTINED: Severity.CRITICAL,
    State.BACKOFF: Severity.WARNING,
    State.UNKNOWN: Severity.WARNING,
    State.LOST: Severity.WARNING,
}
_NOTED = frozenset(
    {
        State.WAITING,
        State.LIMITED,
        State.PENDING,
        State.ENDING,
        State.SUSPENDED,
        State.DRAINING,
        State.STOPPED,
    }
)
_RANK = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}
_OF_CONTROLLER = {
    "config_problem": "the city file is refused, an older city runs",
    "journal_problem": "what happens is not written down",
}

_SAID = {"config_problem": "city", "journal_problem": "journal"}  # the keys of their alerts


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know. `agent` and `state` are "" for one of the city itself.

    `since` is when it began, where that is known.
    """

    severity: Severity
    agent: str
    state: str
    text: str
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What is wrong with a city, the worst first, and what is worth a note."""

    city: str
    problems: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether nobody has to look."""
        return not self.problems

    def document(self) -> dict[str, object]:
        """Return it for programs. Its keys are a promise to scripts."""
        return {
            "healthy": self.healthy,
            "city": self.city,
            "problems": [asdict(finding) for finding in self.problems],
            "notes": [asdict(finding) for finding in self.notes],
        }


def health(status: Fields, now: float) -> Health:
    """Return how a city is; `status` is the document that `gc status --json` prints."""
    controller = status.get("controller")
    facts = controller if isinstance(controller, Mapping) else {}
    runs = bool(facts.get("running"))
    alerts, agents = _tables(status, "alerts"), _tables(status, "agents")
    told = [alert for alert in alerts if not alert.get("muted")]
    muted = {_text(alert, "agent") for alert in alerts if alert.get("muted")} - {""}
    muted |= {_text(one, "name") for one in agents if (_time(one, "muted_until") or 0.0) > now}
    found = [*_of_controller(facts, runs=runs), *_of_agents(agents, told, runs=runs)]
    said = {key for fact, key in _SAID.items() if facts.get(fact)}
    untold = [alert for alert in told if _text(alert, "key") not in said]
    found += _of_alerts(untold, {_text(agent, "name"): agent for agent in agents})
    problems: list[Finding] = []
    notes: list[Finding] = []
    for one in found:
        if one.agent in muted:
            notes.append(replace(one, text=f"{one.text} (muted)"))
        else:
            (notes if one.severity is Severity.INFO else problems).append(one)
    silent = sorted(muted - {one.agent for one in notes})
    notes += [Finding(Severity.INFO, name, "", f"{name} is muted") for name in silent]
    return Health(_text(status, "city"), _ranked(problems), _ranked(notes))


def unanswered(city: str, why: str) -> Health:
    """Return the health of a city whose controller is there and says nothing."""
    return Health(city, (Finding(Severity.CRITICAL, "", "", why),))


def _ranked(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda one: (_RANK[one.severity], one.agent, one.text)))


def _of_controller(facts: Fields, *, runs: bool) -> Iterator[Finding]:
    if not runs:
        yield Finding(Severity.CRITICAL, "", "", "no controller runs")
    for key, words in _OF_CONTROLLER.items():
        if facts.get(key):
            yield Finding(Severity.WARNING, "", "", f"{words}: {_text(facts, key)}")


def _of_agents(
    agents: Iterable[Fields], alerts: Iterable[Fields], *, runs: bool
) -> Iterator[Finding]:
    by_agent: dict[str, list[Fields]] = {}
    for alert in alerts:
        by_agent.setdefault(_text(alert, "agent"), []).append(alert)
    for agent in agents:
        name, state, reason = (_text(agent, key) for key in ("name", "state", "reason"))
        text = f"{name} is {state}" + (f": {reason}" if reason else "")
        same = [one for one in by_agent.get(name, ()) if _is_of_state(one, agent)]
        if state in _TROUBLES or (state in _NOTED and (runs or state != State.STOPPED)):
            own = _TROUBLES.get(state, Severity.INFO)
            worst = min([own, *map(_severity, same)], key=_RANK.__getitem__)
            times = [_time(agent, "state_since"), *(_time(one, "since") for one in same)]
            began = [at for at in times if at is not None]
            yield Finding(worst, name, state, text, min(began, default=None))
        if agent.get("drift") and state not in _TROUBLES and runs:
            text = f"{name} runs with an older configuration, and waits to be replaced"
            yield Finding(Severity.INFO, name, state, text)


def _of_alerts(alerts: Iterable[Fields], agents: Mapping[str, Fields]) -> Iterator[Finding]:
    """Yield the open alerts that no agent's own line tells already."""
    for alert in alerts:
        name, text = _text(alert, "agent"), _text(alert, "text")
        if name not in agents or not _is_of_state(alert, agents[name]):
            yield Finding(_severity(alert), name, "", text, _time(alert, "since"))


def _is_of_state(alert: Fields, agent: Fields) -> bool:
    """Tell whether an alert is raised for the state that its agent is in, and has a line for."""
    state, reason, text = _text(agent, "state"), _text(agent, "reason"), _text(alert, "text")
    if state not in _TROUBLES and state not in _NOTED:
        return False
    kind = _text(alert, "key").partition(":")[0]
    return bool(kind and state.startswith(kind)) or bool(reason and reason in text)


def _severity(alert: Fields) -> Severity:
    """Return how much an alert matters; a word that only a newer gc knows counts as the worst."""
    word = _text(alert, "severity")
    return Severity(word) if word in set(Severity) else Severity.CRITICAL


def _time(table: Fields, key: str) -> float | None:
    at = table.get(key)
    return float(at) if isinstance(at, int | float) else None


def _tables(document: Fields, key: str) -> list[Fields]:
    found = document.get(key)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _text(table: Fields, key: str) -> str:
    value = table.get(key)
    return "" if value is None else str(value)
