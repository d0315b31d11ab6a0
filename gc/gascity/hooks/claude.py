"""Claude Code: hooks in `.claude/settings.local.json` of the work folder.

Each is given one JSON object on standard input. What the hook of SessionStart prints becomes part
of the agent's context, so that is where an agent primes itself; the others print nothing. The end
of a subagent is not asked for: it says nothing of the agent.
"""

from __future__ import annotations

from collections.abc import Mapping

from gascity.hooks.settings import Tool
from gascity.screens.reading import Kind

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

CLAUDE = Tool(
    name="claude",
    place=".claude/settings.local.json",
    events=EVENTS,
    of_tools=("PreToolUse", "PermissionRequest", "PostToolUse"),
    prime=30,  # seconds, after which Claude Code goes on without it
    report=5,
    details=DETAILS,
).hooked()
