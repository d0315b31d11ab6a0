"""What it costs to write an event or a message, to push it, and to find the last of very many.

Prints one JSON line each. The floor of a write, and of a post, is a bare SQLite insert of the same
row into a table without an index, in the same kind of file; of a push, a byte through a socket pair
to another thread; of `gc events`, `import typer`.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gascity.asking import Listener
from gascity.controller.control import ControlSocket
from gascity.controller.feed import METHOD, Feed
from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.journal.bus import Bus
from gascity.journal.store import Journal

WRITES = 3000
PUSHES = 500
KEPT = 100_000
ROUNDS = 5
GC = os.path.join(os.path.dirname(sys.executable), "gc")
EVENT = Event(EventType.SESSION_CRASHED, "mayor", "gc-c-mayor", "r1", "exited with status 3" * 10)
LIMITS = {"write": 6.0, "post": 6.0, "push": 60.0, "events": 4.0}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        kept = [write(folder), post(folder), push(folder), events(folder)]
    return 0 if all(kept) else 1


def write(folder: str) -> bool:
    """Tell whether a write of one event keeps its limit."""
    bare = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = NORMAL")
    bare.execute("CREATE TABLE event (number INTEGER PRIMARY KEY, a, b, c, d, e, f, g)")
    row = (1.0, EVENT.type, EVENT.agent, EVENT.session, EVENT.run, EVENT.message, "")

    def insert() -> None:
        bare.execute("BEGIN IMMEDIATE")
        bare.execute("INSERT INTO event VALUES (NULL, ?, ?, ?, ?, ?, ?, ?)", row)
        bare.execute("COMMIT")

    journal = Journal(f"{folder}/write.db")
    floor = median(insert, WRITES)
    taken = median(lambda: journal.record(1.0, [EVENT], Memory()), WRITES)
    journal.close()
    bare.close()
    return told("write", taken, floor)


def post(folder: str) -> bool:
    """Tell whether a post of one message keeps its limit."""
    bare = sqlite3.connect(f"{folder}/bare_post.db", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = NORMAL")
    bare.execute("CREATE TABLE message (number INTEGER PRIMARY KEY, a, b, c, d, e)")

    def insert() -> None:
        bare.execute("BEGIN IMMEDIATE")
        row = (time.time(), "INFO", "project", "task", EVENT.message)
        bare.execute("INSERT INTO message VALUES (NULL, ?, ?, ?, ?, ?)", row)
        bare.execute("COMMIT")

    with Bus(f"{folder}/post.db") as bus:
        floor = median(insert, WRITES)
        taken = median(
            lambda: bus.post("INFO", EVENT.message, project="project", task="task"), WRITES
        )
    bare.close()
    return told("post", taken, floor)


def push(folder: str) -> bool:
    """Tell whether the way from a write to a follower keeps its limit."""
    feed = Feed(f"{folder}/push.db")
    journal = Journal(f"{folder}/push.db", written=feed.ring)
    control = ControlSocket(f"{folder}/s", lambda asked: asked.answer(None), {METHOD: feed.serve})
    with contextlib.closing(Listener(f"{folder}/s", METHOD, {"after": 0}, timeout=10)) as follower:

        def there_and_back() -> None:
            journal.record(1.0, [EVENT], Memory())
            while not follower.hear():
                pass

        taken = median(there_and_back, PUSHES)
    feed.close()
    control.close()
    journal.close()
    mine, other = socket.socketpair()
    echo = threading.Thread(
        target=lambda: [other.send(b"!") for _ in iter(lambda: other.recv(1), b"")]
    )
    echo.start()
    floor = median(lambda: (mine.send(b"!"), mine.recv(1)), PUSHES)
    mine.close()
    echo.join()
    other.close()
    return told("push", taken, floor)


def events(folder: str) -> bool:
    """Tell whether `gc events` in a long history keeps its limit."""
    Path(folder, "city.toml").write_text('[[agents]]\nname = "a"\nstart_command = "true"\n')
    Path(folder, ".gc").mkdir()
    journal = Journal(f"{folder}/.gc/city.db")
    for _ in range(KEPT // 1000):
        journal.record(1.0, [EVENT] * 1000, Memory())
    journal.close()
    commands = ([GC, "-C", folder, "events"], [sys.executable, "-c", "import typer"])
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for command, taken in zip(commands, times, strict=True):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            taken.append(time.perf_counter() - began)
    return told("events", min(times[0]), min(times[1]))


def median(do: Callable[[], object], count: int) -> float:
    """Return the median of the seconds that it takes."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        do()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def told(what: str, taken: float, floor: float) -> bool:
    """Print a line; tell whether the limit was kept."""
    ratio, limit = taken / floor, LIMITS[what]
    facts = {"bench": f"journal {what}", "us": round(taken * 1e6), "floor_us": round(floor * 1e6)}
    print(json.dumps({**facts, "ratio": round(ratio, 2), "limit": limit, "kept": ratio <= limit}))
    return ratio <= limit


if __name__ == "__main__":
    sys.exit(main())
