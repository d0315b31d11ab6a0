"""A hand inside a pod: one shell over exec that does what it is told, one thing after the other.

The shell reads commands from its input. Each is followed by a fence that says how it ended and
cannot be mistaken for output. tmux is spoken to by plain clients which read their commands from
their input, so that nothing of a message or of an environment stands in an argument list.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gascity.session.tmux import shell
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.wire import Block
from gascity_kubernetes import entry
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.streams import FRAME, STDOUT, Stream, StreamEnded

MOST = 64 * 1024 * 1024  # bytes of one answer; a shell that says more has gone mad


class HandLost(Lost):
    """The shell went away before it answered: nobody knows what was done."""


class NothingDone(HandLost):
    """The shell was gone before it was told anything: another can do it."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it printed; its complaints only where it says `2>&1`."""

    status: int
    output: bytes

    @property
    def text(self) -> str:
        """What it printed, as text."""
        return self.output.decode(errors="replace")


class Hand:
    """One shell in one pod. Thread-safe: who comes second waits for its turn.

    `may_act` is called right before each thing that is done, and may raise.
    """

    def __init__(self, stream: Stream, may_act: Callable[[], None]) -> None:
        self._stream = stream
        self._may_act = may_act
        self._lock = threading.Lock()
        self._fence = f"gc-fence-{os.urandom(8).hex()}"
        self._count = 0
        self._rest = b""
        self.is_lost = False
        self.used_at = time.monotonic()

    def run(self, script: str, *, deadline: float) -> Done:
        """Do a piece of shell script; it must be whole, and gets no input.

        Raises HandLost when the shell goes away, and ApiSilent when it does not answer in time;
        then the hand is of no more use, and neither is it to one who must not act.
        """
        if not self._lock.acquire(timeout=max(deadline - time.monotonic(), 0.001)):
            raise ApiSilent("the pod's shell is busy with something else")
        try:
            return self._run(script, deadline)
        except BaseException:  # whatever it is: cleaned up, and raised again
            self.is_lost = True
            self._stream.close()
            raise
        finally:
            self.used_at = time.monotonic()
            self._lock.release()

    def ask(self, lines: Sequence[str], *, deadline: float, path: str | None = None) -> list[Block]:
        """Have tmux do lines of commands; return one block for each.

        A line that fails does not keep the next from being done. `path` is the PATH of what is
        started: tmux takes it from who asks for it, whatever else it is told.
        """
        if not lines:
            return []
        token = os.urandom(8).hex()
        text = shell.questions(lines, token)  # of which no line can be the token alone
        mux = f'"$mux" -u -S {entry.SOCKET} source-file - 2>&1'
        given = "" if path is None else f"PATH={path} "
        # A bash writes what is long into a file: where only memory is, which can be written to.
        begin = f"mux=$(command -v tmux)\nTMPDIR={entry.HOME}\n"
        script = f"{begin}{given}{mux} <<'{token}'\n{text}{token}"
        done = self.run(script, deadline=deadline)
        return shell.blocks(done.output, token, len(lines))

    def is_idle(self, since: float) -> bool:
        """Tell whether it is of no more use, or nobody has used it since then."""
        return self.is_lost or (self.used_at < since and not self._lock.locked())

    def close(self) -> None:
        """Let go. What runs in the pod is not touched."""
        self.is_lost = True
        self._stream.close()

    def _run(self, script: str, deadline: float) -> Done:
        if self.is_lost:
            raise NothingDone("the pod's shell has ended")
        self._count += 1
        fence = f"{self._fence}-{self._count}"
        whole = f"{{ {script}\n}} </dev/null\nprintf '\\n%s %s\\n' {fence} $?\n"
        data = whole.encode("utf-8", "surrogateescape")
        self._may_act()
        try:
            self._stream.write(data, deadline=deadline)
        except StreamEnded as problem:
            # A message that broke off was not delivered; of several, some may have been.
            lost = NothingDone if len(data) <= FRAME else HandLost
            raise lost(f"the pod's shell has ended: {problem}") from problem
        end = b"\n" + fence.encode() + b" "
        found = bytearray(self._rest)
        looked = 0
        while True:
            at = found.find(end, max(looked - len(end), 0))
            if at >= 0 and (stop := found.find(b"\n", at + len(end))) >= 0:
                self._rest = bytes(found[stop + 1 :])
                return Done(int(found[at + len(end) : stop]), bytes(found[:at]))
            looked = len(found)
            found += self._more(deadline)
            if len(found) > MOST:
                raise HandLost("the pod's shell does not stop talking")

    def _more(self, deadline: float) -> bytes:
        """Return more of the output; complaints come whenever they like, and are left out."""
        while True:
            try:
                heard = self._stream.read(max(deadline - time.monotonic(), 0.001))
            except TimeoutError as problem:
                raise ApiSilent("the pod's shell did not answer in time") from problem
            if heard is None:
                raise HandLost("the pod's shell has ended")
            if heard[0] == STDOUT:
                return heard[1]
