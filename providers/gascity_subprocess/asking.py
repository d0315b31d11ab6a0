"""Asking the keeper: find it, start it when there is need, keep connections for many threads.

No keeper and no session on disk is an answer too: `NOTHING`. No answer in time is
`ProviderUnavailable`, and so is a keeper that cannot be started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

import gascity
from gascity.asking import Client
from gascity.errors import ProviderUnavailable, RemoteError, Unreachable
from gascity.jsonrpc import FAILED
from gascity_subprocess import layout

KEPT = 32  # idle connections


class Nothing:
    """There is no session at all."""


NOTHING: Final = Nothing()


class Keeper:
    """The keeper of one city, as its clients see it; thread-safe."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._idle: list[Client] = []
        self._launching = threading.Lock()
        self._launches = 0
        self._closed = False
        self.on_launch: set[Callable[[], None]] = set()
        """Called after this instance started a keeper, from whatever thread did."""

    def ask(
        self, method: str, params: Mapping[str, object], *, timeout: float, launch: bool = False
    ) -> object:
        """Return the keeper's answer, or NOTHING.

        A keeper is started when sessions are on disk, or always with `launch`. Asks again when
        the keeper went away meanwhile: every method may be asked twice. Raises RemoteError when
        the keeper refuses.
        """
        deadline = time.monotonic() + timeout
        # One clock for all processes of a machine: a keeper that was frozen must not do later
        # what its caller was told did not happen.
        params = {**params, layout.UNTIL: deadline}
        while True:
            launches = self._launches
            client, is_fresh = self._take()
            try:
                answer = client.call(method, params, timeout=deadline - time.monotonic())
            except Unreachable as problem:
                client.close()
                self._check_time(problem, deadline)
                if not is_fresh:
                    self._drop_idle()  # they lead to a keeper that is gone
                elif isinstance(problem.__cause__, BlockingIOError):
                    time.sleep(0.002)  # so many clients that the socket's queue is full
                elif not launch and not self.has_sessions():
                    return NOTHING
                else:
                    self._launch(launches, deadline)
            except RemoteError as problem:
                self._give(client)
                if problem.code != FAILED:
                    raise ProviderUnavailable(
                        f"the keeper of {self.home} failed: {problem.message}",
                        hint=f"{os.path.join(self.home, layout.LOG)} may tell why",
                    ) from problem
                raise
            else:
                self._give(client)
                return answer

    def has_sessions(self) -> bool:
        """Tell whether there is a session on disk."""
        try:
            with os.scandir(os.path.join(self.home, layout.SESSIONS)) as entries:
                return any(True for _ in entries)
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise ProviderUnavailable(
                f"the sessions in {self.home} cannot be read: {problem.strerror}"
            ) from problem

    def ensure(self, timeout: float) -> None:
        """Start a keeper unless there is one."""
        self._launch(self._launches, time.monotonic() + timeout)

    def close(self) -> None:
        """Hang up, also on what is asked later, once it is answered."""
        with self._lock:
            self._closed = True
        self._drop_idle()

    # --- connections

    def _take(self) -> tuple[Client, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), False
        return Client(os.path.join(self.home, layout.SOCKET)), True

    def _give(self, client: Client) -> None:
        with self._lock:
            if len(self._idle) < KEPT and not self._closed:
                self._idle.append(client)
                return
        client.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _check_time(self, problem: Unreachable, deadline: float) -> None:
        if isinstance(problem.__cause__, TimeoutError) or time.monotonic() >= deadline:
            raise ProviderUnavailable(
                f"the keeper of {self.home} did not answer in time",
                hint="its pid is in keeper.lock; `ps -o stat= -p PID` shows T when it is stopped",
            ) from problem

    # --- the keeper's process

    def _launch(self, launches: int, deadline: float) -> None:
        with self._launching:
            if self._launches != launches:
                return  # another thread did it meanwhile
            launch(self.home, deadline - time.monotonic())
            self._launches += 1
        for tell in tuple(self.on_launch):
            tell()


def launch(home: str, timeout: float) -> None:
    """Start the keeper and return when it can be asked; nothing when there is one.

    Raises ProviderUnavailable when it does not come up within `timeout` seconds.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    roots = [os.path.dirname(here), os.path.dirname(os.path.dirname(gascity.__file__))]
    log = os.path.join(home, layout.LOG)
    try:
        os.makedirs(os.path.join(home, layout.SESSIONS), mode=0o700, exist_ok=True)
        with open(log, "ab", opener=lambda path, flags: os.open(path, flags, 0o600)) as errors:
            done = subprocess.run(
                [sys.executable, "-I", "-S", "-X", "utf8", f"{here}/__main__.py", home, *roots],
                env={layout.KEEPER: home},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                timeout=max(timeout, 0.001),
                check=False,
            )
    except subprocess.TimeoutExpired as problem:
        raise ProviderUnavailable(f"the keeper of {home} did not start in time") from problem
    except OSError as problem:
        raise ProviderUnavailable(f"the keeper of {home} cannot be started: {problem}") from problem
    if done.returncode != 0:
        raise ProviderUnavailable(
            f"the keeper of {home} ended with status {done.returncode} while starting",
            hint=f"{log} tells why",
        )
