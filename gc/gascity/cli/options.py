"""Arguments and options that several commands share, and completion of agent names."""

from __future__ import annotations

from typing import Annotated

import typer

from gascity.config.durations import LONGEST, format_duration, parse_duration
from gascity.errors import UsageError


def complete_agents(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of agents that begin so; nothing when the city cannot be read."""
    from gascity.cli.city import Here
    from gascity.core.model import declared
    from gascity.errors import GascityError

    parent = context.find_root().params.get("folder") or "."
    try:
        city = Here(str(parent)).load()
    except (GascityError, OSError):
        return []
    names = {spec.name for spec in declared(city.desired)}
    names |= {pool.name for pool in city.desired.pools}
    return sorted(name for name in names if name.startswith(incomplete))


def not_empty(
    context: typer.Context, parameter: typer.CallbackParam, value: str | list[str] | None
) -> str | list[str] | None:
    """Refuse an empty word that was given: in a script it is a variable that nobody set."""
    words = [value] if isinstance(value, str) else value or ()
    if "" in words and not context.resilient_parsing:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "COMMANDLINE":
            option = max(parameter.opts, key=len)
            what = option if option.startswith("-") else parameter.metavar or option.upper()
            hint = "say which" if parameter.required else "leave it out, or say which"
            raise UsageError(f"{what} is empty", hint=hint)
    return value


AgentName = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_agents,
        help="Name of an agent.",
    ),
]
AgentNames = Annotated[
    list[str],
    typer.Argument(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_agents,
        help="Names of agents or pools.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]
LastLines = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--lines",
        metavar="N",
        min=0,
        help="How many of the last (50); 0 for all that is kept.",
    ),
]


def complete_backends(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of backends that begin so."""
    from gascity.cli.city import Here
    from gascity.cli.rulebook import backends_here
    from gascity.errors import GascityError

    parent = context.find_root().params.get("folder") or "."
    try:
        names = backends_here(Here(str(parent)))
    except (GascityError, OSError):
        return []
    return sorted(name for name in names if name.startswith(incomplete))


def complete_oneshots(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of backends that begin so, of those that can do one piece of work."""
    from gascity.cli.asked import able, city_of
    from gascity.cli.city import Here
    from gascity.config.oneshots import built_in
    from gascity.errors import GascityError

    parent = context.find_root().params.get("folder") or "."
    try:
        city = city_of(Here(str(parent)))
    except (GascityError, OSError):
        city = None
    known = built_in() if city is None else city.backends
    return [name for name in able(known) if name.startswith(incomplete)]


def complete_types(incomplete: str) -> list[str]:
    """Return the types of events, and the first words of them, that begin so."""
    from gascity.core.actions import EventType

    names = {str(kind) for kind in EventType} | {kind.partition(".")[0] for kind in EventType}
    names.update(complete_messages(incomplete))
    return sorted(name for name in names if name.startswith(incomplete))


def complete_messages(incomplete: str) -> list[str]:
    """Return the types of messages that begin so, of those that mean something to many."""
    from gascity.journal.message import KNOWN

    return sorted(name for name in KNOWN if name.startswith(incomplete))


def seconds(option: str, text: str, *, least: float, most: float = LONGEST) -> float:
    """Return the seconds in a duration such as `30s`. Raises UsageError."""
    try:
        given = parse_duration(text)
    except ValueError as problem:
        raise UsageError(f'{option} cannot be "{text}": {problem}') from None
    if not least <= given <= most:
        bounds = f"at least {format_duration(least)} and at most {format_duration(most)}"
        raise UsageError(f"{option} must be {bounds}")
    return given
