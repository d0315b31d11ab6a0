"""The document that `gc status --json` prints and the controller's socket answers with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from gascity.core.views import AgentView


def status_document(
    city: str,
    controller_pid: int | None,
    views: Iterable[AgentView],
    config_problem: str = "",
    journal_problem: str = "",
    foreign: Iterable[tuple[str, str]] = (),
    alerts: Iterable[Mapping[str, object]] = (),
) -> dict[str, object]:
    """Return the state of a city as plain JSON values. Its keys are a promise to scripts.

    `config_problem` says why the controller keeps a city that is older than its file,
    `journal_problem` why what happens is not written down at the moment. `foreign` are
    sessions with a name like ours, by provider, that this city did not make; `alerts` are open.
    """
    return {
        "city": city,
        "controller": {
            "running": controller_pid is not None,
            "pid": controller_pid,
            "config_problem": config_problem or None,
            "journal_problem": journal_problem or None,
        },
        "agents": [asdict(view) for view in views],
        "foreign": [{"provider": provider, "session": name} for provider, name in foreign],
        "alerts": [dict(alert) for alert in alerts],
    }
