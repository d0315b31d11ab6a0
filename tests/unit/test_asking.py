from __future__ import annotations

import json
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gascity import asking, jsonrpc, unixsocket
from gascity.errors import HungUp, RemoteError, Unheard, Unreachable
from gascity.testing.eventually import eventually

Answer = Callable[[bytes], bytes | None]


class Server:
    """Answers each line with what `answer` makes of it; None hangs up without a word."""

    def __init__(self, path: str, answer: Answer) -> None:
        self._answer = answer
        self._listening = unixsocket.listen(path)
        self._open: list[socket.socket] = []
        self.connections = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        for sock in (self._listening, *self._open):
            with _quietly():
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._thread.join(10)

    def _serve(self) -> None:
        with _quietly():
            while True:
                connection, _ = self._listening.accept()
                self.connections += 1
                self._open.append(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with _quietly(), connection, connection.makefile("rb") as lines:
            for line in lines:
                reply = self._answer(line)
                if reply is None:
                    break
                connection.sendall(reply)


class _quietly:  # noqa: N801  reads as a phrase
    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, problem: object, trace: object) -> bool:
        return isinstance(problem, OSError)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[[Answer], tuple[asking.Client, Server]]]:
    opened: list[tuple[asking.Client, Server]] = []

    def begin(answer: Answer) -> tuple[asking.Client, Server]:
        path = str(tmp_path / f"sock{len(opened)}")
        opened.append((asking.Client(path), Server(path, answer)))
        return opened[-1]

    yield begin
    for client, server in opened:
        client.close()
        server.close()


Serve = Callable[[Answer], tuple[asking.Client, Server]]


def echo(line: bytes) -> bytes:
    asked = jsonrpc.read_request(line)
    assert isinstance(asked, jsonrpc.Request)
    return jsonrpc.result(asked.id, asked.params)


def test_a_call_returns_the_result(serve: Serve) -> None:
    client, _ = serve(echo)

    assert client.call("echo", {"text": "Zürich\n東京"}, timeout=60) == {"text": "Zürich\n東京"}


def test_a_large_message_goes_both_ways(serve: Serve) -> None:
    client, _ = serve(echo)
    large = {"text": "x" * 3_000_000}

    assert client.call("echo", large, timeout=20) == large


def test_many_threads_get_their_own_answers(serve: Serve) -> None:
    client, server = serve(echo)
    answers: dict[int, object] = {}

    def ask(number: int) -> None:
        for _ in range(20):
            answers[number] = client.call("echo", {"number": number}, timeout=20)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == {number: {"number": number} for number in range(6)}
    assert server.connections == 1


def test_an_error_is_raised_with_all_that_came_with_it_and_the_connection_stays(
    serve: Serve,
) -> None:
    def refuse(line: bytes) -> bytes:
        asked = jsonrpc.read_request(line)
        return jsonrpc.error(asked.id, -32000, "no such agent", {"hint": "look", "exit": 4})

    client, server = serve(refuse)

    for _ in range(2):
        with pytest.raises(RemoteError) as caught:
            client.call("stop", {}, timeout=60)

    assert (caught.value.message, caught.value.code) == ("no such agent", -32000)
    assert (caught.value.hint, caught.value.data["exit"]) == ("look", 4)
    assert server.connections == 1


@pytest.mark.parametrize(
    "problem",
    [{}, {"code": None}, {"code": "x", "message": 3}, {"code": 1.5, "data": "text"}, "text", 0, ""],
)
def test_a_strange_error_is_still_an_error(serve: Serve, problem: object) -> None:
    def refuse(line: bytes) -> bytes:
        asked = jsonrpc.read_request(line)
        return json.dumps({"jsonrpc": "2.0", "id": asked.id, "error": problem}).encode() + b"\n"

    client, _ = serve(refuse)

    with pytest.raises(RemoteError):
        client.call("m", {}, timeout=60)


@pytest.mark.parametrize("garbage", [b"not json\n", b"\n", b"[1]\n", b"\xff\n"])
def test_what_is_not_json_rpc_is_unreachable(serve: Serve, garbage: bytes) -> None:
    client, _ = serve(lambda line: garbage + echo(line))

    with pytest.raises(Unreachable, match="JSON-RPC"):
        client.call("echo", {"a": "b"}, timeout=60)


def test_the_answer_to_another_question_is_passed_over(serve: Serve) -> None:
    client, _ = serve(lambda line: jsonrpc.result(99, "other") + echo(line))

    assert client.call("echo", {"a": "b"}, timeout=60) == {"a": "b"}


def test_an_answer_without_a_result_is_not_taken_for_success(serve: Serve) -> None:
    client, _ = serve(lambda line: b'{"jsonrpc": "2.0", "id": 1}\n')

    with pytest.raises(RemoteError):
        client.call("m", {}, timeout=60)


def test_nobody_there_is_unreachable(tmp_path: Path) -> None:
    client = asking.Client(str(tmp_path / "missing"))

    with pytest.raises(Unreachable, match="missing"):
        client.call("ping", {}, timeout=60)


def test_silence_is_unreachable_within_the_limit(serve: Serve) -> None:
    release = threading.Event()

    def wait(line: bytes) -> bytes:
        release.wait(20)
        return echo(line)

    client, _ = serve(wait)

    begun = time.monotonic()
    with pytest.raises(Unreachable, match="in time"):
        client.call("slow", {}, timeout=0.3)
    took = time.monotonic() - begun
    release.set()

    assert took > 0.25


