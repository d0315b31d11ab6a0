"""`make run`: the city a newcomer sees first, lived through once as the README tells it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

from tests.cli.conftest import LIMIT, MakeCity

from gascity.testing.eventually import eventually

ROOT = Path(__file__).parents[2]


def test_make_run_starts_the_example_city_in_the_foreground() -> None:
    told = subprocess.run(
        ["make", "--no-print-directory", "-n", "run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert told.rstrip().endswith(".venv/bin/gc start")


def test_make_run_makes_its_own_venv_and_city(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "city.example.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    told = subprocess.run(
        ["make", "--no-print-directory", "-n", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    steps = ["-m venv .venv", "pip", "install -e .", "cp city.example.toml city.toml", "gc start"]
    assert re.search(".*".join(map(re.escape, steps)), told, re.DOTALL), told


def test_make_test_runs_the_suite_after_installing_what_it_needs(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    told = subprocess.run(
        ["make", "--no-print-directory", "-n", "test"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert re.search(r"install -e '\.\[test\]'.*-m pytest", told, re.DOTALL), told


def test_the_example_city_lives_as_the_readme_tells(make_city: MakeCity) -> None:
    city = make_city((ROOT / "city.example.toml").read_text("utf-8"))
    first = city.popen("start")
    eventually(lambda: city.state.joinpath("controller.sock").exists(), within=LIMIT)
    eventually(lambda: len(city.pids()) == 3, within=LIMIT)
    before = city.wait_until_up()
    assert before["rigs/smith"]
    os.kill(before["rigs/smith"], signal.SIGKILL)

    def healed() -> bool:
        agent = city.agents()["rigs/smith"]
        return (agent["state"], agent["restarts"]) == ("ready", 1)

    eventually(healed, within=LIMIT)
    living = city.pids()
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=LIMIT)
    again = city.popen("start")
    eventually(lambda: city.status()["controller"]["running"], within=LIMIT)
    taken_up = city.wait_until_up()
    said = city.ok("stop")
    again.communicate(timeout=LIMIT)

    assert set(before) == {"mayor", "rigs/smith", "helper-1"}
    assert taken_up == living
    assert said == "stopped 3 agents and the controller\n"
    eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more
