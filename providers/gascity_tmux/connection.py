"""One control connection to a tmux server, shared by any number of threads.

A request is one or more lines of commands followed by a fence, a command whose answer cannot be
mistaken; whatever comes before it is the answer. A request that is not answered in time ends the
connection, and what tmux has not read yet of it is taken back: a server that was frozen must not do
later what its caller was told did not happen.
"""

from __future__ import annotations

import collections
import contextlib
import fcntl
import os
import select
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from termios import FIONREAD

from gascity.core.observed import ProcessId
from gascity.errors import ProviderUnavailable
from gascity.session.tmux.problems import Lost, Silent, Unheard
from gascity.session.tmux.wire import Block
from gascity_tmux.wire import Notice, Parser

_LEFT = 0.001


class _Request:
    def __init__(self, fence: bytes) -> None:
        self.fence = fence
        self.size = 0  # bytes of it that were written
        self.unheard = False  # tmux has read none of them
        self.blocks: list[Block] = []
        self.done = threading.Event()
        self.failed = False


class Connection:
    """A running `tmux -C`. `hear` is called with every notice, and with None when it ends."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        hear: Callable[[Notice | None], None],
    ) -> None:
        self.server: ProcessId | None = (
            None  # which process is at the other end, once that is known
        )
        self._hear = hear
        self._parser = Parser()
        self._fence = f"fence-{os.urandom(8).hex()}"
        self._count = 0
        self._writing = threading.Lock()
        self._descriptors = threading.Lock()  # held to use them from outside the thread that reads
        self._is_open = True
        self._waiting: collections.deque[_Request] = collections.deque()
        self._said: list[str] = []
        self.ended = threading.Event()
        self._attached = threading.Event()
        output, self._input = os.pipe()
        os.set_blocking(self._input, False)
        # Opened once more, to take back what tmux has not read: tmux changes how its end blocks.
        self._unread = os.open(f"/dev/fd/{output}", os.O_RDONLY | os.O_NONBLOCK)
        try:
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd="/",
                stdin=output,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as problem:
            os.close(self._unread)
            os.close(self._input)
            raise ProviderUnavailable(f"tmux cannot be run: {problem}") from problem
        finally:
            os.close(output)
        # A frozen server holds the output open: the reader has to be told apart from that.
        self._hushed, self._hush = os.pipe()
        self._reader = threading.Thread(target=self._read, name="tmux-control", daemon=True)
        self._reader.start()

    @property
    def last_words(self) -> str:
        """What tmux said beside the protocol: why it did not connect."""
        return " ".join(self._said).strip()

    def ask(self, *lines: str, deadline: float) -> list[Block]:
        """Return the answers to all commands in the lines, in order.

        A command that fails ends its line. Raises Lost, Unheard when nothing was done, or Silent.
        """
        if time.monotonic() >= deadline:
            raise Silent("there was no time left to ask the tmux server")
        # What is written before that, tmux may do before it attaches, and then attach.
        if not self._attached.wait(max(deadline - time.monotonic(), _LEFT)):
            self.close()
            raise Silent("the tmux server did not answer in time")
        request = self._send(lines, deadline)
        if not request.done.wait(max(deadline - time.monotonic(), _LEFT)):
            self.close()
            raise Silent("the tmux server did not answer in time")
        if request.failed:
            raise (Unheard if request.unheard else Lost)("the tmux server hung up")
        return request.blocks

    def has_unread(self) -> bool:
        """Tell whether something was written that tmux has not read yet."""
        with self._descriptors:
            return self._is_open and self._size_unread() > 0

    def close(self) -> None:
        """End the connection; what waits for an answer gets none."""
        self.ended.set()
        with self._descriptors:
            if self._is_open:
                self._process.kill()
                self._take_back()
                os.write(self._hush, b"x")

    # --- writing

    def _send(self, lines: Sequence[str], deadline: float) -> _Request:
        if not self._writing.acquire(timeout=max(deadline - time.monotonic(), _LEFT)):
            raise Silent("the tmux server did not take a command in time")
        try:
            self._count += 1
            fence = f"{self._fence}-{self._count}"
            request = _Request(fence.encode())
            text = "\n".join([*lines, f"display-message -p {fence}\n"])
            if self.ended.is_set():
                raise Unheard("the connection to the tmux server has ended")
            self._waiting.append(request)
            # One that ends meanwhile is told of by the thread that reads, when we are done here.
            self._write(request, text.encode(errors="surrogateescape"), deadline)
            return request
        finally:
            self._writing.release()

    def _write(self, request: _Request, data: bytes, deadline: float) -> None:
        while request.size < len(data) and not self.ended.is_set():
            try:
                request.size += os.write(self._input, memoryview(data)[request.size :])
            except BlockingIOError:
                rest = deadline - time.monotonic()
                if rest <= 0:
                    self.close()
                    raise Silent("the tmux server did not take a command in time") from None
                poll = select.poll()
                poll.register(self._input, select.POLLOUT)
                poll.poll(min(rest, 0.1) * 1000)

    def _find_unheard(self) -> None:
        """Find out of which requests tmux has read nothing: we hold the other end ourselves."""
        unread = self._size_unread()
        for request in reversed(self._waiting):
            unread -= request.size
            request.unheard = unread >= 0

    def _size_unread(self) -> int:
        found: tuple[int] = struct.unpack("i", fcntl.ioctl(self._unread, FIONREAD, bytes(4)))
        return found[0]

    def _take_back(self) -> None:
        """Read what tmux has not read; it may no longer do it."""
        with contextlib.suppress(BlockingIOError):
            poll = select.poll()
            poll.register(self._unread, select.POLLIN)
            while poll.poll(0) and os.read(self._unread, 1 << 16):
                continue

    # --- reading

    def _read(self) -> None:
        output = self._process.stdout
        assert output is not None  # noqa: S101  it was asked for
        poll = select.poll()
        poll.register(output, select.POLLIN)
        poll.register(self._hushed, select.POLLIN)
        with output:
            while all(descriptor == output.fileno() for descriptor, _ in poll.poll()):
                data = os.read(output.fileno(), 1 << 18)
                if not data:
                    break
                for one in self._parser.feed(data):
                    self._take(one)
        self._process.wait()
        self._hear(Notice("ended", ""))
        self.ended.set()
        self._attached.set()
        with self._writing, self._descriptors:
            self._is_open = False
            self._find_unheard()
            for descriptor in (self._unread, self._input, self._hushed, self._hush):
                os.close(descriptor)
            for request in self._waiting:
                request.failed = True
                request.done.set()
        self._hear(None)

    def _take(self, one: Block | Notice) -> None:
        if isinstance(one, Notice):
            if one.kind == "session-changed":
                self._attached.set()
            if one.kind:
                self._hear(one)
            else:
                self._said.append(one.rest)
        elif self._waiting and one.lines == (self._waiting[0].fence,):
            self._waiting.popleft().done.set()
        elif self._waiting:
            self._waiting[0].blocks.append(one)
