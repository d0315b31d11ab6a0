"""Asking a controller that ends while it is asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gascity import jsonrpc, unixsocket
from gascity.cli.ask import PING_TIMEOUT, ask_controller
from gascity.errors import HungUp, NotRunning

LONG = PING_TIMEOUT + 1  # what may take this long is asked after a ping


class Controllers:
    """One controller after the other on one socket, as many as there are counts.

    Each reads so many questions, answers the pings among them and, if it is the `good` one, the
    rest; then it ends. Nobody listens any more when the last one hangs up.
    """

    def __init__(self, state: Path, *counts: int, good: int | None = None) -> None:
        self.heard: list[str] = []
        self._counts, self._good = counts, good
        self._server = unixsocket.listen(str(state / "controller.sock"))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _serve(self) -> None:
        for number, count in enumerate(self._counts):
            connection, _ = self._server.accept()
            if number == len(self._counts) - 1:
                self._server.close()
            with connection:
                connection.recv(1, socket.MSG_PEEK)  # the question is there
                for _ in range(count):
                    self._hear(connection, answers=number == self._good)

    def _hear(self, connection: socket.socket, *, answers: bool) -> None:
        request = jsonrpc.read_request(connection.recv(65536))
        assert isinstance(request, jsonrpc.Request)
        self.heard.append(request.method)
        if answers or request.method == "ping":
            connection.sendall(jsonrpc.result(request.id, "here"))


Make = Callable[..., Controllers]


@pytest.fixture
def controllers(tmp_path: Path) -> Iterator[Make]:
    made: list[Controllers] = []

    def make(*counts: int, good: int | None = None) -> Controllers:
        made.append(Controllers(tmp_path, *counts, good=good))
        return made[-1]

    yield make
    for one in made:
        one.join()


def test_for_who_only_reads_one_that_ended_is_none(controllers: Make, tmp_path: Path) -> None:
    ended = controllers(1)

    with pytest.raises(NotRunning, match="no controller runs"):
        ask_controller(str(tmp_path), "drain_check", {}, timeout=5)

    assert ended.heard == ["drain_check"]


def test_who_only_reads_asks_the_one_that_comes_after(controllers: Make, tmp_path: Path) -> None:
    controllers(1, 1, good=1)

    assert ask_controller(str(tmp_path), "status", {}, timeout=5) == "here"


def test_what_one_that_ended_was_asked_to_change_is_asked_once(
    controllers: Make, tmp_path: Path
) -> None:
    ended = controllers(2)

    with pytest.raises(HungUp, match="ended before it answered") as problem:
        ask_controller(str(tmp_path), "restart", {}, timeout=LONG)

    assert "may have been done" in problem.value.hint
    assert ended.heard == ["ping", "restart"]


@pytest.mark.parametrize("timeout", [5.0, LONG])
def test_what_nobody_read_was_not_asked(controllers: Make, tmp_path: Path, timeout: float) -> None:
    ended = controllers(0)

    with pytest.raises(NotRunning, match="no controller runs"):
        ask_controller(str(tmp_path), "drain", {}, timeout=timeout)

    assert ended.heard == []


def test_what_nobody_read_is_asked_of_the_one_that_comes_after(
    controllers: Make, tmp_path: Path
) -> None:
    after = controllers(0, 2, good=1)

    assert ask_controller(str(tmp_path), "drain", {}, timeout=LONG) == "here"
    assert after.heard == ["ping", "drain"]


def test_one_after_the_other_that_ends_is_told_as_such(controllers: Make, tmp_path: Path) -> None:
    controllers(0, 0)

    with pytest.raises(HungUp, match="ended before it answered"):
        ask_controller(str(tmp_path), "drain", {}, timeout=5)
