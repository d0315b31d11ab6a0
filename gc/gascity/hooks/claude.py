"""Claude Code: hooks in `.claude/settings.local.json` of the work folder.

Each is given one JSON object on standard input. What the hook of SessionStart prints becomes part
of the agent's context, so that is where an agent primes itself; the others print nothing. The end
of a subagent is not asked for: it says nothing of the agent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gascity.hooks import settings
from gascity.hooks.hooked import Hooked, command
from gascity.screens.reading import Kind

NAME = "claude"
EVENTS: Mapping[str, Kind | None] = {
    "SessionStart": None,
    "UserPromptSubmit": Kind.WORKING,
    "PreToolUse": Kind.WORKING,
    "PermissionRequest": Kind.WAITING,
    "PostToolUse": Kind.WORKING,
    "PreCompact": Kind.WORKING,
    "Notification": None,
    "Stop": Kind.READY,
    "StopFailure": Kind.ERROR,
    "SessionEnd": None,
}
DETAILS: Mapping[tuple[str, str], Kind | None] = {
    ("Notification", "permission_prompt"): Kind.WAITING,
    ("Notification", "elicitation_dialog"): Kind.WAITING,
    ("Notification", "idle_prompt"): Kind.READY,
}
OF_TOOLS = ("PreToolUse", "PermissionRequest", "PostToolUse")
PRIME_TIMEOUT, REPORT_TIMEOUT = 30, 5  # seconds, after which Claude Code goes on without it


def _path(work_dir: str, env: Mapping[str, str]) -> str:
    del env
    return os.path.join(work_dir, ".claude", "settings.local.json")


def _groups(gc: str) -> settings.Groups:
    return {event: _group(gc, event) for event in EVENTS}


def _group(gc: str, event: str) -> dict[str, object]:
    primes = event == "SessionStart"
    entry = {
        "type": "command",
        "command": command(gc, "prime", NAME) if primes else command(gc, "report", NAME, event),
        "timeout": PRIME_TIMEOUT if primes else REPORT_TIMEOUT,
    }
    matcher: dict[str, object] = {"matcher": "*"} if event in OF_TOOLS else {}
    return {**matcher, "hooks": [entry]}


def _merged(content: bytes | None, gc: str) -> bytes:
    return settings.merged(content, NAME, _groups(gc))


def _stripped(content: bytes) -> bytes:
    return settings.stripped(content, NAME)


CLAUDE = Hooked(
    NAME,
    EVENTS,
    _path,
    _merged,
    _stripped,
    settings.EMPTY,
    DETAILS,
    end_event="SessionEnd",
    primes=True,
)
