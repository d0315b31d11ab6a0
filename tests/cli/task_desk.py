"""Tasks of a city without agents, and eyes that do not use `gc`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import yaml
from tests.cli.conftest import City

from gascity.testing.eventually import eventually

HEAD = '[workspace]\nname = "town"\n\n[session]\nprovider = "subprocess"\n'
Record = dict[str, Any]  # Any: a YAML document


class Desk:
    """Starts tasks that are shell scripts, and reads what they leave."""

    def __init__(self, city: City) -> None:
        self.city = city
        self.log = city.folder / "log"

    def folder(self, task: str) -> Path:
        return self.city.state / "projects" / "town" / task

    def info(self, task: str) -> Record:
        found: Record = yaml.safe_load((self.folder(task) / "task-info.yaml").read_text("utf-8"))
        return found

    def words(self, task: str, script: str, *options: str) -> list[str]:
        return ["task", "start", "--task", task, *options, "--", "sh", "-c", script]

    def start(self, task: str, script: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Start it in the foreground, and wait for its end."""
        return self.city.gc(*self.words(task, script, "--delay", "0s", *options))

    def detach(self, task: str, script: str, *options: str) -> None:
        done = self.city.gc(*self.words(task, script, "--detach", *options))
        assert done.returncode == 0, done.stderr

    def runs(self, task: str) -> list[Record]:
        """Return the records of its runs, the oldest first."""
        found = (self.folder(task) / "runs").glob("*/run-info.yaml")
        records: list[Record] = [yaml.safe_load(path.read_text("utf-8")) for path in found]
        return sorted(records, key=lambda one: str(one["start_time"]))

    def wait_for(self, task: str, state: str) -> Record:
        """Wait until the file says so."""

        def there() -> Record:
            assert (self.folder(task) / "task-info.yaml").exists()
            info = self.info(task)
            assert info["state"] == state, info
            return info

        return eventually(there, within=self.city.limit, every=0.02)

    def lines(self) -> list[str]:
        """Return what the scripts wrote to `$TEST_CITY/log`."""
        return self.log.read_text("utf-8").split() if self.log.exists() else []

    def wait_for_lines(self, count: int) -> list[str]:
        def there() -> list[str]:
            lines = self.lines()
            assert len(lines) >= count, lines
            return lines

        return eventually(there, within=self.city.limit, every=0.02)
