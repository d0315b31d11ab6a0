"""How a program of the zoo is started as a session."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.zoo.box import GLYPH
from tests.zoo.kit import LOG
from tests.zoo.rules import backend_of

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import BACKEND

ROOT = Path(__file__).parents[2]


def session_of(
    program: str,
    folder: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    *,
    hasty: bool = False,
) -> SessionConfig:
    """Return the session that runs a program in a folder and logs to a file.

    Most are talked to before they are ready; but some can be known to be ready only by waiting,
    which those in haste do not.
    """
    # Without what is installed: the programs need nothing of it, and begin sooner.
    command = shlex.join([sys.executable, "-S", "-m", "tests.zoo", program])
    whole = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), LOG: str(log), **(env or {})}
    backend = backend_of(program)
    prefix = GLYPH if backend == "zoo-lasting" and not hasty else ""
    hints = StartupHints(ready_prompt_prefix=prefix)
    return SessionConfig(f"exec {command}", str(folder), whole, hints, meta={BACKEND: backend})
