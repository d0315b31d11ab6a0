"""Getting text into a session's input, whole or not at all.

The input is a named pipe. A text is written only when the pipe can take all of it at once, so two
texts never mix and none is cut off; that the program read it is seen from the pipe being empty
again. A program that never reads is found out by the same means.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from gascity.screens.rules import Talk
from gascity.session.receipts import Delivery, Receipt
from gascity.session.text import message as text_of
from gascity.session.text import spoken as defused
from gascity.session.unread import unread

AT_ONCE = 4096  # up to here a pipe takes all or nothing by itself (PIPE_BUF)
MOST = 1024 * 1024  # the largest a pipe may be made without special rights


def message(text: str) -> bytes:
    """Return a text as it goes in, with one newline last."""
    return text_of(text).encode("utf-8", errors="replace") + b"\n"


def spoken(text: str, talk: Talk, *, raw: bool = False) -> str:
    """Return a text in which nothing acts as a command of a backend, unless it is `raw`.

    A program reads its input line by line, so each line is looked at. A tab is no key here.
    """
    talk = replace(talk, tab="\t")
    return "\n".join(defused(line, talk, raw=raw) for line in text_of(text).split("\n"))


def deliver(path: str, text: str, *, deadline: float) -> Receipt:
    """Write a text as one message and wait until it was read.

    REFUSED means that nothing was written: nobody has the input open, or there was no room until
    the deadline, or the text is larger than any pipe (1 MiB). UNVERIFIED means that it was
    written and not read, or not to be told.
    """
    with _opened(path) as descriptor:
        if descriptor is None:
            return Receipt(Delivery.REFUSED, "its program does not read its input")
        if not _write(descriptor, message(text), deadline):
            return Receipt(Delivery.REFUSED, "there was no room in its input for all of it")
        read = _wait_until_empty(descriptor, deadline)
        delivery = Delivery.SUBMITTED if read else Delivery.UNVERIFIED
        evidence = "its program read it" if read else "its program did not read it in time"
        return Receipt(delivery, evidence, text_of(text), attempts=1)


def put(path: str, data: bytes, *, deadline: float) -> bool:
    """Write `data` and do not wait for it to be read; False when nothing was written."""
    with _opened(path) as descriptor:
        return descriptor is not None and _write(descriptor, data, deadline)


@contextlib.contextmanager
def _opened(path: str) -> Iterator[int | None]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:  # nobody reads, or the session was stopped this moment
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes, deadline: float) -> bool:
    if len(data) > AT_ONCE and not _make_room(descriptor, len(data), deadline):
        return False
    while True:
        try:
            return os.write(descriptor, data) == len(data)
        except BlockingIOError:
            if not _pause(descriptor, 0.001, deadline):
                return False
        except BrokenPipeError:
            return False


def _make_room(descriptor: int, size: int, deadline: float) -> bool:
    """Have an empty pipe of at least `size` bytes: only then a large text surely fits."""
    if sys.platform == "linux" and size > fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ):
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)
        except OSError:
            return False
    return size <= MOST and _wait_until_empty(descriptor, deadline)


def _wait_until_empty(descriptor: int, deadline: float) -> bool:
    pause = 0.0005
    while unread(descriptor) != 0:
        if not _pause(descriptor, pause, deadline):
            return unread(descriptor) == 0  # it may have read to the end and left since
        pause = min(pause * 1.5, 0.02)
    return True


def _pause(descriptor: int, seconds: float, deadline: float) -> bool:
    """Wait a little; False when time is up or nobody will read any more."""
    left = deadline - time.monotonic()
    if left <= 0:
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # only whether the last reader left
    return not poll.poll(min(seconds, left) * 1000)
