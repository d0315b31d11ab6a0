"""One request, one answer, within its time; and why there was no answer, in a few words.

Imports `urllib3`: only for who asks a cluster.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError, NameResolutionError, NewConnectionError, ProtocolError
from urllib3.exceptions import TimeoutError as TookTooLong

from gascity_kubernetes.credentials import Access
from gascity_kubernetes.problems import ApiSilent

_LEAST = 0.001
_PIECE = 1 << 18


def exchange(
    access: Access,
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    body: bytes | None,
    headers: Mapping[str, str],
    what: str,
    timeout: float,
) -> tuple[int, bytes]:
    """Return the status and the body of an answer.

    Raises ApiSilent when there is none within `timeout` seconds. A reading request that met a
    connection the other side had closed meanwhile is sent once more; a writing one never is.
    """
    deadline = time.monotonic() + timeout
    for may_repeat in (method == "GET", False):
        try:
            answer = send(
                access, method, path, query=query, body=body, headers=headers, deadline=deadline
            )
            return answer.status, read_all(answer, deadline)
        except (HTTPError, OSError) as problem:
            if not may_repeat or not _was_closed(problem):
                raise silence(access.host, what, problem, timeout) from problem
            access.pool.clear()
    raise AssertionError("the second try returns or raises")


def send(
    access: Access,
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    body: bytes | None,
    headers: Mapping[str, str],
    deadline: float,
) -> urllib3.BaseHTTPResponse:
    """Send a request and return its answer, of which only the head was read."""
    left = max(deadline - time.monotonic(), _LEAST)
    return access.pool.request(
        method,
        access.host + path + ("?" + urlencode(query) if query else ""),
        body=body,
        headers={**headers, **access.headers(deadline)},
        timeout=urllib3.Timeout(total=left),
        retries=False,
        redirect=False,
        preload_content=False,
    )


def silence(host: str, what: str, problem: BaseException, timeout: float) -> ApiSilent:
    """Say why an API did not answer."""
    return ApiSilent(
        f"the Kubernetes API at {host} {_why(problem, timeout)} while {what}",
    )


def set_patience(answer: urllib3.BaseHTTPResponse, seconds: float | None) -> bool:
    """Set how long a read of the rest of an answer may wait; tell whether that was possible."""
    found = getattr(answer.connection, "sock", None)
    if not isinstance(found, socket.socket):
        return False  # the connection ends with this answer: the time of the request stands
    found.settimeout(seconds)
    return True


def read_all(answer: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
    """Return the rest of an answer; raises what `silence` explains when it does not come."""
    pieces: list[bytes] = []
    try:
        while True:
            set_patience(answer, _left(deadline))
            piece = answer.read1(_PIECE)
            if not piece:
                answer.release_conn()
                return b"".join(pieces)
            pieces.append(piece)
    except BaseException:  # whatever it is: cleaned up, and raised again
        answer.close()
        raise


def _was_closed(problem: Exception) -> bool:
    """Whether the other side had closed the connection before it got the request."""
    return isinstance(problem, ProtocolError) and isinstance(
        problem.args[-1], http.client.RemoteDisconnected
    )


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TookTooLong
    return left


def _why(problem: BaseException, timeout: float) -> str:
    reasons = list(_chain(problem))
    for one in reasons:
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"has a certificate that is not trusted ({one.verify_message})"
    for one in reasons:
        if isinstance(one, NameResolutionError | socket.gaierror):
            return "has a name that is not known"
    for one in reasons:
        # That no connection came about is a timeout to the library, whatever the reason.
        if isinstance(one, TookTooLong | TimeoutError) and not isinstance(one, NewConnectionError):
            return f"did not answer within {timeout:.3g} s"
    for one in reasons:
        if isinstance(one, ssl.SSLError):
            return f"does not speak TLS as we do ({(one.reason or 'unknown').lower()})"
        if isinstance(one, OSError) and one.strerror:
            return f"cannot be reached ({one.strerror.lower()})"
    return "broke off"


def _chain(problem: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while problem is not None and problem not in found:
        found.append(problem)
        inner = [one for one in problem.args if isinstance(one, BaseException)]
        problem = problem.__cause__ or problem.__context__ or (inner[-1] if inner else None)
    return found
