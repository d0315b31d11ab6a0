"""The processes of a session, found however far they went, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gascity.core.observed import ProcessId
from gascity.session import kin, pids
from gascity.session.kin import Kin
from gascity.session.marks import MARK
from gascity.testing.eventually import eventually

PATIENCE = 60.0  # seconds, where what is waited for comes at once unless something is wrong
# Writes down who it is when it is ready, and stays.
UP = "echo $$ >up; while :; do sleep 0.05; done"


class Family:
    """Processes of one mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"{folder}#{uuid.uuid4().hex}#"
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, script: str, *, marked: bool = True, mark: str = "") -> ProcessId:
        """Run a script in a terminal session of its own."""
        env = {"PATH": os.environ["PATH"], "FAMILY": self.mark}
        if marked:
            env[MARK] = mark or f"{self.mark}token"
        words = ["/bin/sh", "-c", script]
        process = subprocess.Popen(
            words, env=env, cwd=self.folder, start_new_session=True, stdin=subprocess.DEVNULL
        )
        self._started.append(process)
        started = pids.table.started(process.pid)
        assert started is not None
        return ProcessId(process.pid, started)

    def code(self, one: ProcessId) -> int:
        """Return how a process ended: its exit code, or the signal below zero."""
        (process,) = [each for each in self._started if each.pid == one.pid]
        return process.wait(PATIENCE)

    def pid_in(self, name: str) -> int:
        path = self.folder / name
        return int(eventually(lambda: path.exists() and path.read_text().strip()))

    def living(self) -> list[int]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                is_ours = process.environ().get("FAMILY") == self.mark
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process.pid)
        return found

    def close(self) -> None:
        for pid in self.living():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._started:
            process.kill()  # it may have shown no variables when it was looked for
            process.wait()


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    made = Family(tmp_path)
    try:
        yield made
    finally:
        made.close()


def end(one: Kin, grace: float = 0.0, limit: float = 10.0) -> list[int]:
    now = time.monotonic()
    return kin.end({"a": one}, kill_at=now + grace, deadline=now + limit).get("a", [])


def found(one: Kin) -> list[int]:
    return [process.pid for process in kin.members({"a": one})["a"]]


def test_the_root_and_what_is_below_it_belong_to_a_session(family: Family) -> None:
    root = family.start("sleep 1000 & echo $! >child; wait", marked=False)
    child = family.pid_in("child")

    assert found(Kin(family.mark, root)) == [root.pid, child]


def test_who_was_left_in_the_terminal_session_of_the_root_belongs_to_it(family: Family) -> None:
    root = family.start("(sleep 1000 & echo $! >child); exec sleep 1000", marked=False)
    child = family.pid_in("child")
    eventually(lambda: psutil.Process(root.pid).name() == "sleep")  # who began it has ended

    assert sorted(found(Kin(family.mark, root))) == sorted([root.pid, child])


def test_who_went_away_with_the_mark_belongs_to_it(family: Family) -> None:
    root = family.start("setsid sh -c 'echo $$ >far; exec sleep 1000' & wait")
    far = family.pid_in("far")
    os.kill(root.pid, signal.SIGKILL)
    eventually(lambda: pids.table.started(root.pid) is None)

    assert found(Kin(family.mark)) == [far]


def test_what_a_marked_process_started_without_the_mark_belongs_to_it(family: Family) -> None:
    root = family.start(f"env -u {MARK} setsid sh -c 'echo $$ >far; exec sleep 1000' & wait")
    far = family.pid_in("far")

    assert far in found(Kin(family.mark))
    assert found(Kin(family.mark))[0] == root.pid


def test_a_mark_that_begins_like_another_is_another(family: Family) -> None:
    other = family.start("exec sleep 1000", mark=f"{family.mark[:-1]}0#token")

    assert found(Kin(family.mark)) == []
    assert end(Kin(family.mark)) == []
    eventually(lambda: family.living() == [other.pid])  # its variables, once it is `sleep`


def test_a_root_whose_number_is_another_process_now_is_nobody(family: Family) -> None:
    other = family.start("exec sleep 1000", marked=False)
    recycled = ProcessId(other.pid, f"{other.started}0")

    assert found(Kin(family.mark, recycled)) == []
    assert end(Kin(family.mark, recycled)) == []
    eventually(lambda: family.living() == [other.pid])  # its variables, once it is `sleep`


def test_several_sessions_are_told_apart_in_one_pass(family: Family) -> None:
    marks = {name: f"{family.mark}{name}#" for name in ("a", "b")}
    roots = {name: family.start("exec sleep 1000", mark=f"{mark}t") for name, mark in marks.items()}

    members = kin.members({name: Kin(mark) for name, mark in marks.items()})

    assert members == {name: [root] for name, root in roots.items()}


def test_who_becomes_another_program_is_known_in_every_moment_of_it(family: Family) -> None:
    (family.folder / "again").write_text("printf x >>changes; exec sh again")
    root = family.start("exec sh again")
    changes, marks = family.folder / "changes", set()
    eventually(changes.exists)

    while changes.stat().st_size < 300:
        marks.add(pids.table.variable(root.pid, MARK))

    assert marks == {f"{family.mark}token"}


def test_who_has_no_variables_has_no_mark(family: Family) -> None:
    family.start(f"exec env -i sh -c '{UP}'")

    assert pids.table.variable(family.pid_in("up"), MARK) is None


