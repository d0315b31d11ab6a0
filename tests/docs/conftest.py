"""Running what the documentation shows.

A `console` block holds commands after `$ ` and what they print; a `sh` block commands alone. A
block of any kind that names a file, as in `toml city.toml`, is written to it. All blocks of a page
run in order, in one folder. In what is expected a line `...` stands for any lines and `...` within
a line for any text; numbers and blanks may differ. A command that only looks is asked again until
it shows what the page says, for agents take a moment.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gascity.testing.eventually import eventually

ROOT = Path(__file__).parents[2]
BIN = os.path.dirname(sys.executable)
LOOKS = (
    "gc status",
    "gc why",
    "gc plan",
    "gc peek",
    "gc nudges",
    "gc explain",
    "gc events",
    "gc bus read",
    "gc health",
    "gc metrics",
    "gc runs",
    "gc task status",
    "gc solve status",
    "grep",
)
LIMIT = 60.0
CTRL_C = "Ctrl-C"


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a page; `expected` is None where the page does not show what it prints."""

    command: str
    expected: str | None


def blocks(page: Path, *kinds: str) -> list[str]:
    """Return the fenced blocks of these kinds."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [body for kind, body in found if kind in kinds]


def steps(page: Path) -> list[Step]:
    """Return what a page tells its reader to do, in order: commands, and to press Ctrl-C."""
    told = re.finditer(
        r"^```(?P<kind>console|sh|\w+ (?P<file>\S+))\n(?P<body>.*?)^```$|press Ctrl-C",
        page.read_text("utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    found: list[Step] = []
    for each in told:
        match each["kind"]:
            case None:
                found.append(Step(CTRL_C, None))
            case _ if each["file"]:
                found.append(Step(f"cat >{each['file']} <<'END'\n{each['body']}END", ""))
            case "sh":
                found += [Step(line, None) for line in each["body"].splitlines()]
            case _:
                for part in re.split(r"^\$ ", each["body"], flags=re.MULTILINE)[1:]:
                    command, _, expected = part.partition("\n")
                    found.append(Step(command, expected))
    return found


def agrees(expected: str, printed: str) -> bool:
    """Tell whether a command printed what the page shows."""
    pattern = ""
    for line in expected.splitlines():
        text = re.escape(_plain(line)).replace(r"\.\.\.", ".*")
        pattern += r"(?:.*\n)*?" if line == "..." else text + r"\n"
    plain = "".join(_plain(line) + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, plain) is not None


def _plain(line: str) -> str:
    """Return a line without what differs from run to run: numbers, widths, the provider."""
    line = re.sub(r"\b(subprocess|tmux)\b", "PROVIDER", line)
    return " ".join(re.sub(r"\b\d+(?=s?\b)", "0", line).split())


class Reader:
    """Somebody who follows a page to the letter, with two terminals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env: dict[str, str] = {}
        self._first_terminal: subprocess.Popen[str] | None = None

    def follow(self, step: Step) -> None:
        """Do one step; fails when the world answers otherwise than the page says."""
        if step.command == CTRL_C:
            self.press_ctrl_c()
        elif step.command == "make run":
            self._make_run(step.expected or "")
        elif step.command == "gc runs serve":
            self._stay(step.command.split(), step.expected or "")
        elif step.command.startswith("cd "):
            self.folder /= step.command.removeprefix("cd ")
        elif step.command == "pip install .":
            assert (ROOT / "pyproject.toml").exists()  # tests/repo looks at what it installs
        elif step.command.startswith(LOOKS) and step.expected is not None:
            eventually(lambda: self._shows(step), within=LIMIT, every=0.1)
        else:
            self._shows(step)

    def press_ctrl_c(self) -> None:
        """End what runs in the first terminal."""
        assert self._first_terminal is not None
        self._first_terminal.send_signal(signal.SIGINT)
        self._first_terminal.communicate(timeout=LIMIT)
        assert self._first_terminal.returncode == 0
        self._first_terminal = None

    def leave(self) -> None:
        """Stop what the page left running in the folder, and close the first terminal."""
        for city in [*self.folder.glob("city.toml"), *self.folder.glob("*/city.toml")]:
            self._run(f"gc -C {city.parent} stop")
        if self._first_terminal is not None:
            self._first_terminal.terminate()
            self._first_terminal.communicate(timeout=LIMIT)

    def _make_run(self, expected: str) -> None:
        """Do what `make run` does once its .venv is there, as `make -n run` tells it."""
        if not (self.folder / "city.toml").exists():
            shutil.copy(ROOT / "city.example.toml", self.folder / "city.toml")
        self._stay(["gc", "start"], expected)

    def _stay(self, words: list[str], expected: str) -> None:
        """Start what goes on in the first terminal, until Ctrl-C; it begins as the page says."""
        self._first_terminal = subprocess.Popen(
            words,
            cwd=self.folder,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._first_terminal.stdout is not None
        told = [line for line in expected.splitlines() if line != "..."] or [""]
        greeting = [self._first_terminal.stdout.readline() for _ in told]
        assert agrees(expected, "".join(greeting))

    def _shows(self, step: Step) -> bool:
        done = self._run(step.command)
        assert done.returncode == 0, f"$ {step.command}\n{done.stdout}"
        if step.expected is not None:
            said = f"$ {step.command}\n{done.stdout}\nbut the page says:\n{step.expected}"
            assert agrees(step.expected, done.stdout), said
        return True

    def _run(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._env(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def _env(self) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("HOME", "TMPDIR") if key in os.environ}
        return {**kept, "LANG": "C.UTF-8", "PATH": f"{BIN}:{os.environ['PATH']}", **self.env}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Return a reader in an empty folder; what they started ends with the test."""
    person = Reader(tmp_path)
    yield person
    person.leave()
