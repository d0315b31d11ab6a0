"""What `gc run` and `gc runs` cannot do is told in a sentence and an exit code, and never more."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.cli.place import FIVE, Place, names

from gascity.runs.ids import new_run_id

TRUE = ("--", "true")
ASK = ("--prompt", "x")
NOBODY = "nobody says who does it"
NAME = "is no name"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """Return a disk of 256 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may make a disk")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "nobody says what is to be done"),
        (ASK, NOBODY),
        ((*ASK, "--"), NOBODY),
        ((*ASK, "--backend", "claude", *TRUE), "say who does it: give one"),
        ((*ASK, "--backend", "nobody"), "unknown agent type: nobody"),
        ((*ASK, "--backend", "amp"), 'backend "amp" has no command for one-shot runs'),
        (("--backend", ""), "--backend is empty"),
        (("--backend", "claude"), "nobody says what is to be done"),
        ((*ASK, "--prompt-file", "f", *TRUE), "both say what is to be done"),
        (("--prompt-file", "nothing-there", *TRUE), "No such file or directory"),
        (("--prompt-file", ".", *TRUE), "Is a directory"),
        (("--cwd", "nowhere", *TRUE), "there is no folder"),
        (("--project", "a/b", *TRUE), NAME),
        (("--project", "..", *TRUE), NAME),
        (("--task", "../../x", *TRUE), NAME),
        (("--task", ".open", *TRUE), NAME),
        (("--task", "a\nb", *TRUE), NAME),
        (("--task", "", *TRUE), "--task is empty"),
        (("--timeout", "soon", *TRUE), "--timeout cannot be"),
        (("--timeout", "0s", *TRUE), "--timeout must be"),
        (("--idle-timeout", "-1s", *TRUE), "--idle-timeout"),
        (("--nonsense", *TRUE), "no such option"),
    ],
)
def test_a_bad_question_runs_nothing(place: Place, words: tuple[str, ...], told: str) -> None:
    done = place.gc("run", *words)
    lines = done.stderr.decode().splitlines()

    assert (done.returncode, done.stdout) == (2, b"")
    assert lines[0].startswith("error: ")
    assert told in lines[0]
    assert [line[:6] for line in lines[1:]] in ([], ["hint: "])
    assert not place.home.exists()


def test_an_agent_of_no_city_is_not_found(place: Place) -> None:
    done = place.gc("run", "--agent", "mayor", *ASK)
    lost = place.gc("-C", "nowhere", "run", *TRUE)

    assert (done.returncode, lost.returncode) == (4, 4)
    assert done.stderr == b'error: there is no agent "mayor": there is no city here\n'
    assert b"there is no folder" in lost.stderr


