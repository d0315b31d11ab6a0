"""`gc reset`, `gc drain`, `gc undrain`: change what should be of agents, and say how they stand.

Without a controller the change is kept in the journal, under the city's lock, for the next one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli.city import Here, find_agents, names_meant
from gascity.cli.options import AgentNames, AsJson, not_empty, seconds
from gascity.cli.quick import STOP_TIMEOUT
from gascity.errors import CityHeld, Exit, NotRunning, UsageError

if TYPE_CHECKING:
    from gascity.core.model import AgentSpec

Standings = list[dict[str, object]]
SLACK = 10.0  # seconds that the controller may need besides those it waits
LONGEST = 86_400.0
_FORGOTTEN = {
    "quarantine": "released from quarantine",
    "crashes": "its crashes are forgotten",
    "rest": "its rest is over",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(reset)
    app.command()(drain)
    app.command()(undrain)


def reset(context: typer.Context, agents: AgentNames, as_json: AsJson = False) -> int:
    """Forget crashes, failed starts and quarantine; what should run is started at once."""
    here: Here = context.obj
    names = names_meant(here, agents)

    def alone() -> Standings:
        from gascity.cli.alone import reset_agents
        from gascity.core.by_hand import burden

        specs = find_agents(here.load(), names)
        before = reset_agents(here, specs)
        return [
            {**stands, "forgotten": burden(before.of(spec.session))}
            for spec, stands in zip(specs, _standings_alone(here, specs), strict=True)
        ]

    found = asked_or_alone(here, "reset", {"agents": names}, STOP_TIMEOUT, alone)
    if as_json:
        _print_json(found)
        return Exit.OK
    for one in found:
        was = _FORGOTTEN.get(str(one["forgotten"]), "there was nothing to forget")
        typer.echo(f"{one['name']}: {was}; {_state(one)}")
    return Exit.OK


def drain(
    context: typer.Context,
    agents: AgentNames,
    wait: Annotated[bool, typer.Option("--wait", help="Return when all of them are down.")] = False,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="With --wait: for how long.",
            show_default="10m",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Have agents finish their work and stay down until `gc undrain`.

    Returns when they are asked. One that does not say `gc drain-ack` within its `drain_timeout` is
    stopped all the same.
    """
    if timeout is not None and not wait:
        raise UsageError("--timeout is how long to wait: it needs --wait")
    patience = seconds("--timeout", timeout or "10m", least=1.0, most=LONGEST)
    here: Here = context.obj
    names = names_meant(here, agents)

    def alone() -> Standings:
        from gascity.cli.alone import drain_agents

        if wait:
            raise NotRunning(
                "no controller runs for this city, so nobody would stop what has drained",
                hint="`gc drain` without --wait asks them; `gc stop AGENT` ends them",
            )
        specs = find_agents(here.load(), names)
        drain_agents(here, specs)
        return _standings_alone(here, specs)

    params: dict[str, object] = {"agents": names, "wait": wait, "timeout": patience}
    limit = patience + SLACK if wait else STOP_TIMEOUT
    _print(asked_or_alone(here, "drain", params, limit, alone), as_json=as_json)
    return Exit.OK


def undrain(context: typer.Context, agents: AgentNames, as_json: AsJson = False) -> int:
    """Take `gc drain` back: agents that still run go on, the others come back."""
    here: Here = context.obj
    names = names_meant(here, agents)

    def alone() -> Standings:
        from gascity.cli.alone import undrain_agents

        specs = find_agents(here.load(), names)
        undrain_agents(here, specs)
        return _standings_alone(here, specs)

    found = asked_or_alone(here, "undrain", {"agents": names}, STOP_TIMEOUT, alone)
    _print(found, as_json=as_json)
    return Exit.OK


def asked_or_alone(
    here: Here,
    method: str,
    params: Mapping[str, object],
    timeout: float,
    alone: Callable[[], Standings],
) -> Standings:
    """Return how the agents stand after a change, made by the controller or else from here."""
    deadline = time.monotonic() + 5.0
    while True:
        try:
            answered = here.ask(method, params, timeout=timeout)
        except NotRunning:
            try:
                return alone()
            except CityHeld:  # a controller that is coming up or going, or somebody like us
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.05)  # nothing tells when it is over
        else:
            found = answered.get("agents") if isinstance(answered, dict) else None
            return found if isinstance(found, list) else []


def _standings_alone(here: Here, specs: Sequence[AgentSpec]) -> Standings:
    from gascity.cli.alone import status_without_controller
    from gascity.controller.change_requests import standing
    from gascity.core.wishes import NOT_NEEDED

    agents = status_without_controller(here)["agents"]
    known = {agent["name"]: agent for agent in agents} if isinstance(agents, list) else {}
    missing = {"state": "stopped", "reason": NOT_NEEDED}
    found = [(spec.name, known.get(spec.name, missing)) for spec in specs]
    return [standing(name, str(one["state"]), str(one["reason"])) for name, one in found]


def _print(found: Standings, *, as_json: bool) -> None:
    if as_json:
        _print_json(found)
        return
    for one in found:
        typer.echo(f"{one['name']}: {_state(one)}")


def _print_json(found: Standings) -> None:
    typer.echo(json.dumps({"agents": found}, indent=2, ensure_ascii=False))


def _state(one: Mapping[str, object]) -> str:
    reason = " ".join(str(one["reason"]).split())
    return f"{one['state']} ({reason})" if reason else str(one["state"])
