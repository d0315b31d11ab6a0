"""`gc diff`: what is different between the city file and what its agents were started with."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli import render
from gascity.cli.city import Here, find_agents, remembered
from gascity.cli.options import AsJson, complete_agents, not_empty
from gascity.cli.quick import STATUS_TIMEOUT
from gascity.core.difference import Change, FieldChange, shown
from gascity.errors import Exit, NotRunning

if TYPE_CHECKING:
    from gascity.core.model import AgentSpec, City
    from gascity.core.observed import Observation, SessionState

SAME, DRIFTED, NOT_RUNNING, UNKNOWN = "same", "drifted", "not running", "unknown"
_THEN = {
    "restart": "it is restarted",
    "drain": "it is asked to drain, and started anew",
    "notify": "it is left as it is (on_drift)",
}


@dataclass(frozen=True, slots=True)
class Drift:
    """How far an agent is from its city file; printed as JSON with exactly these keys.

    `then` says what is done about it; `next_at` is when, in seconds since the epoch.
    """

    name: str
    state: str
    then: str = ""
    next_at: float | None = None
    fields: tuple[FieldChange, ...] = ()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(name="diff")(diff)


def diff(
    context: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT",
            callback=not_empty,
            autocompletion=complete_agents,
            help="Only these agents or pools.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what changed in the city file since agents were started, and what is done about it.

    Ends with 1 when something did, with 0 when nothing did.
    """
    found = drifts(context.obj, agents or [])
    if as_json:
        document = {"agents": [asdict(one) for one in found]}
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for one in found:
            _print(one)
        if not found:
            typer.echo("no agent runs")
    drifted = any(one.state in (DRIFTED, UNKNOWN) for one in found)
    return Exit.FAILED if drifted else Exit.OK


def drifts(here: Here, words: list[str]) -> list[Drift]:
    """Return how far these agents are from the city file; all that there are for no words.

    A pool's empty places are told of only where they are meant by name.
    """
    from gascity.core.model import declared

    city = here.load()
    specs = find_agents(city, words) if words else list(declared(city.desired))
    seen = _look(city)
    views = _views(here)
    found = [(spec, _drift(spec, seen, views, city.desired.city_id)) for spec in specs]
    return [drift for spec, drift in found if words or not spec.pool or drift.state != NOT_RUNNING]


def _look(city: City) -> dict[str, Observation]:
    from gascity.controller.observe import look
    from gascity.controller.opening import open_providers
    from gascity.controller.place import Place

    place = Place(city.root)
    providers = open_providers(city, place, remembered(place.journal))
    try:
        return {name: look(provider, []) for name, provider in providers.items()}
    finally:
        for provider in providers.values():
            provider.close()


def _views(here: Here) -> dict[str, Mapping[str, object]] | None:
    """Return the controller's view of each agent; None where no controller runs."""
    try:
        document = here.ask("status", {}, timeout=STATUS_TIMEOUT)
    except NotRunning:
        return None
    agents = document.get("agents") if isinstance(document, dict) else None
    return {str(agent["name"]): agent for agent in agents} if isinstance(agents, list) else {}


def _drift(
    spec: AgentSpec,
    seen: Mapping[str, Observation],
    views: Mapping[str, Mapping[str, object]] | None,
    city_id: str,
) -> Drift:
    from gascity.core.drift import drifted_fields
    from gascity.core.observed import CONFIG_HASH, Unseen

    observed = seen.get(spec.provider)
    if isinstance(observed, Unseen):
        return Drift(spec.name, UNKNOWN, f"{spec.provider} does not answer: {observed.reason}")
    provider, state = _living(spec, seen, city_id)
    if state is None:
        return Drift(spec.name, NOT_RUNNING)
    moved = (
        (FieldChange("session", Change.CHANGED, provider, spec.provider),)
        if provider != spec.provider
        else ()
    )
    if state.meta.get(CONFIG_HASH) == spec.fingerprint and not moved:
        return Drift(spec.name, SAME)
    then, next_at = what_follows(spec, views)
    return Drift(spec.name, DRIFTED, then, next_at, (*drifted_fields(spec, state), *moved))


def _living(
    spec: AgentSpec, seen: Mapping[str, Observation], city_id: str
) -> tuple[str, SessionState | None]:
    """Return the agent's session and where it lives: on its provider, or on a former one."""
    from gascity.core.observed import CITY_ID, Alive, Seen

    for provider in (spec.provider, *sorted(seen.keys() - {spec.provider})):
        observed = seen.get(provider)
        state = observed.sessions.get(spec.session) if isinstance(observed, Seen) else None
        mine = state is not None and state.meta.get(CITY_ID) == city_id
        if state is not None and mine and isinstance(state.life, Alive):
            return provider, state
    return spec.provider, None


def what_follows(
    spec: AgentSpec, views: Mapping[str, Mapping[str, object]] | None
) -> tuple[str, float | None]:
    """Say what is done about the drift, by whom, and when."""
    usual = _THEN[spec.on_drift]
    if views is None:
        return f"no controller runs; under the next one {usual}", None
    view = views.get(spec.name, {})
    if view.get("fingerprint") != spec.fingerprint:
        return f"the controller has not read this city file; when it has, {usual}", None
    if not view.get("drift") and view.get("state") != "starting":
        return usual, None
    next_at = view.get("next_at")
    reason = str(view.get("reason") or usual)
    return reason, float(next_at) if isinstance(next_at, int | float) else None


def _print(drift: Drift) -> None:
    from gascity.config.problems import visible

    when = "" if drift.next_at is None else f" (in {render.ago(drift.next_at - time.time())})"
    then = f"; {drift.then}{when}" if drift.then else ""
    typer.echo(f"{drift.name}: {drift.state}{visible(then)}")
    for change in drift.fields:
        typer.echo(f"  {visible(change.field)}")
        for line in shown(change):
            text = f"    {visible(line)}"
            colour = {"-": "31", "+": "32", "@": "36"}.get(line[:1], "")
            typer.echo(render.colour(text, colour) if colour else text)
    if drift.state == DRIFTED and not drift.fields:
        typer.echo("  what it was started with is not kept, so the field cannot be named")
