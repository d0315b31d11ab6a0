"""What one-shot work shows: the answer, a table on a narrow terminal, all about one run."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import termios
import time
from pathlib import Path

import pytest
from tests.cli.place import LIMIT, Place

from gascity.cli.render import fitting
from gascity.runs.folder import OUTPUT
from gascity.testing.eventually import eventually


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def on_terminal(place: Place, columns: int, *words: str, term: str = "xterm") -> str:
    """Run `gc` on a terminal of so many columns; return all that it wrote there."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    process = place.popen(*words, env={"TERM": term}, out=follower, err=follower)
    os.close(follower)
    shown, deadline = b"", time.monotonic() + LIMIT
    try:
        while time.monotonic() < deadline:
            if not select.select([leader], [], [], 0.1)[0]:
                continue
            part = os.read(leader, 4096)
            shown += part
    except OSError:  # nobody has its other end any more
        return shown.decode()
    finally:
        os.close(leader)
        process.wait(timeout=LIMIT)
    raise AssertionError(shown)


@pytest.mark.parametrize("words", [("run",), ("run", "--json"), ("task", "start", "--task", "t")])
@pytest.mark.parametrize(("code", "told"), [(0, 1), (3, 3)])
def test_an_answer_that_nobody_can_be_given_is_told(
    place: Place, words: tuple[str, ...], code: int, told: int
) -> None:
    once = ("--max-restarts", "0") if words[0] == "task" else ()
    command = (*words, *once, "--", "sh", "-c", f"seq 100000; exit {code}")
    with open("/dev/full", "wb") as full:
        process = place.popen(*command, out=full.fileno())
        _, err = process.communicate(timeout=LIMIT)
    (folder,) = place.folders()

    assert process.returncode == told
    assert b"error: cannot print it: No space left on device\nhint: it is in " in err
    assert (folder / OUTPUT).stat().st_size > 100000


@pytest.mark.parametrize("words", [("run",), ("run", "--json"), ("task", "start", "--task", "t")])
def test_a_reader_that_left_changes_nothing(place: Place, words: tuple[str, ...]) -> None:
    once = ("--max-restarts", "0") if words[0] == "task" else ()
    reading, writing = os.pipe()
    process = place.popen(*words, *once, "--", "sh", "-c", "seq 100000; exit 3", out=writing)
    os.close(writing)
    os.close(reading)
    _, err = process.communicate(timeout=LIMIT)

    assert process.returncode == 3
    assert b"Traceback" not in err
    assert b"cannot print" not in err


@pytest.mark.parametrize("columns", [80, 40])
def test_an_id_can_be_copied_from_a_narrow_terminal(place: Place, columns: int) -> None:
    done = place.run(
        "echo it did not go well at all >&2; exit 3", "--task", "a-task-of-some-length"
    )

    written = on_terminal(place, columns, "runs").replace("\r", "")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", written).splitlines()
    assert shown[1].startswith(f"{done['run']}  ")
    assert all(len(line.rstrip()) <= columns for line in shown)


def test_columns_are_left_out_where_there_is_no_room() -> None:
    columns = ("RUN", "WHO", "STATE", "END")
    rows = [["r" * 20, "w" * 10, "failed", "e" * 100]]

    found = {room: fitting(columns, rows, ("WHO",), room) for room in (58, 57, 46, 45, 27, 5)}
    assert found == {58: [0, 1, 2, 3], 57: [0, 2, 3], 46: [0, 2, 3], 45: [0, 2], 27: [0], 5: [0]}


def test_how_far_it_is_stays_on_one_line(place: Place) -> None:
    shown = on_terminal(place, 30, "run", "--", "sh", "-c", "sleep 6; echo done")

    lines = [part.removeprefix("\x1b[K") for part in shown.split("\r") if part.strip()]
    assert len(lines) >= 2
    assert lines[-1] == "done"
    assert all(len(line) < 30 for line in lines)


def test_a_terminal_that_cannot_redraw_is_not_made_to(place: Place) -> None:
    assert on_terminal(place, 80, "run", "--", "sleep", "1.5", term="dumb") == ""


def test_all_about_one_run_is_what_it_was_told_and_what_it_said(place: Place) -> None:
    done = place.run("echo swept; exit 3", "--task", "tidy", "--prompt", "sweep\nthe floor")

    shown = place.gc("runs", "show", done["run"]).stdout.decode()
    assert "session:" not in shown
    assert "restarts:" not in shown
    assert "backend:   command\n" in shown
    assert "prompt.md):\n│ sweep\n│ the floor\n" in shown
    assert "output.md):\n│ swept\n" in shown


