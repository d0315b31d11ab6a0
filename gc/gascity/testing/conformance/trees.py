"""Stopping means the whole tree: children that left the group, daemons, the deaf."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import Configure, Contract
from gascity.testing.eventually import eventually
from gascity.testing.witness import TOKEN, Witness

# One child of the kind named by the first argument; it says when it is there.
FAMILY = """
import os, pathlib, signal, sys
kind, token = sys.argv[1:3]

def child():
    os.execv(sys.executable, [sys.executable, "-c", CHILD, kind, token])

CHILD = '''
import pathlib, signal, sys
if sys.argv[1] == "deaf":
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
pathlib.Path("child-is-up").touch()
while True:
    signal.pause()
'''
if os.fork() == 0:
    if kind in ("session", "daemon"):
        os.setsid()
    if kind == "daemon":
        if os.fork():
            os._exit(0)
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
    child()
if kind == "daemon":
    os.wait()
while True:
    signal.pause()
"""

# Says that it was asked to end, tidies up for a moment, and ends.
TIDY = """
import pathlib, signal, sys, time
def tidy(number, frame):
    time.sleep(0.5)  # its tidying takes time, and is to be waited for
    pathlib.Path("tidied").touch()
    sys.exit(0)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, tidy)
pathlib.Path("up").touch()
while True:
    signal.pause()
"""

PROBE = """#!/bin/sh
touch probe-is-up
while :; do sleep 0.1; done
"""

WITH_PROBE = f"""sh -c './gcprobe "$1"; read -r never' outer "${TOKEN}"; exit"""

KINDS = ["child", "deaf", "session", "daemon"]


class TreeRules(Contract):
    """What `stop` and `process_alive` promise about more than one process."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_stop_ends_the_whole_tree(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
        script: Callable[..., str],
        work: Path,
        kind: str,
    ) -> None:
        provider.start(name, config(script(FAMILY, kind)), timeout=self.limit)
        eventually((work / "child-is-up").exists)
        eventually(lambda: len(witness.living(token)) == 2)  # who began a daemon goes then

        provider.stop(name, grace=0.3, timeout=self.limit)

        assert witness.living(token) == []

    @pytest.mark.parametrize("kind", ["deaf", "daemon"])
    def test_a_new_start_ends_what_a_crashed_session_left_behind(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
        script: Callable[..., str],
        work: Path,
        kind: str,
    ) -> None:
        provider.start(name, config(script(FAMILY, kind)), timeout=self.limit)
        eventually((work / "child-is-up").exists)
        orphans = _kill_the_parent(witness, token)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        provider.start(name, config(), timeout=self.limit)

        assert orphans
        assert not set(orphans) & set(witness.living(token))
        assert provider.is_running(name, timeout=self.limit)

    @pytest.mark.parametrize("kind", ["deaf", "daemon"])
    def test_stop_ends_what_a_crashed_session_left_behind(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
        script: Callable[..., str],
        work: Path,
        kind: str,
    ) -> None:
        provider.start(name, config(script(FAMILY, kind)), timeout=self.limit)
        eventually((work / "child-is-up").exists)
        orphans = _kill_the_parent(witness, token)
        eventually(lambda: not provider.is_running(name, timeout=self.limit))

        provider.stop(name, grace=0.3, timeout=self.limit)

        assert orphans
        assert witness.living(token) == []

    def test_stop_asks_first_and_waits_for_a_session_that_tidies_up(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        script: Callable[..., str],
        work: Path,
    ) -> None:
        provider.start(name, config(script(TIDY)), timeout=self.limit)
        eventually((work / "up").exists)

        provider.stop(name, grace=10.0, timeout=self.limit)

        assert (work / "tidied").exists()

    def test_stop_returns_as_soon_as_all_is_gone(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=60.0)
        eventually(lambda: witness.living(token))

        begun = time.monotonic()
        provider.stop(name, grace=30.0, timeout=60.0)

        assert time.monotonic() - begun < 5.0

    def test_a_program_anywhere_in_the_tree_is_found_by_its_exact_name(
        self, provider: SessionProvider, name: str, config: Configure, work: Path
    ) -> None:
        probe = work / "gcprobe"
        probe.write_text(PROBE)
        probe.chmod(0o755)
        provider.start(name, config(WITH_PROBE), timeout=self.limit)
        eventually((work / "probe-is-up").exists)

        eventually(lambda: provider.process_alive(name, ["gcprobe"], timeout=self.limit))
        assert provider.process_alive(name, ["other", "gcprobe"], timeout=self.limit)
        assert not provider.process_alive(name, ["gcprob"], timeout=self.limit)
        assert not provider.process_alive(name, ["other"], timeout=self.limit)

    def test_programs_of_several_sessions_are_told_in_one_answer(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        for each in (name, f"{name}-two"):
            provider.start(each, config(), timeout=self.limit)
        wanted = {name: ["other", "sh"], f"{name}-two": ["other"], f"{name}-none": [], "x": ["sh"]}

        def told() -> dict[str, bool]:
            return dict(provider.processes_alive(wanted, timeout=self.limit))

        expected = {name: True, f"{name}-two": False, f"{name}-none": False, "x": False}
        eventually(lambda: told() == expected)
        assert provider.processes_alive({name: []}, timeout=self.limit) == {name: True}

    def test_the_process_of_a_session_is_the_one_that_runs_its_command(
        self, provider: SessionProvider, name: str, config: Configure, witness: Witness, token: str
    ) -> None:
        provider.start(name, config(), timeout=self.limit)
        living = eventually(lambda: witness.living(token))

        process = provider.observe(timeout=self.limit)[name].process

        assert process is None or [process.pid] == living


def _kill_the_parent(witness: Witness, token: str) -> list[int]:
    """Kill the process that was there first; return the others.

    Its own word on its number means nothing here: it may live in a namespace of its own.
    """
    parent, *others = sorted(witness.living(token), key=_age)
    os.kill(parent, signal.SIGKILL)
    return others


def _age(pid: int) -> tuple[float, int]:
    return psutil.Process(pid).create_time(), pid
