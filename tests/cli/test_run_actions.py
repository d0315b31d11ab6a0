"""`gc runs stop`, `logs` and `prune` by the real `gc`, while other things happen."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.cli.place import LIMIT, Place

from gascity.testing.eventually import eventually

UNTIL_GO = 'until [ -e "$TASK_FOLDER/go" ]; do sleep 0.01; done'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def _task(place: Place) -> Path:
    return place.home / "projects" / "default" / "adhoc"


def test_a_run_whose_runner_is_suspended_is_stopped(place: Place) -> None:
    with place.popen("run", "--", "sh", "-c", 'touch "$TASK_FOLDER/ready"; sleep 1000') as runner:
        eventually((_task(place) / "ready").exists, within=LIMIT)
        runner.send_signal(signal.SIGSTOP)
        (run,) = place.marks()
        done = place.gc("runs", "stop", run)

        assert done.stdout.decode() == f"stopped run {run}\n"
        assert runner.wait(LIMIT) == 143
    assert place.living() == []


def test_a_run_whose_runner_is_killed_while_it_stops_is_stopped(place: Place) -> None:
    script = 'trap \'touch "$TASK_FOLDER/asked"\' TERM; touch "$TASK_FOLDER/ready"'
    script += "; while :; do sleep 0.01; done"
    with place.popen("run", "--", "sh", "-c", script) as runner:
        eventually((_task(place) / "ready").exists, within=LIMIT)
        (run,) = place.marks()
        stop = place.popen("runs", "stop", run)
        eventually((_task(place) / "asked").exists, within=LIMIT)
        runner.kill()
    out, err = stop.communicate(timeout=LIMIT)

    assert (stop.returncode, out.decode(), err) == (0, f"stopped run {run}\n", b"")
    assert place.living() == []
    assert place.show(run)["state"] == "failed"


def test_another_run_that_begins_alike_does_not_end_the_following(place: Place) -> None:
    script = f"echo begun; {UNTIL_GO}; echo over"
    with place.popen("run", "--", "sh", "-c", script) as runner:
        eventually(
            lambda: place.folders() and place.folders()[0].joinpath("run-info.yaml").exists()
        )
        follow = place.popen("runs", "logs", "2", "--follow")
        assert follow.stdout is not None
        begun = follow.stdout.readline()
        place.run("true")
        (_task(place) / "go").touch()
        rest, err = follow.communicate(timeout=LIMIT)
        runner.communicate(timeout=LIMIT)

    assert (begun, rest, err, follow.returncode) == (b"begun\n", b"over\n", b"", 0)


def test_what_cannot_be_let_go_is_not_said_to_be_gone(place: Place) -> None:
    run = place.run("true")["run"]
    (folder,) = place.folders()
    folder.rename(place.folder / "elsewhere")
    folder.symlink_to(place.folder / "elsewhere")
    done = place.gc("runs", "prune", "--keep", "0")

    assert (done.returncode, done.stdout) == (1, b"let 0 runs go\n")
    assert done.stderr.decode() == f"warning: {folder} cannot be removed\n"
    assert folder.name == run


def test_a_run_in_progress_is_not_let_go(place: Place) -> None:
    with place.popen("run", "--", "sh", "-c", f"echo said; {UNTIL_GO}") as runner:
        eventually(place.folders, within=LIMIT)
        done = place.gc("runs", "prune", "--keep", "0")
        (_task(place) / "go").touch()
        out, _ = runner.communicate(timeout=LIMIT)

    assert done.stdout == b"let 0 runs go\n"
    assert (out, runner.returncode) == (b"said\n", 0)
