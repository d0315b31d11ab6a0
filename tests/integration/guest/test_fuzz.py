"""Anything at all, thrown at the daemon: it answers each line, in order, and keeps its size."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.guest.daemon import Conversation, request, running

LINES = 200_000
BATCH = 500
MIB = 1024 * 1024
SEEDS = (
    request("ping"),
    request("ping", {}, 2**64 - 1),
    request("list_dir", {"path": "."}),
    request("read_file", {"path": "f"}),
    request("read_file", ["../../etc/passwd"]),
    request("write_file", {"path": "w", "content": "é"}),
    request("exec_code", {"lang": "cobol", "code": ""}),
    request("unknown", {"a": [1, {"b": None}]}),
    request("auth", {"token": "x"}),
    b'{"jsonrpc":"2.0","method":"ping","params":[1,2]}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
)
COMMAND = request("exec", {"cmd": ":"})  # whatever becomes of it is one letter long
WORDS = (
    *(b'"', b"{", b"}", b"[", b"]", b":", b",", b"\\", b"\\u0000", b"\\ud800", b"null", b"true"),
    *(b"-1", b"1e999", b"9" * 400, b"NaN", b"\xff", b"\xc3", "é".encode(), b"\0", b"\r", b" "),
    *(b'"id":', b'"method":', b'"jsonrpc":"2.0",', b"18446744073709551616", b"[" * 500),
)


def mutated(chance: random.Random, line: bytes) -> bytes:
    for _ in range(chance.randint(0, 3)):
        spot = chance.randrange(len(line) + 1)
        end = min(len(line), spot + chance.randint(1, 8))
        line = chance.choice(
            (
                line[:spot] + chance.choice(WORDS) + line[spot:],
                line[:spot] + line[end:],
                line[:spot] + chance.randbytes(end - spot) + line[end:],
                line[:end] + line[spot:],
                line[:spot],
            )
        )
    return line


def lines(chance: random.Random) -> Iterator[bytes]:
    for number in range(LINES):
        if number % 10 == 0:
            line = chance.randbytes(chance.randint(0, 60))
        elif number % 100 == 1:
            line = COMMAND.rstrip()
            spot = chance.randrange(len(line))  # a change, but none that makes two words of it
            line = line[:spot] + chance.choice((b"", b'"', b"x", b"\xff")) + line[spot + 1 :]
        else:
            line = mutated(chance, chance.choice(SEEDS).rstrip())
        yield line.replace(b"\n", b"?") + b"\n"


def id_of(line: bytes) -> int | None:
    """Return the id of a line that is a request; None for all others."""
    try:
        body = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    is_request = isinstance(body, dict) and body.get("jsonrpc") == "2.0"
    if not is_request or not isinstance(body.get("method"), str):
        return None
    id_ = body.get("id")
    is_id = isinstance(id_, int) and not isinstance(id_, bool) and 0 <= id_ < 2**64
    return id_ if is_id else None


@pytest.mark.timeout(300)
def test_every_line_is_answered_whatever_it_is(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "f").write_text("text")
    words = ("--root", str(work), "--workdir", str(work), "--timeout", "20")
    chance = random.Random(7)
    with running(tmp_path / "home", *words) as daemon:
        talk = daemon.connect()
        talk.send(request("ping"))  # the first line is the only one that may be no JSON-RPC
        assert talk.answer()["result"]
        sizes = []
        requests = 0
        everything = lines(chance)
        for _ in range(LINES // BATCH):
            batch = [next(everything) for _ in range(BATCH)]
            requests += throw(talk, batch)
            sizes.append(size(daemon.process.pid))

        assert next(everything, None) is None
        assert requests > LINES // 5
        assert daemon.process.poll() is None
        assert daemon.connect().ask("ping")["result"] == {"pong": True}
        assert max(sizes) - sizes[len(sizes) // 10] < 4 * MIB
        assert daemon.complaints == ""


def throw(talk: Conversation, batch: list[bytes]) -> int:
    """Send the lines and take their answers; return how many of them were requests."""
    thread = threading.Thread(target=talk.send, args=(b"".join(batch),))
    thread.start()
    requests = 0
    for line in batch:
        if not line.strip():
            continue
        answer = talk.answer()
        wanted = id_of(line)
        assert ("result" in answer) != ("error" in answer), line
        assert answer["jsonrpc"] == "2.0"
        if wanted is not None:
            requests += 1
            assert answer["id"] == wanted or answer["error"]["code"] == -32700, line
    thread.join()
    return requests


def size(pid: int) -> int:
    """Return the memory that a process has now, in bytes."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        found = next(line for line in file if line.startswith("VmRSS"))
    return int(found.split()[1]) * 1024
