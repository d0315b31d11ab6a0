"""`gc run` among other programs: what reads its answer, and what it was begun deaf to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.cli.place import LIMIT, Place

from gascity.testing.eventually import eventually


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("size", [3, 3_000_000])
def test_an_answer_that_cannot_be_written_is_a_failure(place: Place, size: int) -> None:
    script = f"head -c {size} /dev/zero"
    with open("/dev/full", "wb") as full:
        process = place.popen("run", "--", "sh", "-c", script, out=full.fileno())
    _, err = process.communicate(timeout=LIMIT)

    told, hint = err.splitlines()
    assert (process.returncode, told) == (1, b"error: cannot print it: No space left on device")
    assert hint.endswith(b"/output.md")


@pytest.mark.parametrize("code", [0, 3])
def test_a_reader_that_leaves_changes_nothing_about_the_code(place: Place, code: int) -> None:
    ours, its = os.pipe()
    os.close(ours)
    script = f"head -c 3000000 /dev/zero; exit {code}"
    process = place.popen("run", "--", "sh", "-c", script, out=its)
    os.close(its)
    _, err = process.communicate(timeout=LIMIT)

    assert process.returncode == code
    assert err.count(b"\n") == (2 if code else 0)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_who_was_begun_deaf_to_a_signal_stays_so(place: Place, number: signal.Signals) -> None:
    script = 'touch "$TASK_FOLDER/ready"; until [ -e "$TASK_FOLDER/go" ]; do sleep 0.01; done'
    before = signal.signal(number, signal.SIG_IGN)
    try:
        process = place.popen("run", "--", "sh", "-c", script)
    finally:
        signal.signal(number, before)
    task = place.home / "projects" / "default" / "adhoc"
    eventually((task / "ready").exists, within=LIMIT)
    process.send_signal(number)
    (task / "go").touch()
    _, err = process.communicate(timeout=LIMIT)

    assert (process.returncode, err) == (0, b"")
