"""The document that `gc status --json` prints and the controller's socket answers with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from gascity.controller.standing import Place, place_of
from gascity.core.advice import next_step
from gascity.core.views import AgentView

NOBODY = "no controller runs"
"""Why an agent is down that would be up if its city were kept."""


def status_document(
    city: str,
    controller_pid: int | None,
    views: Iterable[AgentView],
    config_problem: str = "",
    journal_problem: str = "",
    foreign: Iterable[tuple[str, str]] = (),
    alerts: Iterable[Mapping[str, object]] = (),
    state_since: Mapping[Place, float] | None = None,
    now: float = 0.0,
) -> dict[str, object]:
    """Return the state of a city as plain JSON values. Its keys are a promise to scripts.

    `config_problem` says why the controller keeps a city that is older than its file,
    `journal_problem` why what happens is not written down at the moment. `foreign` are
    sessions with a name like ours, by provider, that this city did not make; `alerts` are open.
    Without `state_since`, an agent stands as it does since its session was made, for all that is
    known. Who was muted until before `now` is not.
    """
    return {
        "city": city,
        "controller": {
            "running": controller_pid is not None,
            "pid": controller_pid,
            "config_problem": config_problem or None,
            "journal_problem": journal_problem or None,
        },
        "agents": [agent_document(view, state_since, now) for view in views],
        "foreign": [{"provider": provider, "session": name} for provider, name in foreign],
        "alerts": [dict(alert) for alert in alerts],
    }


def agent_document(
    view: AgentView, state_since: Mapping[Place, float] | None, now: float
) -> dict[str, object]:
    """Return one agent of the document."""
    since = view.since if state_since is None else state_since.get(place_of(view))
    step = "`gc start` brings it up" if view.reason == NOBODY else next_step(view)
    muted = view.muted_until if (view.muted_until or 0.0) > now else None
    return {**asdict(view), "muted_until": muted, "state_since": since, "next": step}
