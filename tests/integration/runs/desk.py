"""A runner's desk: agents are started from it, and eyes that do not use what is tested."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

import psutil

from gascity.runs import guarded
from gascity.runs.context import Cancel, RunContext
from gascity.runs.guarded import Guarded
from gascity.testing.eventually import eventually

PYTHON = [sys.executable, "-I", "-S", "-c"]
TOKEN = "TEST_TOKEN"  # in every process that an agent starts, unless it wipes it
RUNNER = """
import json, os, signal, sys
from gascity.runs import guarded
from gascity.runs.context import Cancel, RunContext
from gascity.errors import BackendError
asked = json.loads(sys.argv[1])
exec(asked["before"])
context = RunContext("r1", "p", "t", "", *asked["context"], asked["env"])
try:
    print(guarded.run(asked["argv"], context, Cancel(), grace=asked["grace"], mark=asked["mark"]))
except BackendError as problem:
    print(problem.code, problem.message)
"""


class Desk:
    """One run after another in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = uuid.uuid4().hex
        self.mark = f"{folder}:{self.token}"
        self.out = folder / "stdout"
        self.err = folder / "stderr"
        self.cancel = Cancel()

    def env(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], TOKEN: self.token, **(more or {})}

    def run(
        self,
        *argv: str,
        stdin: str = "",
        grace: float = 5.0,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
    ) -> int:
        """Run to the end, in this process."""
        where = cwd or str(self.folder)
        context = RunContext("r1", "p", "t", "", where, str(self.out), str(self.err))
        return guarded.run(
            argv,
            context,
            self.cancel,
            stdin_path=stdin,
            grace=grace,
            mark=self.mark,
            environment=self.env() if env is None else env,
        )

    def guarded(self, *argv: str, grace: float = 5.0) -> Guarded:
        """Return an agent that was not started yet."""
        return Guarded(
            argv,
            self.env(),
            str(self.folder),
            stdin="",
            stdout=str(self.out),
            stderr=str(self.err),
            grace=grace,
            mark=self.mark,
        )

    def runner(
        self, *argv: str, before: str = "", grace: float = 5.0, terminal: int | None = None
    ) -> subprocess.Popen[bytes]:
        """Run in a runner of its own, which can be killed; it prints how it went."""
        asked = {
            "before": before,
            "argv": argv,
            "context": [str(self.folder), str(self.out), str(self.err)],
            "env": {TOKEN: self.token},
            "grace": grace,
            "mark": self.mark,
        }
        stream = subprocess.PIPE if terminal is None else terminal
        return subprocess.Popen(
            [sys.executable, "-c", RUNNER, json.dumps(asked)],
            stdin=terminal,
            stdout=stream,
            stderr=terminal,
            start_new_session=True,
        )

    def number_in(self, name: str) -> int:
        """Return the number that an agent writes into a file, once it is there."""
        path = self.folder / name
        return int(eventually(lambda: path.exists() and path.read_text().strip()))

    def living(self) -> list[int]:
        """Return who carries the token and lives."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                ours = process.environ().get(TOKEN) == self.token
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found

    def leave(self) -> list[int]:
        """Kill what is left, and return it."""
        left = self.living()
        while living := self.living():
            for pid in living:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        return left


def field(pid: int, name: str) -> str:
    """Return what the kernel says of a process under a name."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))
