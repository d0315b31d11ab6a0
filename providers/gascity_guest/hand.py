"""The hand inside the guest: pieces of shell that are run there, and what they say.

A question that is heard too late does nothing: the guest's own clock, read when it was met, tells
each piece of shell until when it is wanted. So a guest that slept does not do what everybody has
given up on long ago.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from gascity.errors import (
    GascityError,
    HungUp,
    ProviderUnavailable,
    RemoteError,
    Unanswered,
    Unreachable,
)
from gascity.guest import copying
from gascity.guest.client import Client, ExecResult
from gascity.session.tmux.problems import Lost, Silent
from gascity.session.tmux.shell import quote
from gascity_guest.places import Home
from gascity_guest.settings import Settings

TOGETHER = 24  # connections at once; a guest has 64
LONGEST = 100_000  # bytes of a piece of shell; Linux takes 128 KiB in one argument
OLDEST = (3, 2)
SLACK = 0.5  # seconds
LARGEST = 64 * 1024 * 1024  # bytes of an answer: more than a guest has to say
LONGEST_COMPLAINT = 2000
_UPTIME = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_LATE = "gc-heard-too-late"
_MEET = """umask 077
u=; { read -r u _ </proc/uptime; } 2>/dev/null
me=$(id -u); d=/tmp/gascity-$me
mkdir -p "$d" 2>/dev/null
[ -O "$d" ] && [ ! -L "$d" ] || d=
printf '%s\\n' gc-met "$u" "$d" "$(tmux -V 2>/dev/null)"
"""


@dataclass(frozen=True, slots=True)
class Done:
    """How a piece of shell ended, and what it printed."""

    status: int
    text: str
    complaint: str = ""

    @property
    def output(self) -> bytes:
        """What it printed, as bytes."""
        return self.text.encode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Met:
    """A guest that was met: its folder, its tmux, and by how much its clock is ahead of ours."""

    home: Home
    tmux: str
    ahead: float | None


class Guest:
    """A guest, as one city uses it; thread-safe. Calls end by their deadline, a monotonic time.

    Raises Silent when no answer came in time, Lost when the guest went away before it, and
    ProviderUnavailable for everything else that keeps it from answering.
    """

    def __init__(self, settings: Settings, city_mark: str, may_act: Callable[[], None]) -> None:
        self._settings = settings
        self._city = city_mark
        self.may_act = may_act
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(TOGETHER)
        self._idle: list[Client] = []
        self._met: Met | None = None
        self._is_confined = False
        self._is_closed = False

    def home(self, deadline: float) -> Home:
        """Return the city's folder in the guest."""
        return self._meet(deadline).home

    def version(self, deadline: float) -> str:
        """Return which tmux the guest has, as `3.3a`."""
        return self._meet(deadline).tmux

    def run(self, script: str, *, deadline: float) -> Done:
        """Run a piece of shell in the guest."""
        if len(os.fsencode(script)) > LONGEST:
            path = quote(self.give(os.fsencode(script), deadline=deadline))
            script = f"trap 'rm -f {path}' EXIT\n. {path}"
        for is_last in (False, True):
            done = self._exec(self._guard(deadline) + script, deadline)
            if done.status != 75 or done.text.strip() != _LATE:
                return done
            self._met = None  # its clock made a jump: nothing was done
            if is_last:
                break
        raise Silent("the guest heard of it too late, and did nothing")

    def read(self, script: str, *, deadline: float) -> Done:
        """Run a piece of shell that changes nothing; what it says may be of any length."""
        done = self.run(script, deadline=deadline)
        if not done.text.endswith(copying.TRUNCATED):
            return done
        folder = self.home(deadline).given
        path = f"{folder}/said-{os.urandom(8).hex()}"
        begin = f"umask 077; mkdir -p {quote(folder)}"
        done = self.run(f"{begin}; ( {script}\n) >{quote(path)}", deadline=deadline)
        said = io.BytesIO()
        try:
            with self._client(deadline) as client:
                copying.fetch(client, path, said.write, deadline=deadline, largest=LARGEST)
        finally:
            self.run(f"rm -f {quote(path)}", deadline=deadline)
        return Done(done.status, said.getvalue().decode(errors="replace"), done.complaint)

    def give(self, data: bytes | IO[bytes], *, deadline: float) -> str:
        """Hand something over; return the path of a file that only the guest's user can read.

        Whoever uses it removes it.
        """
        path = f"{self.home(deadline).given}/{os.urandom(8).hex()}"
        with self._client(deadline) as client:
            if isinstance(data, bytes):
                self._give(client, data, path, deadline)
            else:
                copying.send(client, data, path, mode=0o600, deadline=deadline)
        return path

    def close(self) -> None:
        """Hang up; who still asks is answered over connections that nobody keeps."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    # --- how

    def _give(self, client: Client, data: bytes, path: str, deadline: float) -> None:
        """Hand over what may be a secret: in no argument list, not even for a moment."""
        text = _text(data)
        if not self._is_confined:
            with contextlib.suppress(RemoteError):  # its file methods may end elsewhere
                if text is not None:
                    client.write_file(path, text, timeout=_left(deadline))
                else:
                    copying.send_unseen(client, data, path, f"{path}.part", deadline=deadline)
                return
        there = f".gc-part-{os.urandom(8).hex()}"  # in the folder that its shells begin in
        copying.send_unseen(client, data, path, there, deadline=deadline)
        self._is_confined = True

    def _meet(self, deadline: float) -> Met:
        known = self._met
        if known is not None:
            return known
        before = time.monotonic()
        done = self._exec(_MEET, deadline)
        said = done.text.split("\n")
        if len(said) < 4 or said[0] != "gc-met":
            why = done.complaint.strip() or f"exit code {done.status}"
            raise ProviderUnavailable(f"{self._where} cannot run a shell: {why}")
        _, uptime, folder, tmux = said[:4]
        if not folder:
            raise ProviderUnavailable(
                f"in {self._where} the folder of gc is somebody else's, or cannot be made"
            )
        version = tmux.removeprefix("tmux ")
        if not version:
            raise ProviderUnavailable(
                f"there is no tmux in {self._where}, and sessions live in one",
                hint="install tmux 3.2 or newer inside it",
            )
        found = re.search(r"(\d+)\.(\d+)", version)
        if found and (int(found[1]), int(found[2])) < OLDEST:
            raise ProviderUnavailable(f"the tmux in {self._where} is {version}: 3.2 is needed")
        ahead = float(uptime) - before if _UPTIME.fullmatch(uptime) else None
        self._met = Met(Home(f"{folder}/{self._city}"), version, ahead)
        return self._met

    def _guard(self, deadline: float) -> str:
        """Return what ends a piece of shell that is run after its deadline."""
        ahead = self._meet(deadline).ahead
        if ahead is None:
            return ""
        until = int((deadline + ahead + SLACK) * 100)
        return (
            f'read -r u _ </proc/uptime; [ "${{u%.*}}${{u#*.}}" -le {until} ]'
            f" || {{ echo {_LATE}; exit 75; }}\n"
        )

    def _exec(self, script: str, deadline: float) -> Done:
        with self._client(deadline) as client:
            said: ExecResult = client.exec(script, timeout=_left(deadline))
        if said.exit_code == -1:
            raise ProviderUnavailable(f"{self._where} could not run a shell: {plain(said.stderr)}")
        return Done(said.exit_code, said.stdout, plain(said.stderr))

    @contextlib.contextmanager
    def _client(self, deadline: float) -> Iterator[Client]:
        """Lend a connection, and say what its problems mean to a provider."""
        if not self._turns.acquire(timeout=_left(deadline)):
            raise Silent(f"{self._where} did not answer in time")
        try:
            with self._lock:
                client = self._idle.pop() if self._idle else None
            if client is None:
                client = Client(self._settings.address, token=self._settings.token())
            try:
                yield client
            except GascityError:
                client.close()
                raise
            with self._lock:
                if not self._is_closed:
                    self._idle.append(client)
                    return
            client.close()
        except (Unreachable, RemoteError) as problem:
            self._met = None  # it may be another by the time it answers
            raise _meaning(problem, self._where) from problem
        finally:
            self._turns.release()

    @property
    def _where(self) -> str:
        return f"the guest at {self._settings.address}"


def plain(said: str) -> str:
    """Return the end of what a guest complained of, without anything that a terminal obeys."""
    kept = said.strip()[-LONGEST_COMPLAINT:]
    return "".join(c if c.isprintable() or c == "\n" else " " for c in kept)


def _meaning(problem: GascityError, where: str) -> ProviderUnavailable:
    if isinstance(problem, HungUp):
        return Lost(problem.message)
    if isinstance(problem, Unanswered):
        return Silent(problem.message)
    if isinstance(problem, Unreachable):
        return ProviderUnavailable(problem.message)
    return ProviderUnavailable(f"{where} refuses: {plain(problem.message)}")


def _text(data: bytes) -> str | None:
    """Return what can be handed over as it is."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    return None


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
