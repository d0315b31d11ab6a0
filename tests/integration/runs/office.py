"""A home for jobs that are run in the test's own process or in a runner that can be killed."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gascity.config.oneshots import built_in
from gascity.core.oneshot import OneShot, PromptBy, RunCommand
from gascity.journal.bus import Bus
from gascity.journal.events import Entry
from gascity.runs import job
from gascity.runs.context import Cancel
from gascity.runs.folder import RunFolder
from gascity.runs.info import RunInfo
from gascity.runs.job import Job, Outcome
from gascity.runs.places import Home

FIVE = ["agent-stderr.txt", "agent-stdout.txt", "output.md", "prompt.md", "run-info.yaml"]
RUNNER = """
import os, sys
from pathlib import Path
from tests.integration.runs.office import Office
Office(Path(sys.argv[1])).run(sys.argv[2])
"""


class Office:
    """Jobs that are scripts of the shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.home = Home(str(self.folder / "home"))
        self.cancel = Cancel()

    def job(self, script: str, *, name: str = "stub", env: Mapping[str, str] | None = None) -> Job:
        command = RunCommand(("sh", "-c", script), prompt=PromptBy.STDIN)
        known = built_in()
        backend = dataclasses.replace(known.get(name, OneShot(name)), run=command)
        host = {"PATH": os.environ["PATH"], **(env or {})}
        task = self.home.task("p", "t")
        return Job(self.home, task, backend, known, "do it", str(self.folder), host)

    def run(
        self,
        script: str,
        begun: Callable[[RunFolder], None] = lambda _: None,
        **fields: Any,  # noqa: ANN401  those of a job
    ) -> Outcome:
        made = self.job(script)
        return job.run(dataclasses.replace(made, **fields), self.cancel, begun)

    def killable(self, script: str) -> subprocess.Popen[bytes]:
        """Run it in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", RUNNER, str(self.folder), script], start_new_session=True
        )

    def messages(self, run: str = "") -> list[Entry]:
        """Return what is on the bus, in order."""
        with Bus(self.home.journal) as bus:
            found = [entry for page in bus.every() for entry in page.entries]
        return [entry for entry in found if not run or entry.run == run]

    def types(self) -> list[str]:
        return [entry.type for entry in self.messages()]

    def infos(self) -> list[RunInfo]:
        """Return the records of all runs, which can all be read, the newest first."""
        found = [folder.read_info() for folder in self.home.runs()]
        assert all(isinstance(info, RunInfo) for info in found), found
        return [info for info in found if isinstance(info, RunInfo)]

    def marks(self) -> list[str]:
        return sorted(os.listdir(os.path.join(self.home.projects, ".open")))

    def forge(self, run: str, **said: object) -> None:
        """Write the mark of a run, as one whom somebody killed would have left it."""
        path = Path(self.home.projects, ".open", run)
        path.write_text(json.dumps({"folder": "", "runner": 1, "runner_started": "1", **said}))
