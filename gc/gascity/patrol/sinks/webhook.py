"""Posting alerts to an address, as JSON.

What may pass is tried again with growing pauses, as long as the time limit allows: nobody there,
too many requests, a fault of the server; and after that now and then (see `couriers`). What does
not pass, such as a refusal, fails at once. The address is a secret: no message has it, and no other
host is ever sent what was meant for it.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gascity.core.web import is_loopback, retry_after
from gascity.patrol.notice import Notice, NotTaken, SinkFailed
from gascity.patrol.sinks.bounded import Bounded

if TYPE_CHECKING:
    import httpx

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds between two tries, doubling
CONNECTING = 5.0  # seconds for one try to reach somebody; the rest of the time is for the answer
MOST_MOVES = 3  # from one place of the same host to another
_MOVED = frozenset({301, 302, 307, 308})
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Webhook:
    """The way to an address; `variable` names the one that holds it, if not the city file does."""

    address: str = field(repr=False)
    variable: str
    environ: Mapping[str, str] = field(repr=False)
    timeout: float
    bounded: Bounded = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounded", Bounded(self.timeout))

    @property
    def name(self) -> str:
        """What it is called."""
        return "webhook"

    def send(self, notice: Notice) -> None:
        """Post the notice; only an answer of 2xx is good. Raises SinkFailed."""
        address = self._address()
        body = json.dumps({"title": notice.title, **notice.body()}).encode()
        deadline = time.monotonic() + self.timeout
        failed = self.bounded.run({self.name: lambda: _deliver(address, body, deadline)})
        for problem in failed.values():
            raise problem

    def close(self) -> None:
        """Let it be: what is under way ends with the process."""

    def _address(self) -> str:
        if not self.variable:
            return self.address
        found = self.environ.get(self.variable, "").strip()
        if not found:
            raise SinkFailed(f"the variable {self.variable} is not set where the controller runs")
        return found


@dataclass(frozen=True, slots=True)
class _Again:
    """A try that may go better later: why, and how long the other side wants us to wait."""

    why: str
    wait: float | None = None


def _deliver(address: str, body: bytes, deadline: float) -> None:
    """Try until it is taken, refused or too late. Raises SinkFailed."""
    import httpx  # noqa: PLC0415  a seventh of a second, for who has a webhook

    for name in ("httpx", "httpcore"):  # they tell addresses
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in _PORTS or not url.host:
        raise SinkFailed("its address is none that begins with http:// or https://")
    # A transport of our own takes no proxy from the environment; a proxy knows another loopback.
    transport = httpx.HTTPTransport() if is_loopback(url.host) else None
    pause = FIRST_PAUSE
    with httpx.Client(transport=transport) as client:
        while isinstance(found := _try_once(client, url, body, deadline), _Again):
            wait = random.uniform(pause / 2, pause) if found.wait is None else found.wait  # noqa: S311  no secret
            if time.monotonic() + wait >= deadline:
                raise NotTaken(_given_up(found), wait=found.wait or 0.0)
            time.sleep(wait)  # as the server asks, or a little longer each time
            pause = min(pause * 2, LONGEST_PAUSE)


def _given_up(last: _Again) -> str:
    waits = f", and wants {last.wait:g} s to pass" if last.wait else ""
    return f"{last.why}{waits}; there is no time left to try again"


def _try_once(client: httpx.Client, url: httpx.URL, body: bytes, deadline: float) -> _Again | None:
    """Post once, also where the same host says it moved to. Raises SinkFailed if that is final."""
    import httpx  # noqa: PLC0415  see above

    for _ in range(1 + MOST_MOVES):
        left = max(deadline - time.monotonic(), 0.01)
        limits = httpx.Timeout(left, connect=min(left, CONNECTING))
        headers = {"Content-Type": "application/json", "User-Agent": "gc"}
        try:
            with client.stream(
                "POST", url, content=body, headers=headers, timeout=limits
            ) as answer:
                status, told = answer.status_code, answer.headers
        except (httpx.ConnectError, httpx.ConnectTimeout) as problem:
            return _Again(_unreachable(problem))
        except httpx.TimeoutException:
            raise SinkFailed("did not answer in time") from None
        except httpx.TransportError as problem:
            return _Again(f"broke the connection ({type(problem).__name__})")
        if status not in _MOVED:
            return _judged(status, told.get("Retry-After", ""))
        there = _moved(url, told.get("Location", ""))
        if there is None:
            raise SinkFailed(f"answered with {status}, to another place, which is not followed")
        url = there
    raise SinkFailed("sends from one place to the next without end")


def _unreachable(problem: BaseException) -> str:
    """Return why nobody could be reached, in words that have no address. Raises SinkFailed."""
    cause: BaseException | None = problem
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise SinkFailed("has a certificate that is not trusted here") from None
        if isinstance(cause, ssl.SSLError):
            return f"speaks no TLS that we do ({cause.reason})"
        if isinstance(cause, OSError) and cause.strerror:
            return f"cannot be reached ({cause.strerror})"
        cause = cause.__cause__ or cause.__context__
    return "cannot be reached"


def _judged(status: int, told: str) -> _Again | None:
    if 200 <= status < 300:
        return None
    if status == 429 or status >= 500:
        return _Again(f"answered with {status}", retry_after(told, time.time()))
    raise SinkFailed(f"answered with {status}")


def _moved(url: httpx.URL, location: str) -> httpx.URL | None:
    """Return the new place where it is on the same host, as safe as before."""
    import httpx  # noqa: PLC0415  see above

    try:
        there = url.join(location)
    except httpx.InvalidURL:
        return None
    before, after = _origin(url), _origin(there)
    safer = before == ("http", url.host, 80) and after == ("https", url.host, 443)
    if not location or (before != after and not safer):
        return None
    return there.copy_with(userinfo=url.userinfo)


def _origin(url: httpx.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or _PORTS.get(url.scheme, 0)
