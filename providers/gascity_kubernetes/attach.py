"""Giving a person's terminal to the tmux inside a pod."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator

from gascity.errors import NotSupported, ProviderError
from gascity_kubernetes import entry
from gascity_kubernetes.api import Api
from gascity_kubernetes.state import CONTAINER, Pod
from gascity_kubernetes.streams import Stream, StreamEnded

OPENING = 15.0
PIECE = 4096


def attach(api: Api, pod: Pod, *, read_only: bool) -> int:
    """Show the session on the caller's terminal until they detach; return tmux's exit code."""
    if not (os.isatty(0) and os.isatty(1)):
        raise NotSupported(
            "there is no terminal here to give to the session",
            hint="`gc peek --follow NAME` shows what it prints",
        )
    only = ["-r"] if read_only else []
    # The pod may not know the terminal of the person; everyone knows this one.
    term = f"TERM={os.environ.get('TERM', 'xterm')}"
    known = f'infocmp >/dev/null 2>&1 || TERM=xterm; exec tmux -u -S {entry.SOCKET} "$@"'
    words = ["env", term, "/bin/sh", "-c", known, "sh", "attach-session", "-E", *only]
    words += ["-t", f"={entry.SESSION}"]
    sys.stderr.write("the prefix key (Ctrl-b unless you changed it) and d detaches\n")
    sys.stderr.flush()
    name = str(pod["metadata"]["name"])
    stream = api.open_stream(name, CONTAINER, words, stdin=True, tty=True, timeout=OPENING)
    try:
        with _raw(0), _resized(stream):
            _pass_on(stream)
    finally:
        stream.close()
    if stream.status is None:
        raise ProviderError(f"the connection to pod {name} broke off; the agent is not touched")
    return stream.status


def _pass_on(stream: Stream) -> None:
    """Pass keys there and output back until the other side ends."""
    done, wake = os.pipe()

    def type_() -> None:
        while True:
            ready, _, _ = select.select([0, done], [], [])
            if done in ready:
                return
            keys = os.read(0, PIECE)
            if not keys:
                return
            try:
                stream.write(keys)
            except ProviderError:
                return

    typing = threading.Thread(target=type_, name="attach-keys", daemon=True)
    typing.start()
    try:
        while (heard := stream.read(None)) is not None:
            data = memoryview(heard[1])
            while data:
                data = data[os.write(1, data) :]
    finally:
        os.write(wake, b".")
        typing.join()
        os.close(done)
        os.close(wake)


@contextlib.contextmanager
def _raw(terminal: int) -> Iterator[None]:
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _resized(stream: Stream) -> Iterator[None]:
    """Tell the other side the size of the terminal, now and whenever it changes."""

    def tell() -> None:
        size = shutil.get_terminal_size()
        with contextlib.suppress(StreamEnded):
            stream.resize(size.columns, size.lines)

    before = signal.signal(signal.SIGWINCH, lambda *_: threading.Thread(target=tell).start())
    tell()
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
