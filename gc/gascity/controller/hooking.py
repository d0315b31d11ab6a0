"""Setting up the hooks of an agent that is about to start.

A tool reads its hooks when it starts, so they have to be there before. What an agent prepares comes
first, though: it may clone something into its work folder, which has to be empty for that. An agent
whose hooks cannot be set up starts without them: its screen still tells what it does.
"""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import replace
from datetime import datetime

from gascity.agent import Agent
from gascity.controller.place import Place
from gascity.core.actions import Event, EventType
from gascity.errors import GascityError
from gascity.hooks.install import executable, install


def with_hooks(agent: Agent) -> Agent:
    """Return an agent that sets up its hooks after all that it prepares; a failure is no matter."""
    spec = agent.spec
    with contextlib.suppress(GascityError):
        words = shlex.join([executable(), "hook", "install", spec.session])
        steps = (*spec.hints.pre_start, f"{words} || true")
        return replace(agent, spec=replace(spec, hints=replace(spec.hints, pre_start=steps)))
    return agent


def set_up_hooks(agent: Agent, run: str) -> tuple[Event, ...]:
    """Install the hooks of an agent for the incarnation `run`; return what has to be told."""
    spec = agent.spec
    env = agent.session_config(run, datetime.now()).env  # noqa: DTZ005  only the variables count
    try:
        install(spec, env, Place(agent.home.city_path).state)
    except GascityError as problem:
        return (Event(EventType.HOOKS_FAILED, spec.name, spec.session, run, problem.message),)
    return ()