def test_the_runs_of_a_task_are_listed_by_its_name(place: Place) -> None:
    tidy, other = place.run("true", "--task", "tidy"), place.run("true", "--task", "other")

    for name in ("tidy", "default/tidy"):
        shown = place.gc("runs", name).stdout.decode()
        assert tidy["run"] in shown
        assert other["run"] not in shown
    gone = place.gc("runs", "nobody")
    assert (gone.returncode, gone.stderr.startswith(b'error: there is no task "nobody"')) == (
        4,
        True,
    )


def test_a_key_that_is_missing_is_told_by_its_name(place: Place) -> None:
    done = place.gc("run", "--backend", "xai", "--prompt", "x")

    assert done.returncode == 1
    assert b"failed: api key is empty\nhint: it is looked for in XAI_API_KEY," in done.stderr


def test_an_answer_ends_its_line_on_a_terminal(place: Place) -> None:
    assert on_terminal(place, 80, "run", "--", "printf", "42") == "42\r\n"
    assert on_terminal(place, 80, "run", "--", "echo", "42") == "42\r\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("gc run --backend ", "claude codex demo gemini perplexity xai"),
        ("gc task start --backend x", "xai"),
        ("gc runs ", "list show logs stop prune serve smith hull town/hull"),
        ("gc runs s", "show stop serve smith"),
        ("gc runs --j", "--json"),
        ("gc task start --depends-on ", "hull town/hull"),
    ],
)
def test_a_shell_completes_what_there_is(place: Place, line: str, told: str) -> None:
    agent = '[[agents]]\nname = "smith"\nstart_command = "true"\n'
    place.city(f'[workspace]\nname = "town"\n{agent}')
    place.gc("task", "start", "--task", "hull", "--", "true")
    env = {"_GC_COMPLETE": "complete_bash", "COMP_WORDS": line}
    done = place.gc(env={**env, "COMP_CWORD": str(line.count(" "))})

    assert done.stdout.decode().split() == told.split()


def test_a_task_that_failed_says_why_and_what_to_do(place: Place) -> None:
    script = "echo the broom broke >&2; exit 3"
    words = ("task", "start", "--task", "t", "--max-restarts", "0", "--", "sh", "-c", script)
    said = place.gc(*words).stderr.decode().splitlines()
    (folder,) = place.folders()

    why = f"no restart is left: run {folder.name} ended with code 3: the broom broke"
    assert said[-2:] == [
        f"task t has failed: {why}",
        f"hint: `gc runs show {folder.name}` tells more, `gc task resume t` goes on",
    ]
    assert why in place.gc("task", "status").stdout.decode()


def test_who_follows_a_silent_run_ends_with_the_reader(place: Place) -> None:
    script = "echo begun; sleep 1000"
    place.gc("task", "start", "--detach", "--task", "t", "--", "sh", "-c", script)
    (folder,) = eventually(place.folders, within=LIMIT)
    try:
        reading, writing = os.pipe()
        process = place.popen("runs", "logs", "-f", folder.name[:8], out=writing)
        os.close(writing)
        assert os.read(reading, 100) == b"begun\n"
        place.run("true")  # another whose id begins so
        assert process.poll() is None
        os.close(reading)
        _, err = process.communicate(timeout=LIMIT)
    finally:
        place.gc("task", "stop", "t")

    assert (process.returncode, err) == (0, b"")


def test_a_task_goes_on_when_nobody_listens_any_more(place: Place) -> None:
    reading, writing = os.pipe()
    script = 'echo >>"$TASK_FOLDER/tries"; test $(wc -l <"$TASK_FOLDER/tries") = 3'
    words = ("task", "start", "--task", "t", "--delay", "0s", "--", "sh", "-c", script)
    process = place.popen(*words, err=writing)
    os.close(writing)
    os.close(reading)
    process.communicate(timeout=LIMIT)
    told = json.loads(place.gc("task", "status", "t", "--json").stdout)

    assert (process.returncode, told["state"], told["attempts"]) == (0, "done", 3)


def test_a_run_that_failed_tells_so_by_its_code_when_nobody_listens(place: Place) -> None:
    reading, writing = os.pipe()
    process = place.popen("run", "--", "sh", "-c", "exit 3", err=writing)
    os.close(writing)
    os.close(reading)
    process.communicate(timeout=LIMIT)

    assert process.returncode == 3
