"""What a question to the guest daemon costs, beside a server that says back what it hears.

Prints one JSON line each: pings per second on one connection, and how long the slowest of a hundred
answers takes at fifty connections that all ask at once. The floor is the least that Python can do,
in the same run and in turn, the best of several each: a thread for each connection that reads a
line and writes it.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

ROUNDS = 9
PINGS = 3000
CONNECTIONS = 50
EACH = 100
LIMIT = 0.3  # of the floor
PATIENCE = 30.0
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n'
GUEST = [sys.executable, "-m", "gascity.guest.main", "--socket"]
ECHO = [
    sys.executable,
    "-c",
    """\
import socket, sys, threading
def talk(connection):
    with connection, connection.makefile("rb") as lines:
        for line in lines:
            connection.sendall(line)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(128)
while True:
    threading.Thread(target=talk, args=server.accept()[:1], daemon=True).start()
""",
]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        paths = f"{folder}/guest", f"{folder}/echo"
        with served([*GUEST, paths[0]], paths[0]), served([*ECHO, paths[1]], paths[1]):
            kept = [one(*paths), many(*paths)]
    return 0 if all(kept) else 1


def one(guest: str, echo: str) -> bool:
    """Tell whether one connection is answered often enough."""
    rates: dict[str, list[float]] = {guest: [], echo: []}
    for path in (guest, echo) * ROUNDS:
        with connected(path) as sock:
            began = time.perf_counter()
            for _ in range(PINGS):
                ask(sock)
            rates[path].append(PINGS / (time.perf_counter() - began))
    ours, floor = (max(rates[path]) for path in (guest, echo))
    ratio = ours / floor
    told("pings", per_second=round(ours), echo_per_second=round(floor), ratio=ratio)
    return ratio >= LIMIT


def many(guest: str, echo: str) -> bool:
    """Tell whether fifty connections that ask at once are answered soon enough."""
    slow: dict[str, list[float]] = {guest: [], echo: []}
    for path in (guest, echo) * ROUNDS:
        slow[path].append(p99(latencies(path)))
    ours, floor = (min(slow[path]) for path in (guest, echo))
    ratio = floor / ours
    told("fifty", p99_ms=round(1000 * ours, 2), echo_p99_ms=round(1000 * floor, 2), ratio=ratio)
    return ratio >= LIMIT


def latencies(path: str) -> list[float]:
    """Return how long each answer took, with a question of every connection on its way."""
    taken = []
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        socks = [stack.enter_context(connected(path)) for _ in range(CONNECTIONS)]
        known = {sock.fileno(): sock for sock in socks}
        for sock in socks:
            ask(sock)  # its thread runs
            selector.register(sock, selectors.EVENT_READ)
        left = dict.fromkeys(socks, EACH)
        sent = {}
        for sock in socks:
            sent[sock] = time.perf_counter()
            sock.sendall(PING)
        while left:
            for key, _ in selector.select(PATIENCE):
                sock = known[key.fd]
                assert sock.recv(4096).endswith(b"\n")
                taken.append(time.perf_counter() - sent[sock])
                left[sock] -= 1
                if left[sock]:
                    sent[sock] = time.perf_counter()
                    sock.sendall(PING)
                else:
                    del left[sock]
    return taken


def ask(sock: socket.socket) -> None:
    sock.sendall(PING)
    while not sock.recv(4096).endswith(b"\n"):
        pass


def p99(taken: Sequence[float]) -> float:
    return sorted(taken)[len(taken) * 99 // 100]


@contextlib.contextmanager
def served(words: list[str], path: str) -> Iterator[None]:
    process = subprocess.Popen(words)
    try:
        until = time.monotonic() + PATIENCE
        while not reached(path):
            if time.monotonic() > until:
                raise TimeoutError(f"{words[0]} did not come up")
            time.sleep(0.01)  # until it is up
        yield
    finally:
        process.terminate()
        process.wait()


def reached(path: str) -> bool:
    with contextlib.suppress(OSError), connected(path) as sock:
        ask(sock)
        return True
    return False


@contextlib.contextmanager
def connected(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE)
        sock.connect(path)
        yield sock


def told(way: str, *, ratio: float, **numbers: float) -> None:
    print(
        json.dumps(
            {"bench": "guest", "way": way, **numbers, "ratio": round(ratio, 2), "limit": LIMIT}
        )
    )


if __name__ == "__main__":
    sys.exit(main())
