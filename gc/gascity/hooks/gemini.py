"""Gemini CLI: hooks in `.gemini/settings.json` of the work folder.

They are written as Claude Code's are, but for other events and times in milliseconds. Standard
output is for JSON alone: what an agent is to know at its start is one field of an object.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gascity.hooks import settings
from gascity.hooks.hooked import Hooked, command
from gascity.screens.reading import Kind

NAME = "gemini"
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
OF_TOOLS = ("BeforeTool", "AfterTool")
PRIME_TIMEOUT, REPORT_TIMEOUT = 30_000, 5_000  # milliseconds, after which Gemini goes on without it


def _path(work_dir: str, env: Mapping[str, str]) -> str:
    del env
    return os.path.join(work_dir, ".gemini", "settings.json")


def _groups(gc: str) -> settings.Groups:
    return {event: _group(gc, event) for event in EVENTS}


def _group(gc: str, event: str) -> dict[str, object]:
    primes = event == "SessionStart"
    entry = {
        "name": f"gc-{event}",
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


GEMINI = Hooked(
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
