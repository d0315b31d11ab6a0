"""Twenty processes at one record: no change is lost, and no reader sees half of one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.runs.office import Office

from gascity.runs import desired
from gascity.runs.info import RunInfo, Status
from gascity.runs.reconcile import settle
from gascity.runs.task_info import TaskInfo
from gascity.testing.eventually import eventually

MANY = 20
EACH = 10
ADD = """
import sys
from dataclasses import replace
from gascity.runs import desired
from gascity.runs.places import Home
place = Home(sys.argv[1]).task("p", "t")
for number in range(int(sys.argv[3])):
    name = f"{sys.argv[2]}-{number}"
    desired.change(place, lambda info: replace(info, depends_on=(*info.depends_on, name)))
"""
SETTLE = """
import sys
from gascity.runs.places import Home
from gascity.runs.reconcile import settle
sys.stdin.read()
print(*settle(Home(sys.argv[1])))
"""


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def test_no_change_of_a_task_is_lost(office: Office) -> None:
    place = office.home.task("p", "t")
    Path(place.path).mkdir(parents=True)
    desired.write(place, TaskInfo("p", "t"))
    words = [sys.executable, "-c", ADD, office.home.path]
    changing = [subprocess.Popen([*words, f"n{one}", str(EACH)]) for one in range(MANY)]
    seen = []
    while any(one.poll() is None for one in changing):
        seen.append(len(desired.read(place).depends_on))  # a torn record would be an exception

    assert [one.returncode for one in changing] == [0] * MANY
    assert seen == sorted(seen)
    assert sorted(desired.read(place).depends_on) == sorted(
        f"n{one}-{number}" for one in range(MANY) for number in range(EACH)
    )


def test_one_of_twenty_processes_settles_a_run(office: Office) -> None:
    with office.killable("echo said; touch ready; sleep 1000") as runner:
        eventually((office.folder / "ready").exists, within=60.0)
        runner.send_signal(signal.SIGKILL)
    (folder,) = office.home.runs()
    words = [sys.executable, "-c", SETTLE, office.home.path]
    settling = [
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(MANY)
    ]
    for one in settling:
        assert one.stdin is not None
        one.stdin.close()
    states = set()
    while any(one.poll() is None for one in settling):
        info = folder.read_info()
        assert isinstance(info, RunInfo)
        states.add(info.status)
    told = []
    for one in settling:
        with one:
            assert one.stdout is not None
            told.append(one.stdout.read().split())

    assert sorted(told) == [[]] * (MANY - 1) + [[folder.run_id]]
    assert states <= {Status.RUNNING, Status.FAILED}
    assert office.types() == ["RUN_START", "RUN_CRASH"]
    assert office.marks() == settle(office.home) == []