def test_a_late_answer_is_never_taken_for_the_next_one(serve: Serve) -> None:
    asked: list[str] = []
    release = threading.Event()

    def slow_at_first(line: bytes) -> bytes:
        request = jsonrpc.read_request(line)
        assert isinstance(request, jsonrpc.Request)
        asked.append(request.method)
        if request.method == "slow":
            release.wait(20)
        return jsonrpc.result(request.id, request.method)

    client, _ = serve(slow_at_first)
    with pytest.raises(Unreachable):
        client.call("slow", {}, timeout=0.2)

    release.set()

    assert client.call("quick", {}, timeout=10) == "quick"


def test_a_busy_client_keeps_the_limit_of_those_who_wait(serve: Serve) -> None:
    """A call that waits for its turn counts the waiting."""
    entered, release = threading.Event(), threading.Event()

    def wait(line: bytes) -> bytes:
        entered.set()
        release.wait(20)
        return echo(line)

    client, _ = serve(wait)
    first = threading.Thread(target=lambda: client.call("slow", {}, timeout=20))
    first.start()
    assert entered.wait(10)

    try:
        with pytest.raises(Unreachable, match="another call took all the time"):
            client.call("second", {}, timeout=0.3)

        assert first.is_alive()
    finally:
        release.set()
        first.join()


def test_after_the_server_hung_up_the_next_call_connects_again(serve: Serve) -> None:
    calls: list[bytes] = []

    def hang_up_once(line: bytes) -> bytes | None:
        calls.append(line)
        return None if len(calls) == 1 else echo(line)

    client, server = serve(hang_up_once)
    with pytest.raises(Unreachable, match="hung up"):
        client.call("first", {}, timeout=60)

    assert client.call("second", {"a": "b"}, timeout=60) == {"a": "b"}
    assert server.connections == 2


def test_a_server_that_was_restarted_is_found_again(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")
    client = asking.Client(path)
    first = Server(path, echo)
    client.call("echo", {}, timeout=60)
    first.close()
    second = Server(path, echo)

    try:
        with pytest.raises(Unreachable):
            client.call("echo", {}, timeout=60)
        answer = client.call("echo", {"again": "yes"}, timeout=60)
    finally:
        client.close()
        second.close()

    assert answer == {"again": "yes"}


def test_a_closed_client_may_be_used_again(serve: Serve) -> None:
    client, server = serve(echo)
    client.call("echo", {}, timeout=60)

    client.close()
    client.close()

    assert client.call("echo", {"a": "b"}, timeout=60) == {"a": "b"}
    assert server.connections == 2


def test_an_answer_that_is_too_long_ends_the_call(serve: Serve) -> None:
    client, _ = serve(lambda line: b"x" * (jsonrpc.LONGEST_LINE + 1) + b"\n")

    with pytest.raises(Unreachable, match="longer than"):
        client.call("m", {}, timeout=20)


ASKS = """
import os, signal, sys
from gascity import asking, unixsocket
connect = unixsocket.connect

def stands_still(path, timeout):
    sock = connect(path, timeout=timeout)
    os.kill(os.getpid(), signal.SIGSTOP)
    return sock

if sys.argv[2] == "before it asks":
    unixsocket.connect = stands_still
print(asking.Client(sys.argv[1]).call("ping", {}, timeout=4.0))
"""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("when", ["before it asks", "while it waits"])
def test_an_answer_that_the_machine_stood_still_over_is_waited_for(
    tmp_path: Path, when: str
) -> None:
    may_answer = threading.Event()
    asked = threading.Event()

    def answer(line: bytes) -> bytes:
        asked.set()
        may_answer.wait(60)
        return json.dumps({"id": json.loads(line)["id"], "result": "here"}).encode() + b"\n"

    server = Server(str(tmp_path / "s"), answer)
    try:
        words = [sys.executable, "-c", ASKS, str(tmp_path / "s"), when]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            if when == "while it waits":
                assert asked.wait(60)
                process.send_signal(signal.SIGSTOP)
            eventually(lambda: state_of(process.pid) == "T")
            time.sleep(6)  # longer than the answer may take, and nobody can do anything
            process.send_signal(signal.SIGCONT)
            assert asked.wait(60)
            may_answer.set()
            assert process.communicate()[0] == "here\n"
    finally:
        server.close()


def test_who_ends_before_the_question_is_read_did_not_hear_it(tmp_path: Path) -> None:
    client = asking.Client(str(tmp_path / "s"))
    with unixsocket.listen(str(tmp_path / "s")) as server:
        ends = threading.Thread(target=lambda: _peeked(server).close())
        ends.start()

        with pytest.raises(Unheard, match="no answer"):
            client.call("m", {}, timeout=60)

        ends.join()


def test_a_question_that_was_never_accepted_was_not_heard(tmp_path: Path) -> None:
    client = asking.Client(str(tmp_path / "s"))
    server = unixsocket.listen(str(tmp_path / "s"))

    def end() -> None:
        select.select([server], [], [])
        server.close()

    ends = threading.Thread(target=end)
    ends.start()

    with pytest.raises(Unheard, match="no answer"):
        client.call("m", {}, timeout=60)

    ends.join()


def test_who_ends_after_the_question_was_read_may_have_done_it(serve: Serve) -> None:
    client, _ = serve(lambda line: None)

    with pytest.raises(HungUp, match="hung up") as problem:
        client.call("m", {}, timeout=60)

    assert not isinstance(problem.value, Unheard)


def _peeked(server: socket.socket) -> socket.socket:
    """Return a connection on which a question has come and was not read."""
    connection, _ = server.accept()
    connection.recv(1, socket.MSG_PEEK)
    return connection
