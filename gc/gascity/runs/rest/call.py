"""One call of a chat API: documents as they come, and another try where that may help.

What may pass is tried again a few times, as long as no answer has begun: nobody there, too many
requests, a fault of the server. A stream that ends before it says so is a failure. The token goes
to the server and nowhere else: no message and no log has it.
"""

from __future__ import annotations

import contextlib
import json
import logging
import random
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gascity.core.fingerprint import conceal
from gascity.core.web import is_loopback, retry_after
from gascity.errors import BackendError
from gascity.runs.context import Cancel
from gascity.runs.rest.chunks import Document
from gascity.runs.rest.sse import TooLong, events

if TYPE_CHECKING:
    import httpx

CONNECTING = 10.0  # seconds to reach somebody
MOST_TRIES = 5
LONGEST_PAUSE = 32.0  # seconds between two tries, doubling up to this
LONGEST_WAIT = 300.0  # seconds that a server may have us wait
DONE = "[DONE]"
_BODY = 8192  # characters of a refusal that are told
_LARGEST = 64 * 1024 * 1024  # bytes of an answer in one piece
_STOPPED = 143


class Failed(Exception):
    """The call failed, for good."""


@dataclass(frozen=True, slots=True)
class _Again:
    """A try that may go better later: why, and how long the server wants us to wait."""

    why: str
    wait: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """How to ask: whom, at which address, with what patience. `log` takes a line for people."""

    name: str
    url: str
    token: str = field(repr=False)
    idle: float
    pause: float
    log: Callable[[str], None]
    cancel: Cancel

    def documents(self, body: bytes) -> Iterator[Document]:
        """Yield the documents of the answer. Raises Failed, and BackendError when cancelled."""
        import httpx  # noqa: PLC0415  a seventh of a second, for who asks

        for logger in ("httpx", "httpcore"):  # they tell what is sent
            logging.getLogger(logger).disabled = True
        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in {"http", "https"} or not url.host:
            raise Failed("the base url is none that begins with http:// or https://")
        pause, number = self.pause, 1
        with self._client(url) as client:
            while (failed := (yield from self._try(client, url, body))) is not None:
                if number == MOST_TRIES:
                    raise Failed(f"{failed.why}; tried {MOST_TRIES} times")
                jittered = random.uniform(pause, pause * 1.5)  # noqa: S311  no secret
                self._wait(failed, jittered if failed.wait is None else failed.wait, number)
                pause, number = min(pause * 2, LONGEST_PAUSE), number + 1

    def _client(self, url: httpx.URL) -> httpx.Client:
        import httpx  # noqa: PLC0415  as above

        limits = httpx.Timeout(self.idle, connect=min(CONNECTING, self.idle))
        try:
            # One of our own takes no proxy from the environment, which has another loopback.
            transport = httpx.HTTPTransport() if is_loopback(url.host) else None
            return httpx.Client(transport=transport, timeout=limits)
        except (OSError, ValueError, ImportError, httpx.InvalidURL) as problem:
            what = "the certificates or the proxy that the environment names cannot be used"
            raise Failed(f"{what}: {problem}") from None

    def _wait(self, failed: _Again, wait: float, number: int) -> None:
        if wait > LONGEST_WAIT:
            raise Failed(f"{failed.why}; it wants {wait:.0f} s to pass")
        self.log(f"try {number} of {MOST_TRIES}: {failed.why}; trying again in {wait:.1f} s")
        self.cancel.wait(wait)
        self._check()

    def _check(self) -> None:
        if self.cancel.is_set():
            raise BackendError(f"agent was stopped: {self.cancel.reason}", code=_STOPPED)

    def _try(
        self, client: httpx.Client, url: httpx.URL, body: bytes
    ) -> Generator[Document, None, _Again | None]:
        import httpx  # noqa: PLC0415  as above

        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "Accept": "text/event-stream, application/json",
            "User-Agent": "gc",
        }
        begun = False
        try:
            with client.stream("POST", url, content=body, headers=headers) as answer:
                if answer.status_code != httpx.codes.OK:
                    return self._judged(answer)
                begun = True
                yield from self._read(answer)
                return None
        except httpx.ReadTimeout:
            raise Failed(f"{self.name} stream idle timeout: nothing for {self.idle:g} s") from None
        except httpx.TransportError as problem:
            kind = type(problem).__name__  # its text may have what was sent
            if begun:
                raise Failed(f"the stream was cut before its end ({kind})") from None
            if isinstance(problem, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
                raise Failed(f"the request cannot be sent ({kind})") from None
            if isinstance(problem, httpx.ConnectError):  # nothing was sent yet
                kind = str(problem) or kind
            return _Again(f"{url.host} cannot be reached ({kind})")
        except UnicodeError:
            raise Failed("the base url has a host that cannot be one") from None
        except httpx.HTTPError as problem:
            raise Failed(f"the answer cannot be read ({type(problem).__name__})") from None

    def _judged(self, answer: httpx.Response) -> _Again:
        """Return that a refusal may pass. Raises Failed when it will not."""
        status = answer.status_code
        why = f"{self.name} api error: status {status}"
        if status == 429 or status >= 500:
            return _Again(why, retry_after(answer.headers.get("Retry-After", ""), time.time()))
        raise Failed(f"{why}: {self._body(answer)}")

    def _body(self, answer: httpx.Response) -> str:
        """Return the beginning of a refusal; struck out before it is cut, no half token stays.

        What does not come of it changes nothing: it was refused.
        """
        import httpx  # noqa: PLC0415  as above

        said = bytearray()
        with contextlib.suppress(httpx.HTTPError):
            for chunk in answer.iter_bytes():
                said += chunk
                if len(said) > 4 * _BODY + len(self.token):
                    break
        words = " ".join(conceal(said.decode("utf-8", "replace"), (self.token,)).split())
        return words if len(words) <= _BODY else f"{words[:_BODY]}..."

    def _read(self, answer: httpx.Response) -> Iterator[Document]:
        if answer.headers.get("Content-Type", "").lower().startswith("application/json"):
            yield self._parsed(self._whole(answer))
            return
        try:
            for data in events(answer.iter_bytes()):
                self._check()
                if data.strip() == DONE:
                    return
                if data.strip():  # else it only says that it lives
                    yield self._parsed(data)
        except TooLong:
            raise Failed("an event of the stream is too long") from None
        raise Failed("the stream was cut before its end")

    def _whole(self, answer: httpx.Response) -> str:
        data = bytearray()
        for chunk in answer.iter_bytes():
            data += chunk
            if len(data) > _LARGEST:
                raise Failed("the answer is too long")
        return data.decode("utf-8", "replace")

    def _parsed(self, data: str) -> Document:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise Failed("the answer is no JSON")
        return document
