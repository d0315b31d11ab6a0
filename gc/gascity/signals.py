"""Signals that are heard at once, whatever the main thread waits for.

Python calls a handler when its main thread comes to it. A signal that comes right before that
thread asks the kernel to wait, or that the kernel gives to another thread, is noticed only when the
wait is over, which may be never. What C does about a signal is done at once, in any thread: it
writes the number to a pipe. Here somebody reads it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping


@contextlib.contextmanager
def heard(calls: Mapping[int, Callable[[], None]]) -> Iterator[None]:
    """Have signals call these, in a thread of their own, until the `with` is left.

    Only for the main thread. Within another one of these, the inner one alone hears.
    """
    ear, hand = os.pipe()
    os.set_blocking(hand, False)
    listener = threading.Thread(target=_listen, args=(ear, calls), name="signals", daemon=True)
    listener.start()
    outer = signal.set_wakeup_fd(hand, warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in calls}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(outer, warn_on_full_buffer=False)
        os.close(hand)
        listener.join()
        os.close(ear)


def _listen(ear: int, calls: Mapping[int, Callable[[], None]]) -> None:
    while numbers := os.read(ear, 4096):
        for number in numbers:
            call = calls.get(number)
            if call is not None:
                call()
