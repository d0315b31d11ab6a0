"""What holds for every test: how it may be skipped, and that it leaves no process behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest
from tests.cluster import where

from gascity.testing.eventually import eventually

pytest_plugins = ["pytester"]

hypothesis.settings.register_profile(
    "gascity",
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # it measures the machine
)
hypothesis.settings.load_profile("gascity")

# What a shell runs in the background ignores Ctrl-C, and what nohup runs the end of its terminal.
# Both are inherited, and an sh cannot trap what it was begun to ignore. A handler is not inherited:
# what a test starts hears these signals, and the run of the tests still outlives its terminal.
signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        default="",
        metavar="NAME[,NAME]",
        help="fail where one of these is missing, instead of skipping: "
        "git, tmux, kubernetes, systemd",
    )


def pytest_configure(config: pytest.Config) -> None:
    unknown = _required(config) - set(MISSING)
    if unknown:
        raise pytest.UsageError(f"--require knows {', '.join(MISSING)}; not {min(unknown)}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for name, missing in MISSING.items():
        if item.get_closest_marker(name) is None:
            continue
        reason = missing()
        if reason and name in _required(item.config):
            pytest.fail(f"{name} is required, but {reason}", pytrace=False)
        if reason:
            pytest.skip(reason)  # what a machine lacks; `--require` makes it a failure


@pytest.fixture(autouse=True)
def no_process_is_left_behind() -> Iterator[None]:
    """Fail a test that ends while a child process it started still runs."""
    before = _children()
    yield
    left = _children() - before
    if left:
        try:
            eventually(lambda: not (_children() - before))
        except AssertionError:
            pytest.fail(f"these child processes still run: {_described(_children() - before)}")


def _required(config: pytest.Config) -> set[str]:
    return {name for name in str(config.getoption("--require")).split(",") if name}


def _without_git() -> str:
    return "" if shutil.which("git") else "there is no git on the PATH"


def _without_tmux() -> str:
    return "" if shutil.which("tmux") else "there is no tmux on the PATH"


def _without_systemd() -> str:
    return "" if shutil.which("systemd-analyze") else "there is no systemd-analyze on the PATH"


MISSING: dict[str, Callable[[], str]] = {
    "git": _without_git,
    "tmux": _without_tmux,
    "kubernetes": where.missing,
    "systemd": _without_systemd,
}


def _children() -> set[int]:
    """Return the living direct children of this process; those that wait to be reaped are dead."""
    own = Path(f"/proc/{os.getpid()}/task")
    if not own.exists():
        return {child.pid for child in psutil.Process().children() if _lives(child.pid)}
    pids: set[int] = set()
    for path in own.glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended meanwhile
            pids.update(map(int, path.read_text().split()))
    return {pid for pid in pids if _lives(pid)}


def _lives(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        # The interpreter keeps one of these for as long as it lives.
        helper = "resource_tracker" in " ".join(process.cmdline())
        return process.status() != psutil.STATUS_ZOMBIE and not helper
    except psutil.Error:
        return False


def _described(pids: set[int]) -> str:
    lines = []
    for pid in sorted(pids):
        try:
            lines.append(f"{pid} {' '.join(psutil.Process(pid).cmdline())[:120]}")
        except psutil.Error:
            lines.append(str(pid))
    return "; ".join(lines)
