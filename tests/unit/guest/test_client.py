"""The client against servers that do what they should not, over real sockets."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gascity import unixsocket
from gascity.errors import HungUp, RemoteError, Unanswered, Unreachable, UsageError
from gascity.guest import Client
from gascity.guest.connection import Address
from gascity.testing.eventually import eventually

Behaviour = Callable[[socket.socket], None]


def request(conn: socket.socket) -> dict[str, Any]:
    """Return the next request; Any: JSON."""
    line = b""
    while not line.endswith(b"\n"):
        byte = conn.recv(1)
        if not byte:
            raise ConnectionResetError
        line += byte
    found: dict[str, Any] = json.loads(line)
    return found


def answer(id_: object, result: object = None) -> bytes:
    pong = {"pong": True} if result is None else result
    return json.dumps({"jsonrpc": "2.0", "id": id_, "result": pong}).encode() + b"\n"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Return what serves one behaviour for each connection, in order, the last for all others."""
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def serve(*behaviours: Behaviour) -> str:
        path = str(tmp_path / "guest.sock")
        listener = unixsocket.listen(path)
        opened.append(listener)

        def accept() -> None:
            waiting = list(behaviours)
            while True:
                try:
                    conn, _ = listener.accept()
                except OSError:
                    return
                opened.append(conn)
                behave = waiting.pop(0) if len(waiting) > 1 else waiting[0]
                thread = threading.Thread(target=_guarded, args=[behave, conn], daemon=True)
                threads.append(thread)
                thread.start()

        threads.append(threading.Thread(target=accept, daemon=True))
        threads[-1].start()
        return path

    yield serve
    for one in opened:
        with _suppressed():
            one.shutdown(socket.SHUT_RDWR)
        one.close()
    for thread in threads:
        thread.join(10)


def _guarded(behave: Behaviour, conn: socket.socket) -> None:
    with _suppressed():
        behave(conn)


@contextmanager
def _suppressed() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError):
        return


def polite(conn: socket.socket) -> None:
    while True:
        conn.sendall(answer(request(conn)["id"]))


def mute(conn: socket.socket) -> None:
    while conn.recv(4096):
        pass


def await_the_end_of(client: Client) -> None:
    """Return when the other side is known to have hung up."""
    connection = client._connection
    assert connection is not None
    eventually(lambda: not connection.is_of_use)


def test_a_late_answer_is_not_taken_for_that_to_the_next_question(
    serve: Callable[..., str],
) -> None:
    is_late = threading.Event()

    def dawdle(conn: socket.socket) -> None:
        first = request(conn)
        is_late.wait(10)
        conn.sendall(answer(first["id"], {"content": "of the first"}))

    def prompt(conn: socket.socket) -> None:
        conn.sendall(answer(request(conn)["id"], {"content": "of the second"}))
        is_late.set()

    with Client(serve(dawdle, prompt)) as client:
        with pytest.raises(Unanswered):
            client.read_file("first", timeout=0.2)

        assert client.read_file("second") == "of the second"


def test_answers_to_other_questions_are_passed_over(serve: Callable[..., str]) -> None:
    def confused(conn: socket.socket) -> None:
        asked = request(conn)["id"]
        for id_ in (asked + 1, 0, "x", True, -1, 1.5):
            conn.sendall(answer(id_, {"content": "of another"}))
        conn.sendall(answer(asked, {"content": "mine"}))

    with Client(serve(confused)) as client:
        client._next = 40  # so that no odd id is its own

        assert client.read_file("x") == "mine"


def test_who_answers_only_what_was_not_asked_gives_no_answer(serve: Callable[..., str]) -> None:
    def endless(conn: socket.socket) -> None:
        while True:
            conn.sendall(answer(10**9))

    with Client(serve(endless)) as client, pytest.raises(Unanswered):
        client.ping(timeout=0.3)


