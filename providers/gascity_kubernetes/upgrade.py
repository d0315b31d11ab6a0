"""How an exec begins: one HTTP request that becomes a websocket.

Imports `websocket`: only for who asks a cluster.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Sequence
from urllib.parse import urlencode

import websocket

from gascity_kubernetes.credentials import KEEPALIVE, Access
from gascity_kubernetes.exchange import silence
from gascity_kubernetes.streams import PROTOCOL, Stream

_NOT_RUNNING = ("container not found", "container is not running", "is not running", "not created")


def open_stream(
    access: Access, path: str, query: Sequence[tuple[str, str]], what: str, *, deadline: float
) -> Stream | tuple[int, bytes]:
    """Return the stream, or the status and body of an answer that says no.

    Raises ApiSilent when there is no answer. That a container does not run is told by clusters as
    if they were broken (500); here it is as if it were not there (404).
    """
    logging.getLogger("websocket").setLevel(logging.CRITICAL)  # it prints what it also raises
    timeout = max(deadline - time.monotonic(), 0.001)
    options: dict[str, object] = {}
    if access.tls is not None:
        options["context"] = access.tls
    if access.server_name:
        options["server_hostname"] = access.server_name
    try:
        connection = websocket.WebSocket(sslopt=options, sockopt=list(KEEPALIVE))
        connection.connect(
            "ws" + access.host.removeprefix("http") + path + "?" + urlencode(query),
            timeout=timeout,
            header=[f"{name}: {value}" for name, value in access.headers(deadline).items()],
            subprotocols=[PROTOCOL],
            suppress_origin=True,
            redirect_limit=0,
            **access.proxy,
        )
    except websocket.WebSocketBadStatusException as answer:
        status, body = answer.status_code, answer.resp_body or b""
        text = body.decode("utf-8", "replace")
        if status >= 500 and any(sign in text for sign in _NOT_RUNNING):
            status = 404
        return status, body
    except (websocket.WebSocketException, OSError) as problem:
        raise silence(access.host, what, problem, timeout) from problem
    found = connection.sock
    if not isinstance(found, socket.socket):
        raise TypeError(f"a websocket's socket is not {type(found).__name__}")
    connection.sock = None  # from here on it is ours
    return Stream(found, access.host)
