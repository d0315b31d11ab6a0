"""A place where one-shot work is done by the real `gc`, without a city unless one is written."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.cli.conftest import BIN, GC

from gascity.journal.bus import Bus
from gascity.runs.folder import INFO, OUTPUT, PROMPT, STDERR, STDOUT

LIMIT = 60.0
FIVE = sorted((INFO, OUTPUT, PROMPT, STDERR, STDOUT))
Document = dict[str, Any]  # Any: as JSON gives it


class Place:
    """A folder to work in, a home of one-shot work, and eyes that do not use `gc`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.work = self.folder / "work"
        self.work.mkdir()
        self.home = self.folder / "state" / "gascity"

    def city(self, text: str) -> None:
        """Make it a city."""
        (self.work / "city.toml").write_text(text, "utf-8")
        self.home = self.work / ".gc"

    def env(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        return {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "LANG": "C.UTF-8",
            **(more or {}),
        }

    def popen(
        self,
        *words: str | bytes,
        env: Mapping[str, str] | None = None,
        out: int | None = subprocess.PIPE,
        err: int | None = subprocess.PIPE,
        stdin: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [GC, *words],
            cwd=self.work,
            env=self.env(env),
            stdin=stdin,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )

    def gc(
        self, *words: str | bytes, given: bytes = b"", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run `gc` to its end; it never shows a traceback."""
        process = self.popen(*words, env=env, stdin=subprocess.PIPE)
        out, err = process.communicate(given, timeout=LIMIT)
        assert b"Traceback" not in err, err.decode()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run(
        self,
        script: str,
        *options: str | bytes,
        given: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Document:
        """Run a script of the shell once; return the document of its outcome."""
        done = self.gc("run", "--json", *options, "--", "sh", "-c", script, given=given, env=env)
        document: Document = json.loads(done.stdout)
        assert done.returncode == document["exit_code"]
        return document

    def show(self, run: str) -> Document:
        """Return all that `gc` tells of a run."""
        document: Document = json.loads(self.gc("runs", "show", run, "--json").stdout)
        return document

    def folders(self) -> list[Path]:
        """Return the folders of all runs, the oldest first."""
        return sorted(self.home.glob("projects/*/*/runs/*"))

    def messages(self, run: str = "") -> list[str]:
        """Return the types of the messages on the bus, in order."""
        with Bus(str(self.home / "city.db")) as bus:
            found = [entry for page in bus.every() for entry in page.entries]
        return [str(event.type) for event in found if not run or event.run == run]

    def marks(self) -> list[str]:
        """Return the runs that are not settled."""
        folder = self.home / "projects" / ".open"
        return sorted(os.listdir(folder)) if folder.is_dir() else []

    def living(self) -> list[int]:
        """Return the processes of runs of this place, by the marks in their environments."""
        mark = f"GC_RUN_MARK={self.home}:".encode()
        return [pid for pid, env in environments() if mark in env]


def environments() -> list[tuple[int, bytes]]:
    """Return the environment of every process that lives."""
    return [(pid, text) for pid, text in _read_all("environ") if text]


def arguments() -> list[tuple[int, bytes]]:
    """Return the arguments of every process."""
    return _read_all("cmdline")


def names(folder: str | Path) -> Sequence[str]:
    """Return what lies in a folder."""
    return sorted(os.listdir(folder))


def _read_all(name: str) -> list[tuple[int, bytes]]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError):
                found.append((int(entry), Path("/proc", entry, name).read_bytes()))
    return found
