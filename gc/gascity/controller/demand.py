"""How many members a pool wants: its check command, with a time limit that is kept.

The command gets a process group of its own, and a child it leaves behind holding its output can
neither delay the answer nor outlive the limit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import IO

from gascity import awake
from gascity.controller.messages import Counted, Message
from gascity.controller.workers import Workers
from gascity.core.alerts import Alert, Severity
from gascity.core.model import PoolSpec

TIMEOUT = 30.0
UNCOUNTED = "pool:"  # how the key of an alert begins that tells of a check


class Demand:
    """The sizes that the pools of one controller want. Used by the loop's thread alone."""

    def __init__(
        self, env: Mapping[str, str], workers: Workers, post: Callable[[Message], None]
    ) -> None:
        self.sizes: dict[str, int] = {}
        self._env = dict(env)
        self._workers = workers
        self._post = post
        self._open: set[str] = set()
        self._told: dict[str, str] = {}

    def ask(self, pools: Iterable[PoolSpec]) -> None:
        """Have every pool's check run that is not running."""
        for pool in pools:
            if pool.check and pool.name not in self._open:
                self._open.add(pool.name)
                self._workers.submit(partial(self._count, pool))

    def keep(self, pools: Iterable[PoolSpec]) -> None:
        """Forget all pools but these."""
        names = {pool.name for pool in pools}
        self.sizes = {name: size for name, size in self.sizes.items() if name in names}
        self._told = {name: why for name, why in self._told.items() if name in names}

    def take(self, pool: str, size: int | None) -> bool:
        """Take an answer; tell whether it is another than before."""
        self._open.discard(pool)
        if size is None or self.sizes.get(pool) == size:
            return False
        self.sizes[pool] = size
        return True

    def complaints(self, counted: Counted) -> list[Alert]:
        """Return what a person has to be told of a check that gives no number, once each."""
        if counted.size is not None:
            self._told.pop(counted.pool, None)
            return []
        if self._told.get(counted.pool) == counted.why:
            return []
        self._told[counted.pool] = counted.why
        text = f"the check of pool {counted.pool} gives no number: {counted.why}"
        text = f"{text}; its last size stays"
        return [Alert(f"{UNCOUNTED}{counted.pool}", "", text, severity=Severity.WARNING)]

    def _count(self, pool: PoolSpec) -> None:
        size, why = None, "it could not be run"
        try:
            size, why = ask(pool, self._env)
        finally:  # in any case: until then it is not asked again
            self._post(Counted(pool.name, size, why))


def ask(pool: PoolSpec, env: dict[str, str], *, timeout: float = TIMEOUT) -> tuple[int | None, str]:
    """Return the whole number that the check prints; None, and why, when it gives none."""
    try:
        with tempfile.TemporaryFile() as answer:
            code = _run(pool, env, answer, timeout)
            answer.seek(0)
            text = answer.read(64).strip()
    except OSError as problem:  # no room for a file, no process to be had, no such folder
        return None, f"it cannot be run: {problem.strerror or problem}"
    if code == 0 and text.isdigit():
        return int(text), ""
    if code == 0:
        return None, f"it printed {text.decode(errors='replace')!r}"
    return None, f"it took more than {timeout:g} s" if code is None else f"it ended with {code}"


def _run(pool: PoolSpec, env: dict[str, str], answer: IO[bytes], timeout: float) -> int | None:
    """Return what the check ended with, None when it took too long. Raises OSError.

    It and its children are gone then.
    """
    check = subprocess.Popen(
        ["/bin/sh", "-c", pool.check],
        stdin=subprocess.DEVNULL,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        cwd=pool.work_dir,
        env=env,
        start_new_session=True,
    )
    try:
        return awake.status_of(check, timeout=timeout)
    finally:
        _end_group(check)


def _end_group(check: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(check.pid, signal.SIGKILL)
    check.wait()
