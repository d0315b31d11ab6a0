"""Giving a terminal to an agent, also to one that is only about to have a session.

`gc start --detach; gc attach mayor` is what a person types: the first returns before every agent is
up, so the second waits for as long as the controller says that the agent is coming.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from gascity.cli.city import Here
from gascity.cli.quick import STATUS_TIMEOUT
from gascity.core.views import COMING, UP
from gascity.errors import NotRunning, SessionNotFound

if TYPE_CHECKING:
    from gascity.core.model import AgentSpec
    from gascity.session.provider import SessionProvider

PACE = 0.1  # seconds between two questions whether it is there
MOST_MISSED = 50  # times in a row that one is said to be up and has no session


def attach(here: Here, spec: AgentSpec, provider: SessionProvider, *, read_only: bool) -> int:
    """Give the terminal to an agent, as soon as it has a session; return the exit code.

    Raises NotRunning when it has none and none is coming.
    """
    told, missed = False, 0
    while True:
        try:
            return provider.attach(spec.session, read_only=read_only)
        except SessionNotFound as problem:
            state, reason = _stands(here, spec.name)
            missed = missed + 1 if state in UP else 0  # it has come, or gone, this very moment
            if state not in COMING | UP or missed > MOST_MISSED:
                why = f" ({state}: {reason})" if reason else ""
                hint = "`gc status` tells why"
                raise NotRunning(f"{spec.name} is not running{why}", hint=hint) from problem
        if state in COMING and not told:
            told = True
            sys.stderr.write(f"{spec.name} is {state} ...\n")
        time.sleep(PACE)  # for a person who waits; Ctrl-C ends it


def _stands(here: Here, agent: str) -> tuple[str, str]:
    """Return the state of an agent and the reason for it; empty where no controller runs."""
    try:
        document = here.ask("status", {}, timeout=STATUS_TIMEOUT)
    except NotRunning:
        return "", ""
    agents = document.get("agents") if isinstance(document, dict) else None
    for one in agents if isinstance(agents, list) else ():
        if isinstance(one, dict) and one.get("name") == agent:
            return str(one.get("state", "")), str(one.get("reason", ""))
    return "", ""
