"""Where messages wait for the loop."""

from __future__ import annotations

import queue
from collections.abc import Iterator

from gascity.controller.messages import Message


class Inbox:
    """Takes messages from any thread, and from a signal handler; the loop's thread reads them."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def put(self, message: Message) -> None:
        """Leave a message; never blocks."""
        self._queue.put(message)

    def take(self, patience: float) -> Iterator[Message]:
        """Yield the first message that comes within `patience` seconds, and all that wait then."""
        try:
            yield self._queue.get(timeout=patience)
            while True:
                yield self._queue.get_nowait()
        except queue.Empty:
            return
