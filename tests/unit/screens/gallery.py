"""The screens that were recorded, and what each of them shows."""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gascity.config.screens import shipped
from gascity.screens.rules import NO_RULES, Rules
from gascity.screens.screen import Screen

FOLDER = Path(__file__).parents[2] / "screens"
NOW = datetime(2026, 11, 16, 1, tzinfo=UTC).timestamp()
BACKENDS = ("claude", "codex", "copilot", "demo", "gemini", "opencode")


@dataclass(frozen=True)
class Case:
    """One screen. `kind` is also "none" or "ended"; `draft` may be only its beginning."""

    file: str
    kind: str
    rule: str = ""
    box: bool = False
    draft: str = ""
    until: float | None = None
    title: str = ""
    why: str = ""

    @property
    def backend(self) -> str:
        return Path(self.file).parent.name.split("-")[0]

    @property
    def rules(self) -> Rules:
        return shipped(self.backend) or NO_RULES

    @functools.cached_property
    def text(self) -> str:
        return (FOLDER / self.file).read_text("utf-8")

    @property
    def screen(self) -> Screen:
        return Screen.of(self.text, self.title)


@functools.cache
def cases() -> tuple[Case, ...]:
    """Return every screen that is expected to be there."""
    table = tomllib.loads((FOLDER / "expected.toml").read_text("utf-8"))
    return tuple(Case(file, **fields) for file, fields in table.items())


def ready(backend: str) -> Screen:
    """Return a screen on which an agent of a backend waits for a message."""
    found = next(
        case
        for case in cases()
        if case.backend == backend and case.kind == "ready" and not case.draft
    )
    return found.screen
