"""Which process is meant, and what is below it: from /proc and from psutil alike."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gascity.core.observed import ProcessId
from gascity.session import pids, processes, psutil_table
from gascity.testing.eventually import eventually

TABLES = [pids.table] if pids.table is psutil_table else [pids.table, psutil_table]


@pytest.fixture(params=TABLES, ids=lambda table: table.__name__.rpartition(".")[2])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    chosen: ModuleType = request.param
    monkeypatch.setattr(pids, "table", chosen)  # the real table of another system, not a mock
    return chosen


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """Give a shell with a child that has a child; all in one group."""
    command = "sh -c 'sleep 1000; :' & wait"
    root = subprocess.Popen(["sh", "-c", command], start_new_session=True)
    yield root
    os.killpg(root.pid, signal.SIGKILL)
    root.wait()


def test_a_process_is_itself_and_stays_so(table: ModuleType, tree: subprocess.Popen[bytes]) -> None:
    one = processes.identify(tree.pid)

    assert one is not None
    assert one == processes.identify(tree.pid)
    assert processes.is_alive(one)


def test_a_pid_with_another_start_is_another_process(
    table: ModuleType, tree: subprocess.Popen[bytes]
) -> None:
    other = ProcessId(tree.pid, "another start")

    assert not processes.is_alive(other)
    assert not processes.signal(other, signal.SIGKILL)
    assert tree.poll() is None


def test_a_zombie_is_gone(table: ModuleType) -> None:
    process = subprocess.Popen(["sleep", "1000"])
    one = processes.identify(process.pid)
    assert one is not None

    assert processes.signal(one, signal.SIGKILL)

    eventually(lambda: not processes.is_alive(one))
    assert processes.identify(process.pid) is None
    assert not processes.signal(one, signal.SIGKILL)
    process.wait()


def test_no_process_is_no_process(table: ModuleType) -> None:
    process = subprocess.Popen(["true"])
    process.wait()

    assert processes.identify(process.pid) is None
    assert processes.descendants(process.pid) == []
    assert processes.names_in_tree(process.pid) == set()
    assert table.parent(process.pid) is None
    assert table.program(process.pid) == ("", "", [])


def test_descendants_are_all_below_parents_first(
    table: ModuleType, tree: subprocess.Popen[bytes]
) -> None:
    found = eventually(lambda: _two_below(tree.pid))

    assert [table.parent(process.pid) for process in found] == [tree.pid, found[0].pid]
    assert table.children(tree.pid) == [found[0].pid]


def test_the_environment_of_a_process_can_be_asked(table: ModuleType) -> None:
    env = {"PATH": os.environ["PATH"], "ODD": "a=b\nc"}
    process = subprocess.Popen(["sleep", "1000"], env=env)
    try:
        # Between fork and exec a child still shows what its parent was started with.
        assert eventually(lambda: table.variable(process.pid, "ODD")) == "a=b\nc"
        assert table.variable(process.pid, "OD") is None
        assert process.pid in table.everyone()
    finally:
        process.kill()
        process.wait()


def test_names_in_a_tree_are_those_a_person_uses(
    table: ModuleType, tree: subprocess.Popen[bytes]
) -> None:
    # Between fork and exec a child still has its parent's name.
    eventually(lambda: {"sh", "sleep"} <= processes.names_in_tree(tree.pid))


def test_a_long_name_is_found_though_the_kernel_cuts_it(table: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "an-agent-with-a-long-name"
    shutil.copy(shutil.which("sleep") or "", program)
    process = subprocess.Popen([program, "1000"])
    try:
        names = eventually(lambda: processes.names_in_tree(process.pid))

        assert processes.matches(["an-agent-with-a-long-name"], names)
        assert not processes.matches(["an-agent-with"], names)
    finally:
        process.kill()
        process.wait()


def test_a_script_is_known_by_its_own_name(table: ModuleType, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("input()")
    process = subprocess.Popen([sys.executable, "-u", script], stdin=subprocess.PIPE)
    try:
        eventually(lambda: {"agent", "agent.py"} <= processes.names_in_tree(process.pid))
    finally:
        process.communicate()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["node", "--flag", "/opt/claude/cli.js"], "cli"),
        (["python3.12", "-m", "aider"], "aider"),
        (["bun", "run", "/x/agent.ts"], "agent.ts"),
        (["/bin/bash", "./start-agent"], "start-agent"),
        (["-zsh"], "zsh"),
    ],
)
def test_an_interpreter_is_known_by_what_it_runs(words: list[str], name: str) -> None:
    assert name in processes.names_of(os.path.basename(words[0]), "", words)


def test_an_argument_is_not_a_name() -> None:
    assert "claude" not in processes.names_of("vim", "/usr/bin/vim", ["vim", "claude"])
    assert "claude" not in processes.names_of("sh", "/bin/sh", ["sh", "-c", "claude"])


def _two_below(pid: int) -> list[ProcessId]:
    found = processes.descendants(pid)
    return found if len(found) == 2 else []


def test_what_a_process_was_given_is_read_from_this_very_process(table: ModuleType) -> None:
    given = {
        "API_TOKEN": "a=b\nc",
        "EMPTY": "",
        "NAME": "Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}",
    }
    process = subprocess.Popen(["sleep", "1000"], env=given)
    one = processes.identify(process.pid)
    assert one is not None

    found = eventually(lambda: processes.environment(one))
    other = processes.environment(ProcessId(process.pid, "another start"))
    process.kill()
    process.wait()

    assert found == given
    assert other == {}
    assert processes.environment(one) == {}