@pytest.mark.parametrize(
    "said",
    [
        b"garbage\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"null\n",
        b'{"id":1,"result":{}}\n',
        b'{"jsonrpc":"2.0","result":{}}\n',
        b'{"jsonrpc":"2.0","id":1}\n',
        b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_what_is_no_answer_ends_the_connection_and_the_next_works(
    serve: Callable[..., str], said: bytes
) -> None:
    def babble(conn: socket.socket) -> None:
        request(conn)
        conn.sendall(said)
        mute(conn)

    with Client(serve(babble, polite)) as client:
        with pytest.raises(Unanswered):
            client.ping()

        client.ping()


def test_a_guest_that_hangs_is_given_up_in_time(serve: Callable[..., str]) -> None:
    with Client(serve(mute, polite)) as client:
        begun = time.monotonic()
        with pytest.raises(Unanswered, match="in time"):
            client.ping(timeout=0.2)

        assert time.monotonic() - begun < client.timeout
        client.ping()


def test_an_answer_that_is_cut_off_is_no_answer(serve: Callable[..., str]) -> None:
    def cut(conn: socket.socket) -> None:
        whole = answer(request(conn)["id"], {"content": "x" * 5000})
        conn.sendall(whole[:2000])
        conn.close()

    with Client(serve(cut, polite)) as client:
        with pytest.raises(HungUp):
            client.read_file("x")

        client.ping()


def test_an_answer_that_comes_drop_by_drop_has_no_more_time_than_any(
    serve: Callable[..., str],
) -> None:
    def drip(conn: socket.socket) -> None:
        request(conn)
        while True:
            conn.sendall(b" ")
            time.sleep(0.02)  # its way of being slow

    with Client(serve(drip)) as client, pytest.raises(Unanswered):
        client.ping(timeout=0.3)


def test_a_guest_that_was_started_anew_is_met_again(serve: Callable[..., str]) -> None:
    def once(conn: socket.socket) -> None:
        conn.sendall(answer(request(conn)["id"]))
        conn.close()

    with Client(serve(once)) as client:
        for _ in range(3):
            client.ping()
            await_the_end_of(client)


def test_an_error_without_an_id_is_about_this_connection(serve: Callable[..., str]) -> None:
    def full(conn: socket.socket) -> None:
        request(conn)
        error = {"code": -32000, "message": "too many connections"}
        conn.sendall(json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode() + b"\n")
        conn.close()

    with Client(serve(full, polite)) as client:
        with pytest.raises(RemoteError, match="too many") as caught:
            client.ping()

        assert caught.value.code == -32000
        client.ping()


@pytest.mark.parametrize(
    "error", [None, 7, "no", {}, {"code": "x", "message": 3}, {"code": -32601, "message": "no"}]
)
def test_an_error_of_any_shape_is_an_error(serve: Callable[..., str], error: object) -> None:
    def refuse(conn: socket.socket) -> None:
        id_ = request(conn)["id"]
        conn.sendall(json.dumps({"jsonrpc": "2.0", "id": id_, "error": error}).encode() + b"\n")

    with Client(serve(refuse)) as client, pytest.raises(RemoteError):
        client.ping()


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.ping(),
        lambda client: client.exec("x"),
        lambda client: client.read_file("x"),
        lambda client: client.write_file("x", "y"),
        lambda client: client.list_dir("x"),
    ],
)
@pytest.mark.parametrize("result", [None, 1, [], {}, {"entries": [1]}, {"exit_code": "0"}])
def test_a_result_of_another_shape_is_refused(
    serve: Callable[..., str], ask: Callable[[Client], object], result: object
) -> None:
    def odd(conn: socket.socket) -> None:
        id_ = request(conn)["id"]
        conn.sendall(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}).encode() + b"\n")

    with Client(serve(odd)) as client, pytest.raises(RemoteError, match="something else"):
        ask(client)


def test_nobody_there_is_told_as_such(tmp_path: Path) -> None:
    with Client(str(tmp_path / "none.sock")) as client, pytest.raises(Unreachable) as caught:
        client.ping()

    assert not isinstance(caught.value, Unanswered)
    assert "none.sock" in caught.value.message


def test_the_token_is_said_first_on_each_connection_and_in_no_message(
    serve: Callable[..., str],
) -> None:
    heard: list[str] = []

    def strict(conn: socket.socket) -> None:
        asked = request(conn)
        heard.append(asked["method"])
        is_right = asked["params"] == {"token": "open sesame"}
        conn.sendall(answer(asked["id"], {"success": is_right}))
        heard.append(request(conn)["method"])
        conn.sendall(answer(asked["id"] + 1))
        conn.close()

    with Client(serve(strict), token="open sesame") as client:
        client.ping()
        await_the_end_of(client)
        client.ping()

    assert heard == ["auth", "ping"] * 2


def test_a_refused_token_is_an_error_that_does_not_tell_it(serve: Callable[..., str]) -> None:
    def refuse(conn: socket.socket) -> None:
        error = {"code": -32001, "message": "not authorised"}
        body = {"jsonrpc": "2.0", "id": request(conn)["id"], "error": error}
        conn.sendall(json.dumps(body).encode() + b"\n")

    with Client(serve(refuse), token="sesame") as client, pytest.raises(RemoteError) as caught:
        client.ping()

    assert "sesame" not in str(caught.value)


def test_a_port_is_asked_for_where_the_address_names_one(serve: Callable[..., str]) -> None:
    heard: list[bytes] = []

    def firecracker(conn: socket.socket) -> None:
        heard.append(conn.recv(100))
        conn.sendall(b"OK 1073741824\n")
        polite(conn)

    with Client(f"{serve(firecracker)}?connect=52") as client:
        client.ping()

    assert heard == [b"CONNECT 52\n"]


@pytest.mark.parametrize("said", [b"", b"NO\n", b"x" * 500])
def test_a_port_that_is_not_let_through_is_nobody_there(
    serve: Callable[..., str], said: bytes
) -> None:
    def firecracker(conn: socket.socket) -> None:
        conn.recv(100)
        conn.sendall(said)
        conn.close()

    with Client(f"{serve(firecracker)}?connect=52") as client, pytest.raises(Unreachable):
        client.ping()


def test_questions_of_several_threads_each_get_their_own_answer(serve: Callable[..., str]) -> None:
    def echo(conn: socket.socket) -> None:
        while True:
            asked = request(conn)
            conn.sendall(answer(asked["id"], {"content": asked["params"]["path"]}))

    found: dict[str, str] = {}
    with Client(serve(echo)) as client:

        def ask(name: str) -> None:
            found[name] = client.read_file(name)

        threads = [threading.Thread(target=ask, args=[str(number)]) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert found == {str(number): str(number) for number in range(20)}


@pytest.mark.parametrize("text", ["", "?connect=1", "x?connect=", "x?connect=-1", "vsock:x:1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        Address.read(text)


@pytest.mark.parametrize("text", ["/run/x.sock", "x?connect=52", "vsock:3:52"])
def test_an_address_is_read_and_said(text: str) -> None:
    assert str(Address.read(text)) == text
