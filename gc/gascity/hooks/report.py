"""The hook itself: tells the city's controller what its agent does, and is gone.

An agent waits for its hooks, so this loads next to nothing, waits for nobody for long, prints
nothing and always ends well. Without a controller, and outside a session of a city, it does nothing
at all: somebody may use the same tool in the same folder.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import time
from collections.abc import Sequence

READING = 0.5  # seconds for what the tool has to say, which mostly is there before Python is ...
SILENT = 0.03  # ... and where nobody may have anything to say ...
SENDING = 0.02  # ... and for the controller to take it
LARGEST = 4 * 1024 * 1024
LONGEST = 64  # characters of a detail
SESSION = ("GC_CITY_PATH", "GC_SESSION_NAME", "GC_RUN")
OWNERS = ("session_id", "thread-id")
DETAILS = ("notification_type", "error", "tool_name", "source", "reason", "type")


def main(words: Sequence[str]) -> int:
    """Report `BACKEND EVENT [-- COMMAND...] [JSON]`; return 0, whatever happens."""
    with contextlib.suppress(Exception):  # a hook that fails is shown to the agent
        _report(list(words))
    return 0


def _report(words: list[str]) -> None:
    backend, event, *rest = words
    if rest[:1] == ["--"] and len(rest) > 2:
        _call(rest[1:])
    if not in_session():
        return
    said = rest[-1].encode("utf-8", "surrogateescape") if rest else standard_input(_patience())
    send(message(backend, event, said))


def in_session() -> bool:
    """Tell whether it is an agent of a city whose tool calls."""
    return all(os.environ.get(key) for key in SESSION)


def message(backend: str, event: str, said: bytes) -> dict[str, object]:
    """Return what the controller is told: of what the tool says, as little as possible."""
    owner, detail = _facts(said)
    _, session, run = (os.environ[key] for key in SESSION)
    return {
        "backend": backend,
        "event": event,
        "detail": detail,
        "owner": owner,
        "session": session,
        "run": run,
    }


def _patience() -> float:
    """Return how long to wait for what the tool says: a pipe it made to say something in."""
    kind = os.fstat(0).st_mode
    return READING if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) else SILENT


def standard_input(patience: float) -> bytes:
    """Return what comes on standard input until its end, or until the time is up."""
    until = time.monotonic() + patience
    found = b""
    while len(found) < LARGEST:
        left = max(until - time.monotonic(), 0.0)
        if not select.select([0], [], [], left)[0]:
            break
        data = os.read(0, 1 << 16)
        if not data:
            break
        found += data
    return found


def _facts(said: bytes) -> tuple[str, str]:
    """Return the tool's own session, and what the event is about."""
    import json  # noqa: PLC0415  not before it is known that there is somebody to tell

    try:
        given = json.loads(said)
    except ValueError:  # only its beginning was read
        return _first(said), ""
    if not isinstance(given, dict):
        return "", ""
    owner = next((given[key] for key in OWNERS if isinstance(given.get(key), str)), "")
    detail = next((given[key] for key in DETAILS if isinstance(given.get(key), str)), "")
    return owner, detail[:LONGEST]


def _first(said: bytes) -> str:
    import re  # noqa: PLC0415  only for what could not be read whole

    found = re.search(rb'"(?:session_id|thread-id)"\s*:\s*"([^"\\]{1,200})"', said[:4096])
    return found[1].decode("utf-8", "replace") if found else ""


def send(params: dict[str, object]) -> None:
    """Tell the controller, without waiting for its answer. Raises OSError where there is none."""
    import json  # noqa: PLC0415  not before it is known that there is somebody to tell

    path = os.path.join(os.environ["GC_CITY_PATH"], ".gc", "controller.sock")
    if not os.path.exists(path):
        return
    from gascity import unixsocket  # noqa: PLC0415  the same

    line = json.dumps({"jsonrpc": "2.0", "method": "report", "params": params}) + "\n"
    with unixsocket.connect(path, timeout=SENDING) as sock:
        sock.sendall(line.encode())


def _call(words: list[str]) -> None:
    """Start the user's own program, and leave it to itself."""
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.posix_spawnp(
            words[0],
            words,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)],
            setsid=True,
        )
    except OSError as problem:  # the report goes on without it
        del problem
    finally:
        os.close(nothing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
