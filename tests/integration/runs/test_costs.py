"""What a guarded run costs while nothing happens, and while much does."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from tests.integration.runs.desk import Desk, field

from gascity.runs.context import Cancel, RunContext
from gascity.runs.guarded import run
from gascity.testing.eventually import eventually

GIGABYTE = 1 << 30


def test_a_gigabyte_of_output_passes_neither_runner_nor_guard(desk: Desk) -> None:
    script = f"head -c {GIGABYTE} /dev/zero; echo $$ >up; sleep 60"
    agent = desk.guarded("sh", "-c", script)
    before = _resident(os.getpid())
    guard = int(field(agent.start().pid, "PPid"))
    desk.number_in("up")

    guards, own = _resident(guard), _resident(os.getpid())
    size = desk.out.stat().st_size
    agent.close()
    desk.out.unlink()

    assert size == GIGABYTE
    assert guards < 30
    assert own - before < 5


def test_waiting_costs_no_time_of_the_processor(desk: Desk) -> None:
    with desk.runner("sh", "-c", "echo $$ >up; exec sleep 60", grace=1) as runner:
        guard = int(field(desk.number_in("up"), "PPid"))
        eventually(lambda: field(runner.pid, "State").startswith("S"))
        before = {pid: _ticks(pid) for pid in (runner.pid, guard)}
        time.sleep(2)  # what is counted is what happens while nothing does
        spent = {pid: _ticks(pid) - before[pid] for pid in before}
        runner.kill()

    assert max(spent.values()) <= 5  # hundredths of a second
    eventually(lambda: desk.living() == [])


def test_fifty_at_once_from_the_threads_of_one_process(desk: Desk) -> None:
    def one(number: int) -> int:
        out, err = (str(desk.folder / f"{name}{number}") for name in ("out", "err"))
        context = RunContext(f"r{number}", "p", "t", "", str(desk.folder), out, err)
        script = f"echo {number}; echo up >>up; until [ -e go ]; do sleep 0.1; done; exit {number}"
        mark = f"{desk.mark}-{number}"
        words = ["sh", "-c", script]
        return run(words, context, Cancel(), mark=mark, environment=desk.env())

    files = len(os.listdir("/proc/self/fd"))
    with ThreadPoolExecutor(50) as pool:
        codes = pool.map(one, range(50))
        eventually(lambda: _count(desk.folder / "up") == 50, within=60)
        (desk.folder / "go").touch()

    assert list(codes) == list(range(50))
    assert [(desk.folder / f"out{n}").read_text() for n in range(50)] == [
        f"{n}\n" for n in range(50)
    ]
    assert len(os.listdir("/proc/self/fd")) <= files


def test_a_run_leaves_no_descriptor_and_no_child(desk: Desk) -> None:
    files, threads = len(os.listdir("/proc/self/fd")), set(threading.enumerate())
    children = set(psutil.Process().children())
    for _ in range(3):
        desk.run("true")
        with pytest.raises(Exception, match="not found"):
            desk.run("no-such-program")

    assert len(os.listdir("/proc/self/fd")) == files
    assert set(psutil.Process().children()) <= children
    assert set(threading.enumerate()) <= threads


def _resident(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _count(path: Path) -> int:
    return len(path.read_text().split()) if path.exists() else 0