def test_a_folder_that_is_gone_is_told(place: Place) -> None:
    done = subprocess.run(
        ["sh", "-c", 'cd gone; rmdir "$PWD"; gc run -- true'],
        cwd=_made(place.work / "gone").parent,
        env=place.env(),
        capture_output=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(b"error: No such file or directory")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("what", ["state", "state/gascity", "state/gascity/projects"])
def test_a_home_that_is_no_folder_is_told(place: Place, what: str) -> None:
    path = place.folder / what
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("a file")
    done = place.gc("run", *TRUE)

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: no run can be recorded in ")
    assert done.stderr.count(b"\n") == 1


def test_a_home_that_cannot_be_written_is_told(place: Place, tiny: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", tiny], check=True)
    env = {"XDG_STATE_HOME": str(tiny)}
    done = place.gc("run", *TRUE, env=env)
    listed = place.gc("runs", env=env)

    assert done.returncode == 1
    assert done.stderr.decode().endswith(": Read-only file system\n")
    assert done.stderr.count(b"\n") == 1
    assert (listed.returncode, listed.stdout) == (0, b"no runs yet\n")


def test_a_full_disk_is_told_and_settled_when_there_is_room(place: Place, tiny: Path) -> None:
    env = {"XDG_STATE_HOME": str(tiny)}
    place.home = tiny / "gascity"
    script = 'head -c 1000000 /dev/zero >"$JRUN_TASK_FOLDER/filler"; exit 0'
    during = place.gc("run", "--", "sh", "-c", script, env=env)
    after = place.gc("run", *TRUE, env=env)
    listed = place.gc("runs", env=env)
    (place.home / "projects/default/adhoc/filler").unlink()
    settled = place.gc("runs", "--json", env=env)

    for done in (during, after):
        assert done.returncode == 1, done
        assert done.stderr.startswith(b"error: ")
        assert done.stderr.count(b"\n") <= 2
    assert listed.returncode == 0
    assert [run["state"] for run in json.loads(settled.stdout)["runs"]] == ["failed"]
    assert place.marks() == []
    assert place.messages() == ["RUN_START", "RUN_CRASH"]


def test_garbage_among_the_marks_is_nobodys(place: Place) -> None:
    document = place.run("true")
    marks = place.home / "projects" / ".open"
    victim = _made(place.folder / "victim" / "adhoc" / "runs" / new_run_id())
    (marks / new_run_id()).mkdir()
    os.mkfifo(marks / new_run_id())
    (marks / new_run_id()).symlink_to("/nowhere")
    garbage = ["", "\0\xff", "[" * 100_000, "{}", "null", json.dumps({"folder": "/etc"})]
    for folder in ("/etc", str(victim), "../..", "p/t/runs/x"):
        said = {"folder": folder, "runner": 1, "runner_started": "0"}
        garbage.append(json.dumps(said))
    garbage.append(json.dumps({"folder": "", "runner": 10**30, "runner_started": "0"}))
    for text in garbage:
        (marks / new_run_id()).write_text(text)
    (marks / victim.name).write_text(
        json.dumps({"folder": str(victim), "runner": 1, "runner_started": "0"})
    )
    (marks / "no-run-at-all").write_text("x")
    listed = json.loads(place.gc("runs", "--json").stdout)

    assert [run["run_id"] for run in listed["runs"]] == [document["run"]]
    assert names(victim) == []
    assert len(place.marks()) == 4
    assert place.run("true")["exit_code"] == 0


def test_a_broken_record_hides_no_other(place: Place) -> None:
    good = place.run("true")
    bad = []
    for number, text in enumerate(
        ("status: [", "", "\0", "- 1\n", "status: odd\n", "!!python/x 1")
    ):
        folder = place.folders()[0].parent / f"20250101-000000000{number}-7-{number}"
        folder.mkdir()
        (folder / "run-info.yaml").write_text(text)
        bad.append(folder)
    listed = place.gc("runs")
    shown = place.gc("runs", "show", bad[0].name)
    logs = place.gc("runs", "logs", bad[0].name)
    stop = place.gc("runs", "stop", bad[0].name)

    assert good["run"] in listed.stdout.decode()
    assert listed.stderr.count(b"warning: the record in ") == len(bad)
    assert (shown.returncode, logs.returncode, stop.returncode) == (0, 0, 5)
    assert b"unknown" in shown.stdout


def test_a_run_whose_mark_is_lost_is_not_said_to_run(place: Place) -> None:
    document = place.run("true")
    path = Path(document["folder"], "run-info.yaml")
    record = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump({**record, "status": "running", "end": ""}))

    assert place.show(document["run"])["state"] == "unknown"
    assert place.gc("runs", "logs", document["run"], "--follow").returncode == 0


def test_a_file_in_the_place_of_runs_hides_no_other(place: Place) -> None:
    document = place.run("true")
    _made(place.home / "projects" / "p" / "t").joinpath("runs").write_text("a file")

    assert document["run"] in place.gc("runs").stdout.decode()
    done = place.gc("run", "--project", "p", "--task", "t", *TRUE)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)


def test_a_broken_journal_fails_the_run_in_a_sentence(place: Place) -> None:
    _made(place.home).joinpath("city.db").write_text("no journal at all, but a long enough text")
    done = place.gc("run", *TRUE)

    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"error: ")
    assert [names(folder) for folder in place.folders()] == [FIVE]


def test_there_is_no_such_run(place: Place) -> None:
    for words in (("show", "x"), ("logs", "x"), ("stop", "x"), ("show", "../../etc")):
        done = place.gc("runs", *words)
        assert (done.returncode, done.stderr.count(b"error: there is no run")) == (4, 1)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
