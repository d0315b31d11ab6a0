"""The doctor looks at the programs of the machine, in a city and outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.conftest import City, Inside, Said

from gascity.cli import checkup_tools
from gascity.testing.eventually import eventually

MISSING = "FAIL  git: git is not on the PATH; `gc solve` needs it for the worktrees of its agents\n"
FOREVER = "sleep 1000 &\nwait"


class Machine:
    """A PATH of one folder, with little in it, and a folder that belongs to no city."""

    def __init__(self, folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin = folder / "bin"
        self.home = folder / "home"
        self.bin.mkdir()
        self.home.mkdir()
        self._usual = os.environ["PATH"]
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.chdir(self.home)
        self._inside = inside
        self.has("sleep")

    def has(self, name: str) -> Path:
        """Put a program of the real machine on the PATH."""
        link = self.bin / name
        link.symlink_to(shutil.which(name, path=self._usual) or "/nowhere")
        return link

    def program(self, name: str, script: str) -> Path:
        """Put a program on the PATH that is written here."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def git(self, version: str = "2.39.5") -> Path:
        return self.program("git", f"echo 'git version {version}'")

    def doctor(self, city: City | None = None) -> Said:
        where = () if city is None else ("-C", str(city.folder))
        return self._inside(*where, "doctor")

    def findings(self, *words: str) -> list[tuple[str, bool]]:
        document = json.loads(self._inside(*words, "doctor", "--json").stdout)
        return [(one["name"], one["fine"]) for one in document["findings"]]


@pytest.fixture
def machine(tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, inside, monkeypatch)


def names(findings: Sequence[tuple[str, bool]], *, fine: bool) -> list[str]:
    return [name for name, is_fine in findings if is_fine == fine]


def test_a_machine_without_git_lacks_something(machine: Machine, city: City) -> None:
    inside, outside = machine.doctor(city), machine.doctor()

    assert (inside.returncode, outside.returncode) == (3, 3)
    assert MISSING in inside.stdout
    assert MISSING in outside.stdout
    assert names(machine.findings("-C", str(city.folder)), fine=False) == ["git"]


@pytest.mark.git
def test_the_doctor_shows_the_version_of_git_and_where_it_is(machine: Machine, city: City) -> None:
    path = machine.has("git")
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    done = machine.doctor(city)

    assert done.returncode == 0, done.stdout
    assert f"ok    git: {told.stdout.split()[2]} at {path}\n" in done.stdout


@pytest.mark.parametrize(
    "version",
    ["2.31.0", "2.46-dirty", "2.39.5 (Apple Git-154)", "2.50.0.rc1", "2.46.0.windows.1", "10.0"],
)
def test_a_git_that_has_worktrees_is_fine(machine: Machine, version: str) -> None:
    path = machine.git(version)
    done = machine.doctor()

    assert done.returncode == 0
    assert f"ok    git: {version.split(maxsplit=1)[0]} at {path}\n" in done.stdout


@pytest.mark.parametrize("version", ["2.16.6", "2.9", "1.8.3.1"])
def test_an_old_git_is_named_with_its_version(machine: Machine, version: str) -> None:
    path = machine.git(version)
    done = machine.doctor()
    said = (
        f"FAIL  git: {version} at {path} is older than 2.31, which `gc solve` needs for worktrees"
    )

    assert done.returncode == 3
    assert f"{said}\n" in done.stdout


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("echo no developer tools >&2; exit 1", " ended with 1: no developer tools"),
        ("kill -9 $$", " was killed by signal 9"),
        ("echo '{e}[31mhub'; echo 1.2", " names no version: \\x1b[31mhub 1.2"),
        ("", " names no version"),
    ],
)
def test_a_git_that_fails_is_quoted(machine: Machine, script: str, trouble: str) -> None:
    path = machine.program("git", script.format(e="\x1b"))
    done = machine.doctor()

    assert done.returncode == 3
    assert f"FAIL  git: `{path} --version`{trouble}\n" in done.stdout


