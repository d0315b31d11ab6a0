"""Why the program of a run could not be started, in words, and with the code that a shell gives."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from gascity.errors import SpawnFailed

NOT_FOUND = 127
NOT_RUN = 126


def refusal(
    stage: str, number: int, program: str, cwd: str, files: Mapping[str, str]
) -> SpawnFailed:
    """Return what to raise when a guard failed at a stage (see `launch.Refused`)."""
    why = os.strerror(number).lower()
    if stage == "chdir":
        return refused(f"chdir {cwd}: {why}")
    if stage in files:
        return refused(f"open {files[stage]}: {why}")
    if stage == "fork":
        return refused(f"fork: {why}")
    if stage == "interpreter":
        return refused(f"exec: {_quoted(program)}: bad interpreter: {why}")
    if stage == "exec":
        return refused(f"exec: {_quoted(program)}: {why}")
    if "/" not in program:
        why = "executable file not found in $PATH"
    return refused(f"exec: {_quoted(program)}: {why}", code=NOT_FOUND)


def refused(why: str, *, code: int = NOT_RUN) -> SpawnFailed:
    """Return what to raise when a program is not started; what cannot be shown is spelled out."""
    shown = f"start agent process: {why}".encode("utf-8", "backslashreplace").decode()
    return SpawnFailed(shown, code=code)


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
