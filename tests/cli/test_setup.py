"""Before anything runs: init, check, config show, doctor, version, completion."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import random
import sqlite3
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import HEAD, SLEEPERS, City, Inside, MakeCity

from gascity import __version__
from gascity.config.backends import presets
from gascity.journal.store import Journal

ROOT = Path(__file__).parents[2]
SECRET = "sk-do-not-show-4711"


def test_init_makes_a_city_that_checks_and_never_overwrites_one(make_city: MakeCity) -> None:
    city = make_city()
    said = city.ok("init", "new", "--backend", "demo")
    written = (city.folder / "new" / "city.toml").read_text()
    again = city.gc("init", "new")

    assert said == "wrote new/city.toml: two agents on demo; `gc start` runs them\n"
    assert "2 agents is fine" in city.ok("-C", "new", "check")
    assert again.returncode == 2
    assert "exists already; it is left as it is" in again.stderr
    assert (city.folder / "new" / "city.toml").read_text() == written


@pytest.mark.parametrize("name", ["my city", "-dash-", "ünïcode", "a__b--c", "...", "1", "x" * 200])
def test_init_works_in_a_folder_of_any_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, inside: Inside
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / name)
    said = [inside("init", "--backend", "demo"), inside("check")]

    assert [each.returncode for each in said] == [0, 0], said


def test_init_refuses_what_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Inside
) -> None:
    monkeypatch.chdir(tmp_path)
    said = [
        inside("init", "--name", "a b"),
        inside("init", "--name", "x" * 65),
        inside("init", "--backend", "nope"),
    ]

    assert [each.returncode for each in said] == [2, 2, 2]
    assert 'there is no backend "nope"' in said[-1].stderr
    assert not (tmp_path / "city.toml").exists()


@pytest.mark.parametrize("backend", list(presets()))
def test_every_backend_can_be_chosen_at_init(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Inside, backend: str
) -> None:
    monkeypatch.chdir(tmp_path)

    assert inside("init", "--name", "town", "--backend", backend).returncode == 0
    assert inside("check").returncode == 0


def test_check_tells_every_problem_at_once(make_city: MakeCity) -> None:
    city = make_city('[[agents]]\nname = "a b"\nstart_command = "x"\nnope = 1\n')
    done = city.gc("check")
    document = json.loads(city.gc("check", "--json").stdout)

    assert done.returncode == 2
    assert "city.toml:2:" in done.stderr
    assert "city.toml:4:1" in done.stderr
    assert [problem["line"] for problem in document["problems"]] == [2, 4]
    assert document["warnings"] == []


def test_check_says_that_a_good_file_is_fine(city: City) -> None:
    document = json.loads(city.ok("check", "--json"))

    assert city.ok("check") == f'{city.folder}/city.toml: city "town" with 3 agents is fine\n'
    city.write(HEAD + '[[agents]]\nname = "a"\nstart_command = "true"\n')
    assert city.ok("check") == f'{city.folder}/city.toml: city "town" with 1 agent is fine\n'
    assert document == {"problems": [], "warnings": []}


@pytest.mark.parametrize("seed", range(50))
def test_a_damaged_file_is_a_problem_and_never_a_traceback(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Inside
) -> None:
    chance = random.Random(seed)
    body = bytearray((ROOT / "city.example.toml").read_bytes())
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(len(body))
        match chance.randrange(4):
            case 0:
                body[place] = chance.randrange(256)
            case 1:
                del body[place : place + chance.randrange(40)]
            case 2:
                body[place:place] = chance.choice([b'"', b"[[", b"\n", b"=", b"\xff", b"{{", b"\0"])
            case _:
                body[place:place] = body[: chance.randrange(200)]
    (tmp_path / "city.toml").write_bytes(bytes(body))
    monkeypatch.chdir(tmp_path)
    said = inside("check")

    assert said.returncode in (0, 2)
    assert (said.returncode == 0) == ("is fine" in said.stdout)
    assert (said.returncode == 2) == ("city.toml" in said.stderr)


def test_the_resolved_config_is_toml_without_secrets(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + '[[agents]]\nname = "a"\nprovider = "demo"\n'
        + f'env = {{ MY_API_KEY = "{SECRET}", PLAIN = "shown" }}\n'
    )
    text = city.ok("config", "show", "--resolved")
    document = tomllib.loads(text)

    assert SECRET not in text
    assert document["city"]["name"] == "town"
    assert document["agents"][0]["env"]["PLAIN"] == "shown"
    assert document["daemon"]["patrol_interval"] == "1s"
    assert city.ok("config", "show") == (city.folder / "city.toml").read_text()


@pytest.mark.git
def test_doctor_finds_a_command_that_is_missing(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPERS)
    fine = city.gc("doctor")
    city.write(HEAD + '[[agents]]\nname = "a"\nstart_command = "no-such-program --x"\n')
    missing = city.gc("doctor")
    document = json.loads(city.gc("doctor", "--json").stdout)

    assert fine.returncode == 0, fine.stdout
    assert missing.returncode == 3
    assert "FAIL  command no-such-program: not found on the PATH of agent a\n" in missing.stdout
    assert [finding["name"] for finding in document["findings"] if not finding["fine"]] == [
        "command no-such-program"
    ]


def test_doctor_looks_for_no_program_where_the_shell_does_it(
    make_city: MakeCity, inside: Inside
) -> None:
    commands = ("exit 3", "cd rig; no-such", "exec no-such", "A=b exit;", "(no-such)")
    city = make_city(
        HEAD
        + "".join(
            f'[[agents]]\nname = "a{number}"\nstart_command = "{command}"\n'
            for number, command in enumerate(commands)
        )
    )
    document = json.loads(inside("-C", str(city.folder), "doctor", "--json").stdout)

    found = [one["name"] for one in document["findings"] if one["name"].startswith("command ")]
    assert found == ["command no-such"]


def test_doctor_knows_what_cannot_be_a_webhook(make_city: MakeCity) -> None:
    city = make_city(f'{HEAD}\n[alerts]\nwebhook_env = "HOOK"\n{SLEEPERS}')
    done = city.gc("doctor", env={"HOOK": "sk-hunter2"})

    assert done.returncode == 3
    assert (
        "FAIL  alerts webhook_env: the variable HOOK holds no address that begins with http://"
        " or https://\n"
    ) in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.git
def test_doctor_looks_at_the_ways_to_tell_a_person(make_city: MakeCity, tmp_path: Path) -> None:
    keys = 'webhook_env = "HOOK"\napprise_env = "WHERE"\ndesktop = true\n'
    city = make_city(f"{HEAD}\n[alerts]\n{keys}{SLEEPERS}")
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{program.parent}:{city.environment()['PATH']}"
    bad = city.gc("doctor", env={"HOOK": "http://hunter2"})
    good = city.gc("doctor", env={"HOOK": "http://hunter2", "WHERE": "x://", "PATH": path})

    assert bad.returncode == 3
    assert "ok    alerts webhook_env: the variable HOOK is set\n" in bad.stdout
    assert "FAIL  alerts apprise_env: the variable WHERE is not set here\n" in bad.stdout
    assert "ok    alerts apprise: installed\n" in bad.stdout
    assert good.returncode == 0
    assert f"ok    alerts desktop: {program}\n" in good.stdout
    assert "hunter2" not in bad.stdout + good.stdout


def test_doctor_writes_where_the_state_is_kept(
    city: City, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ["-C", str(city.folder), "doctor"]
    assert f"state folder: {city.folder} can be written\n" in inside(*ask).stdout
    city.state.mkdir()
    assert f"state folder: {city.state} can be written\n" in inside(*ask).stdout

    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = inside(*ask)

    assert done.returncode == 3
    said = f"FAIL  state folder: {city.state} cannot be written: No space left on device\n"
    assert said in done.stdout
    assert not list(city.state.glob("doctor-*"))


@pytest.mark.git
@pytest.mark.parametrize("trouble", ["damaged", "newer", "folder"])
def test_doctor_looks_into_the_journal(city: City, inside: Inside, trouble: str) -> None:
    ask = ["-C", str(city.folder), "doctor"]
    city.state.mkdir()
    path = city.state / "city.db"
    Journal(str(path)).close()
    fine = inside(*ask)
    if trouble == "newer":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 99")
    elif trouble == "damaged":
        path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * 4096 + path.read_bytes()[8192:])
    else:
        path.unlink()
        path.mkdir()
    before = path.read_bytes() if path.is_file() else b""
    done = inside(*ask)

    assert fine.returncode == 0
    assert f"journal: {path} can be read and written\n" in fine.stdout
    assert done.returncode == 3
    assert f"FAIL  journal: {path} " in done.stdout
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_version_is_that_of_the_package(city: City) -> None:
    assert city.ok("version").startswith(f"gc {__version__} (Python 3.")
    assert city.ok("--version") == f"gc {__version__}\n"
    assert json.loads(city.ok("version", "--json"))["gc"] == __version__


def offered_in(city: City, line: str) -> list[str]:
    """Return what a shell would offer at the end of this line."""
    count = str(len(line.split(" ")) - 1)
    env = {"_GC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": count}
    done = city.gc(env=env)
    assert not done.stderr
    return done.stdout.split()


def test_a_shell_is_offered_all_that_a_word_may_mean(city: City) -> None:
    assert city.gc("task", "start", "--task", "build", "--", "true").returncode == 0

    assert offered_in(city, "gc runs list b") == ["b", "build"]
    assert offered_in(city, "gc solve start --agent c") == ["c", "claude", "codex"]
    assert offered_in(city, "gc init --backend cla") == ["claude"]
    assert offered_in(city, "gc service show --for s") == ["systemd"]


def test_a_shell_is_offered_the_names_of_the_agents(make_city: MakeCity) -> None:
    city = make_city(
        HEAD + SLEEPERS + '[[agents]]\nname = "all"\ndir = "rigs"\nstart_command = "true"\n'
        '[[agents]]\nname = "crew"\nstart_command = "true"\npool = { min = 0, max = 2 }\n'
    )

    def offered(line: str) -> list[str]:
        return offered_in(city, line)

    assert offered("gc peek ") == ["a", "b", "c", "crew", "crew-1", "crew-2", "rigs/all"]
    assert offered("gc restart c") == ["c", "crew", "crew-1", "crew-2"]
    assert "start" in offered("gc s")
    city.write("not [ toml")
    assert offered("gc stop ") == []