def test_no_sessions_have_no_processes() -> None:
    assert kin.members({}) == {}
    assert kin.end({}, kill_at=0.0, deadline=0.0) == {}


# --- ending


def test_all_of_them_are_ended_wherever_they_are(family: Family) -> None:
    root = family.start("sleep 1000 & setsid sh -c 'echo $$ >far; exec sleep 1000' & wait")
    family.pid_in("far")

    assert end(Kin(family.mark, root), grace=5.0) == []
    assert family.living() == []


def test_a_process_is_asked_first_and_given_time(family: Family) -> None:
    family.start(f"trap 'sleep 0.3; echo tidied >tidied; exit' TERM; {UP}")
    family.pid_in("up")

    assert end(Kin(family.mark), grace=8.0) == []
    assert (family.folder / "tidied").exists()


ENDS = """
import os, subprocess, sys, time
from gascity.session import kin
from gascity.session.marks import MARK
saves = "sleep 6; kill -CONT $PPID; sleep 0.3; echo saved >saved; exit"
script = f"trap 'kill -STOP $PPID; {saves}' TERM; echo $$ >up; while :; do sleep 0.05; done"
env = {**os.environ, MARK: sys.argv[1] + "token"}
with subprocess.Popen(["sh", "-c", script], env=env, start_new_session=True):
    while not os.path.exists("up"):
        time.sleep(0.05)  # until it can hear a signal
    now = time.monotonic()
    print(kin.end({"a": kin.Kin(sys.argv[1])}, kill_at=now + 4, deadline=now + 60))
"""


def test_who_stands_still_with_the_whole_machine_keeps_its_grace(family: Family) -> None:
    words = [sys.executable, "-c", ENDS, family.mark]

    done = subprocess.run(words, cwd=family.folder, capture_output=True, text=True, check=True)

    assert done.stdout == "{}\n"
    assert (family.folder / "saved").exists()


def test_a_process_that_does_not_listen_is_killed(family: Family) -> None:
    family.start(f"trap '' TERM HUP INT; {UP}")
    family.pid_in("up")

    assert end(Kin(family.mark), grace=0.2) == []
    assert family.living() == []


def test_an_interactive_shell_is_asked_by_a_signal_that_it_hears(family: Family) -> None:
    root = family.start(f"trap '' TERM; trap 'exit 5' HUP; {UP}")
    family.pid_in("up")

    assert end(Kin(family.mark), grace=PATIENCE, limit=PATIENCE) == []
    assert family.code(root) == 5


def test_a_stopped_process_hears_it_too(family: Family) -> None:
    root = family.start(f"trap 'exit 5' TERM; {UP}")
    os.kill(family.pid_in("up"), signal.SIGSTOP)

    assert end(Kin(family.mark), grace=PATIENCE, limit=PATIENCE) == []
    assert family.code(root) == 5


def test_who_is_born_while_the_others_end_is_ended(family: Family) -> None:
    family.start(f"trap 'setsid sleep 1000 & setsid sleep 1000 & exit' TERM; {UP}")
    family.pid_in("up")

    assert end(Kin(family.mark), grace=5.0) == []
    assert family.living() == []


def test_the_end_is_noticed_at_once(family: Family) -> None:
    root = family.start("exec sleep 1000")
    began = time.monotonic()

    assert end(Kin(family.mark), grace=PATIENCE, limit=PATIENCE) == []
    assert time.monotonic() - began < PATIENCE
    assert family.code(root) == -signal.SIGTERM


def test_survivors_are_named_when_time_is_up(family: Family) -> None:
    root = family.start(f"trap '' TERM HUP; {UP}")
    family.pid_in("up")

    left = end(Kin(family.mark, root), grace=5.0, limit=0.3)

    assert root.pid in left


def test_the_caller_never_ends_itself(family: Family) -> None:
    """Not even when it runs inside a session that it is asked to end."""
    own = pids.table.started(os.getpid())
    assert own is not None

    members = kin.members({"a": Kin(family.mark, ProcessId(os.getpid(), own))})

    assert os.getpid() not in [process.pid for process in members["a"]]


# --- what remains of a session whose root ended


def ended_root(family: Family, script: str) -> ProcessId:
    """Run a script and return which process it was, when it is gone."""
    root = family.start(f"while ! [ -e go ]; do sleep 0.01; done; {script}")
    (family.folder / "go").touch()
    os.waitpid(root.pid, 0)
    return root


def test_nothing_remains_of_a_program_that_left_nothing(family: Family) -> None:
    root = ended_root(family, "true")

    assert not kin.remain(Kin(family.mark, root))


@pytest.mark.parametrize(
    "left", [f"({UP}) &", f"setsid sh -c '{UP}' &", f"setsid sh -c '(setsid sh -c \"{UP}\" &)' &"]
)
def test_what_a_program_left_remains_wherever_it_went(family: Family, left: str) -> None:
    root = ended_root(family, f"{left.replace('$$', '1')} while ! [ -e up ]; do sleep 0.01; done")

    assert kin.remain(Kin(family.mark, root))
    assert kin.remain(Kin(family.mark, root), others=[os.getsid(0), root.pid])


def test_what_another_session_has_does_not_remain_of_this_one(family: Family) -> None:
    root = ended_root(family, "true")
    other = family.start(UP, mark=f"{family.folder}#other#")
    family.pid_in("up")

    assert not kin.remain(Kin(family.mark, root))
    assert not kin.remain(Kin(family.mark, root), others=[other.pid])
