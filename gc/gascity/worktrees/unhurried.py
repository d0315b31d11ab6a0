"""A short step that is not left half done because somebody presses Ctrl-C in the middle of it."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def unhurried() -> Iterator[None]:
    """Hear signals that would end this process only when the step is over.

    Only the main thread hears signals: in another one this changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        heard.append(number)

    # What is ignored stays so, because programs that are started inherit that.
    ours = [one for one in _ENDINGS if signal.getsignal(one) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, note) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if heard:
            signal.raise_signal(heard[0])