def test_a_git_that_is_no_program_cannot_be_run(machine: Machine) -> None:
    path = machine.git()
    path.write_bytes(b"\x00\x01")
    done = machine.doctor()

    assert done.returncode == 3
    assert f"FAIL  git: {path} cannot be run: Exec format error\n" in done.stdout


def test_a_git_that_never_answers_is_ended_with_all_it_began(
    machine: Machine, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine.program("git", FOREVER)
    monkeypatch.setattr(checkup_tools, "PATIENCE", 0.5)  # nobody waits for five seconds here
    monkeypatch.setenv("TEST_CITY", str(city.folder))  # the mark by which its processes are found
    done = machine.doctor(city)

    assert done.returncode == 3
    assert f"FAIL  git: `{path} --version` did not end within 0.5 s\n" in done.stdout
    eventually(lambda: not city.living())


def test_nobody_has_to_have_gh(machine: Machine, city: City) -> None:
    machine.git()
    done = machine.doctor(city)

    assert done.returncode == 0
    assert "ok    gh: not installed; `gc solve` takes an issue as a file\n" in done.stdout


def test_gh_is_asked_for_its_version_and_calls_nobody(machine: Machine, tmp_path: Path) -> None:
    machine.git()
    asked = tmp_path / "asked"
    path = machine.program(
        "gh",
        f'echo "$* $GH_NO_UPDATE_NOTIFIER $GH_TELEMETRY" >>"{asked}"\n'
        "echo 'gh version 2.40.1 (2023-12-13)'",
    )
    done = machine.doctor()

    assert done.returncode == 0
    assert f"ok    gh: 2.40.1 at {path}\n" in done.stdout
    assert asked.read_text() == "--version 1 0\n"


@pytest.mark.parametrize(
    ("script", "trouble"),
    [(FOREVER, "did not end within 0.5 s"), ("echo oh no; exit 7", "ended with 7: oh no")],
)
def test_a_broken_gh_is_told_of_and_no_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, script: str, trouble: str
) -> None:
    machine.git()
    path = machine.program("gh", script)
    monkeypatch.setattr(checkup_tools, "PATIENCE", 0.5)  # nobody waits for five seconds here
    done = machine.doctor()

    assert done.returncode == 0
    said = f"ok    gh: `{path} --version` {trouble}; `gc solve` takes an issue as a file\n"
    assert said in done.stdout


def test_outside_of_cities_the_doctor_looks_at_what_runs_need(machine: Machine) -> None:
    machine.git()
    claude, demo = machine.program("claude", ""), machine.program("gc-demo", "")
    done = machine.doctor()

    assert done.returncode == 0
    assert "ok    city file: there is none here; `gc init` makes one\n" in done.stdout
    assert f"ok    backend claude: {claude}\nok    backend demo: {demo}\n" in done.stdout
    assert machine.findings() == [
        (name, True)
        for name in ("python", "city file", "git", "gh", "backend claude", "backend demo")
    ]


@pytest.mark.parametrize("programs", [[], ["gc-demo"]])
def test_a_machine_without_backends_is_told_so(machine: Machine, programs: list[str]) -> None:
    machine.git()
    for name in programs:
        machine.program(name, "")
    done = machine.doctor()

    assert done.returncode == 0
    assert "ok    backends: none of claude, codex, gemini is on the PATH\n" in done.stdout


def test_a_folder_that_was_named_has_to_have_a_city(machine: Machine) -> None:
    machine.git()
    findings = machine.findings("-C", str(machine.home))

    assert names(findings, fine=False) == ["city file"]
    assert names(findings, fine=True) == ["python", "git", "gh"]


def test_a_broken_city_is_no_missing_city(
    machine: Machine, city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.git()
    city.write("not [ toml")
    monkeypatch.chdir(city.folder)
    findings = machine.findings()

    assert names(findings, fine=False) == ["city file"]
    assert names(findings, fine=True) == ["python", "git", "gh"]
