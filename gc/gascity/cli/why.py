"""`gc why`: the cause of how an agent stands, what it waits for, and how it came to this.

A running controller tells what it saw and decided last; without one the same account is made from
one look. The past is read from the journal in both cases.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from gascity.cli import render
from gascity.cli.city import Here, find_agent
from gascity.cli.options import AgentName, AsJson
from gascity.cli.quick import STATUS_TIMEOUT, exit_code
from gascity.errors import ConfigError, Exit, GascityError, NotFound, NotRunning, RemoteError

if TYPE_CHECKING:
    from gascity.core.case import Scene
    from gascity.core.model import City
    from gascity.core.why import Why

EVENTS = 5
PATIENCE = 5.0  # for a journal that somebody is changing
Document = dict[str, object]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(why)


def why(context: typer.Context, agent: AgentName, as_json: AsJson = False) -> int:
    """Say why an agent is as it is, what it waits for, and how it came to this.

    Also of a session that is left over, by its name, and of one that this city did not make.
    """
    here: Here = context.obj
    try:
        found = _asked(here, agent)
    except NotRunning:
        found = _alone(here, agent)
    told = _spoken(found, time.time())
    past = _past(here, str(told["name"]))
    told["inputs"] = {**told["inputs"], **past.facts}
    told["events"] = past.events
    if as_json:
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        for line in _lines(told, time.time()):
            typer.echo(line)
    return Exit.OK


def _asked(here: Here, word: str) -> Document:
    """Return the controller's account. Raises NotRunning and NotFound.

    The controller knows whole names; what a shorter one means is read from the city file.
    """
    try:
        answered = here.ask("why", {"agent": word}, timeout=STATUS_TIMEOUT)
    except RemoteError as problem:
        if exit_code(problem) != Exit.NOT_FOUND:
            raise
        try:
            name = find_agent(here.load(), word).name
        except ConfigError:
            raise problem from None
        if name == word:
            raise
        answered = here.ask("why", {"agent": name}, timeout=STATUS_TIMEOUT)
    return answered if isinstance(answered, dict) else {}


def _alone(here: Here, word: str) -> Document:
    from dataclasses import asdict

    from gascity.cli.alone import scene_alone
    from gascity.core.why import account

    city = here.load()
    scene = scene_alone(city)
    found = account(scene, word) or account(scene, find_agent(city, word).name)
    if found is None:
        raise NotFound(f'there is no agent "{word}" in this city')
    return asdict(_discreet(city, scene, found))


def _discreet(city: City, scene: Scene, found: Why) -> Why:
    """Leave out the secrets an agent was given."""
    from gascity.cli.concealed import secrets_of
    from gascity.controller.observe import seen_sessions
    from gascity.core.fingerprint import conceal
    from gascity.core.model import declared

    state = seen_sessions(scene.observed.providers).get(found.session)
    spec = next((one for one in declared(city.desired) if one.name == found.name), None)
    secrets = secrets_of(spec, state)
    return found.spoken(lambda text: conceal(text, secrets))


def _spoken(found: Document, now: float) -> dict[str, Any]:
    """Return the account with times for people in its sentences, and its facts by name."""
    from gascity.cli.times import with_times

    told: dict[str, Any] = dict(found)  # Any: what a controller of another version may say
    for key in ("cause", "waits_for"):
        told[key] = with_times(str(found[key]), now)
    facts, notes = found["inputs"], found["notes"]
    pairs = [(str(one[0]), str(one[1])) for one in facts] if isinstance(facts, list | tuple) else []
    told["inputs"] = {name: with_times(text, now) for name, text in pairs}
    told["notes"] = [str(note) for note in notes] if isinstance(notes, list | tuple) else []
    return told


@dataclass(frozen=True, slots=True)
class _Past:
    """What the journal knows of an agent: its last events, and facts that are kept there."""

    events: list[Document] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)


def _past(here: Here, name: str) -> _Past:
    """Return what the journal knows of an agent; nothing where it cannot be read."""
    path = os.path.join(here.state, "city.db")
    if not os.path.exists(path):
        return _Past()
    from gascity.controller.feed import document
    from gascity.journal.events import Wanted
    from gascity.journal.store import Journal

    try:
        journal = Journal(path, patience=PATIENCE)
        try:
            page = journal.events.newest(EVENTS, Wanted(agents=(name,), messages=False))
            waiting = sum(nudge.agent == name for nudge in journal.nudges.open())
        finally:
            journal.close()
    except GascityError as problem:
        sys.stderr.write(f"warning: {problem.message}\n")
        return _Past()
    facts = {"messages": f"{waiting} in the queue; `gc nudges` shows them"} if waiting else {}
    return _Past([document(entry) for entry in page.entries], facts)


def _lines(told: Document, now: float) -> Iterator[str]:
    """Yield the account for people."""
    from gascity.cli.times import when

    since = told["since"]
    began = f", since {when(float(since), now)}" if isinstance(since, int | float) else ""
    where = f" on {told['provider']}" if told["provider"] else ""
    state = render.colour(str(told["state"]), "1")
    yield f"{_plain(told['name'])} is {state}{where}{began}"
    yield f"  {_plain(told['cause'])}"
    notes = told["notes"]
    yield from (f"  {_plain(note)}" for note in notes) if isinstance(notes, list) else ()
    if told["waits_for"]:
        yield _fact("waits for", told["waits_for"])
    until = told["until"]
    if isinstance(until, int | float):
        yield _fact("until", when(float(until), now))
    if told["next"]:
        yield _fact("next", told["next"])
    facts, past = told["inputs"], told["events"]
    yield ""
    yield "what this was decided from:"
    if isinstance(facts, dict):
        yield from (f"  {_fact(name, text)}" for name, text in facts.items())
    if isinstance(past, list) and past:
        yield ""
        yield "how it came to this:"
        yield from (f"  {_event(event)}" for event in past)


def _event(event: Mapping[str, object]) -> str:
    from gascity.cli.telling import told

    moment = datetime.fromisoformat(str(event["at"])).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return told(moment, str(event["type"]), "", str(event["message"]))


def _fact(name: str, text: object) -> str:
    return f"{name + ':':<15}{_plain(text)}"


def _plain(text: object) -> str:
    from gascity.config.problems import visible

    return visible(" ".join(str(text).split()))
