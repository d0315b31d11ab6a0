"""Run folders: a reader never finds half a file, and nothing but runs is taken for one."""

from __future__ import annotations

import os
import resource
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gascity.runs.folder import INFO, RunFolder, Runs
from gascity.runs.ids import is_run_id, new_run_id
from gascity.runs.info import Broken, RunInfo, Status, to_yaml


def test_a_reader_never_finds_half_a_record(tmp_path: Path) -> None:
    folder = Runs(str(tmp_path)).of(new_run_id())
    folder.write_info(RunInfo(folder.run_id))
    broken: list[Broken] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            info = folder.read_info()
            if isinstance(info, Broken):
                broken.append(info)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(300):
        folder.write_info(RunInfo(folder.run_id, why="x" * (number * 37 % 4000)))
    done.set()
    reader.join()

    assert broken == []
    assert os.listdir(folder.path) == [INFO]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    folder = Runs(str(tmp_path)).of(new_run_id())
    folder.write("prompt.md", "old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            folder.write("prompt.md", "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert folder.read("prompt.md") == "old"
    assert os.listdir(folder.path) == ["prompt.md"]


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    folder = Runs(str(tmp_path)).of(new_run_id())
    folder.make()
    os.mkfifo(folder.file("run-info.yaml"))

    assert folder.read_info() == Broken(folder.run_id, "it is no file")
    assert folder.glance() is None


def test_a_file_that_has_the_name_of_another_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")

    with pytest.raises(FileExistsError):
        Runs(str(tmp_path)).of("notes").write("task-info.yaml", "x")

    assert (tmp_path / "notes").read_text() == "mine"


def test_runs_are_listed_from_the_newest_to_the_oldest(tmp_path: Path) -> None:
    when = datetime(2026, 3, 1, tzinfo=UTC)
    made = [new_run_id(when.replace(second=second)) for second in (1, 1, 2)]
    made += [f"20260301-0000020000-{os.getpid()}-{number}" for number in (99_998, 100_000)]
    for run in made:
        (tmp_path / run).mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "..20260301").mkdir()

    assert Runs(str(tmp_path)).ids() == made[::-1]
    assert Runs(str(tmp_path / "nowhere")).ids() == []


@pytest.mark.parametrize("text", ["", "..", "a/b", "20260301-1504051234-4242", "x" * 27])
def test_no_other_name_is_a_run(text: str) -> None:
    assert not is_run_id(text)


def test_a_head_that_is_written_otherwise_is_read_with_the_rest(tmp_path: Path) -> None:
    folder = Runs(str(tmp_path)).of(new_run_id())
    lines = to_yaml(RunInfo(folder.run_id, agent="a", status=Status.FAILED)).splitlines()
    folder.write(INFO, "\n".join(reversed(lines)) + "\n")

    head = folder.glance()

    assert head is not None
    assert (head.agent, head.status) == ("a", "failed")


def test_a_folder_without_a_record_is_broken_with_a_reason(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path / new_run_id()))

    assert folder.read_info() == Broken(folder.run_id, "nothing was written down of it")
    assert folder.glance() is None
    folder.remove()
