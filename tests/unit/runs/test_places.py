"""Where one-shot work lies, and the marks of what is not over."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

import pytest

from gascity.errors import GascityError, NotFound, UsageError
from gascity.runs import marks
from gascity.runs.folder import RunFolder
from gascity.runs.ids import new_run_id
from gascity.runs.places import Home, find_home
from gascity.session import pids


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def test_a_run_lies_below_its_task(home: Home) -> None:
    held = home.allocate(home.task("p", "t"))

    assert os.path.dirname(held.folder.path) == f"{home.path}/projects/p/t/runs"
    assert re.fullmatch(r"\d{8}-\d{10}-\d+-\d+", held.folder.run_id)
    assert held.folder.belongs_to() == ("p", "t")
    assert [run.run_id for run in home.runs()] == [held.folder.run_id]
    held.settled()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".open", "a b", "-a", "a--b", "a\0"])
def test_a_name_that_leads_elsewhere_is_refused(home: Home, name: str) -> None:
    with pytest.raises(UsageError, match="is no name"):
        home.task(name, "t")
    with pytest.raises(UsageError, match="is no name"):
        home.task("p", name)


def test_a_mark_is_there_until_a_run_is_settled(home: Home) -> None:
    held = home.allocate(home.task("p", "t"))
    (one,) = home.open_runs()

    assert one.folder == held.folder.path
    assert one.runner is not None
    assert (one.runner.pid, one.runner.started) == (os.getpid(), pids.table.started(os.getpid()))
    assert one.lives
    with home.taken_over(one) as is_ours:
        assert not is_ours
    held.settled()
    assert home.open_runs() == []
    with home.taken_over(one) as is_ours:
        assert not is_ours


def test_one_of_two_takes_over_what_was_left(home: Home) -> None:
    home.allocate(home.task("p", "t")).leave()
    (one,) = home.open_runs()

    with home.taken_over(one) as first, home.taken_over(one) as second:
        assert (first, second) == (True, False)
    assert home.open_runs() == []


def test_what_could_not_be_settled_stays_marked(home: Home) -> None:
    home.allocate(home.task("p", "t")).leave()
    (one,) = home.open_runs()

    with pytest.raises(OSError, match="full"), home.taken_over(one):
        raise OSError("full")
    assert home.open_runs() == [one]


def test_a_pid_that_was_given_to_another_is_not_the_runner(home: Home) -> None:
    held = home.allocate(home.task("p", "t"))
    said = {"folder": held.folder.path, "runner": os.getpid(), "runner_started": "1"}
    Path(home.projects, ".open", held.folder.run_id).write_text(json.dumps(said))
    (one,) = home.open_runs()

    assert not one.lives
    held.settled()


def test_a_home_may_be_moved_while_a_run_is_open(home: Home, tmp_path: Path) -> None:
    held = home.allocate(home.task("p", "t"))
    held.leave()
    moved = Path(home.path).rename(tmp_path / "moved")
    (one,) = Home(str(moved)).open_runs()

    assert one.folder == f"{moved}/projects/p/t/runs/{held.folder.run_id}"


def test_many_at_once_get_runs_of_their_own(home: Home) -> None:
    found: list[str] = []

    def allocate() -> None:
        for _ in range(20):
            held = home.allocate(home.task("p", "t"))
            found.append(held.folder.run_id)
            held.settled()

    threads = [threading.Thread(target=allocate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(found)) == len(found) == 160
    assert home.open_runs() == []


def test_what_was_left_while_a_mark_was_made_is_swept(home: Home) -> None:
    home.allocate(home.task("p", "t")).settled()
    folder = Path(home.projects, ".open")
    for name, age in ((".new-old", 1000), (".new-young", 0)):
        (folder / name).touch()
        now = (folder / name).stat().st_mtime
        os.utime(folder / name, (now - age, now - age))
    home.sweep()

    assert os.listdir(folder) == [".new-young"]


def test_a_mark_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    with pytest.raises(OSError, match=re.escape(str(tmp_path / "r"))):
        marks.make(str(tmp_path), RunFolder(str(tmp_path / "x" / "r")))

    assert os.listdir(tmp_path) == ["r"]


def test_a_place_that_is_no_folder_is_told(home: Home) -> None:
    Path(home.path).write_text("a file")

    with pytest.raises(GascityError, match=r"no run can be recorded in .*/p/t: "):
        home.allocate(home.task("p", "t"))
    assert home.open_runs() == []
    assert list(home.runs()) == []


def test_the_home_is_the_city_or_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "town" / "deep").mkdir(parents=True)

    assert find_home(str(tmp_path / "town")).path == str(tmp_path / "state" / "gascity")
    (tmp_path / "town" / "city.toml").touch()
    assert find_home(str(tmp_path / "town" / "deep")).path == str(tmp_path / "town" / ".gc")
    with pytest.raises(NotFound):
        find_home(str(tmp_path / "nowhere"))


def test_a_mark_of_an_unknown_run_is_nobodys(home: Home) -> None:
    folder = Path(home.projects, ".open")
    folder.mkdir(parents=True)
    run = new_run_id()
    said = {"folder": f"/etc/p/t/runs/{run}x", "runner": 1, "runner_started": "1"}
    (folder / run).write_text(json.dumps(said))
    (one,) = home.open_runs()

    assert one.folder == ""
