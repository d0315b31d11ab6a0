"""Gemini CLI: hooks in `.gemini/settings.json` of the work folder.

They are written as Claude Code's are, but for other events and times in milliseconds. Standard
output is for JSON alone: what an agent is to know at its start is one field of an object.
"""

from __future__ import annotations

from collections.abc import Mapping

from gascity.hooks.settings import Tool
from gascity.screens.reading import Kind

EVENTS: Mapping[str, Kind | None] = {
    "SessionStart": None,
    "BeforeAgent": Kind.WORKING,
    "BeforeTool": Kind.WORKING,
    "AfterTool": Kind.WORKING,
    "PreCompress": Kind.WORKING,
    "Notification": None,
    "AfterAgent": Kind.READY,
    "SessionEnd": None,
}
DETAILS: Mapping[tuple[str, str], Kind | None] = {
    ("Notification", "ToolPermission"): Kind.WAITING,
}

GEMINI = Tool(
    name="gemini",
    place=".gemini/settings.json",
    events=EVENTS,
    of_tools=("BeforeTool", "AfterTool"),
    prime=30_000,  # milliseconds, after which Gemini goes on without it
    report=5_000,
    details=DETAILS,
    named=True,
).hooked()
