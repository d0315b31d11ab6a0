"""One watch: events as they come, until the server ends it.

A thread reads the answer, so that silence can be noticed without ending the watch: a read that
timed out could not be taken up again.
"""

from __future__ import annotations

import contextlib
import json
import queue
import threading
from typing import Any, Self

from urllib3 import BaseHTTPResponse
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as TookTooLong

from gascity.errors import ProviderError
from gascity_kubernetes.answers import problem as refusal
from gascity_kubernetes.exchange import set_patience, silence

Event = dict[str, Any]  # Any: it is JSON
_PIECE = 1 << 16


class Watch:
    """Iterates over the events of a watch.

    Asking for the next raises TimeoutError after `idle` seconds of silence, and may be asked
    again. It raises Expired when the server says that the start lies too far back, and ApiSilent
    when the connection broke off; it ends quietly when the server ends it, and after `close`.
    """

    def __init__(self, answer: BaseHTTPResponse, where: str, what: str, *, idle: float) -> None:
        self._answer = answer
        self._where, self._what = where, what
        self._idle = idle
        self._closed = False
        self._came: queue.SimpleQueue[Event | ProviderError | None] = queue.SimpleQueue()
        set_patience(answer, None)
        self._thread = threading.Thread(target=self._read, name="gc-kube-watch", daemon=True)
        self._thread.start()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            found = self._came.get(timeout=self._idle)
        except queue.Empty:
            raise TimeoutError from None
        if found is None or self._closed:
            self._came.put(None)
            raise StopIteration
        if isinstance(found, ProviderError):
            self._came.put(None)
            raise found
        if found.get("type") == "ERROR":
            said = found.get("object") or {}
            code = said.get("code")
            status = code if isinstance(code, int) else 500
            raise refusal(self._where, self._what, status, json.dumps(said).encode())
        return found

    def close(self) -> None:
        """End it, from any thread; whoever waits for an event is woken."""
        self._closed = True
        self._came.put(None)
        with contextlib.suppress(OSError, ValueError, RuntimeError):  # it has ended by itself
            self._answer.shutdown()

    def _read(self) -> None:
        line = b""
        end: ProviderError | None = None
        try:
            while piece := self._answer.read1(_PIECE):
                *lines, line = (line + piece).split(b"\n")
                for one in lines:
                    if one.strip():
                        self._came.put(self._event(one))
        except TookTooLong:
            pass  # the connection could not be told to wait longer: whoever asks resumes
        except (HTTPError, OSError, ValueError) as problem:
            end = silence(self._where, self._what, problem, self._idle)
        finally:
            self._came.put(end)
            with contextlib.suppress(OSError, ValueError):
                self._answer.close()

    def _event(self, line: bytes) -> Event:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ValueError(f"an event is not {type(found).__name__}")  # noqa: TRY004  as bad JSON
        return found
