"""The client and the real daemon."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guests.daemon import Daemon

from gascity.errors import HungUp, RemoteError, Unanswered, Unreachable
from gascity.guest import Client, copying
from gascity.guest.client import ExecResult, FileEntry


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path)
    made.start()
    yield made
    made.stop()


def test_every_method_has_its_typed_answer(guest: Daemon, tmp_path: Path) -> None:
    with Client(guest.socket) as client:
        client.ping()
        client.write_file("new/notes", "Zürich 東京 🏙\n\x00")

        assert client.read_file("new/notes") == "Zürich 東京 🏙\n\x00"
        assert client.list_dir("new") == (FileEntry("notes", is_dir=False, size=21),)
        assert client.exec("echo out; echo err >&2; exit 3") == ExecResult(3, "out\n", "err\n")
        assert client.exec_code("python", "print(6 * 7)").stdout == "42\n"
        assert client.exec_code("cobol", "").exit_code == -1
        with pytest.raises(RemoteError) as caught:
            client.read_file("none")
        assert caught.value.code == -32603
        client.ping()


def test_the_answer_to_a_question_that_was_given_up_is_never_another_one(
    guest: Daemon, tmp_path: Path
) -> None:
    with Client(guest.socket) as client:
        for number in range(5):
            with pytest.raises(Unanswered):
                client.exec(f"until [ -e go{number} ]; do sleep 0.01; done; echo late", timeout=0.1)
            (tmp_path / f"go{number}").touch()
            assert client.exec(f"echo {number}").stdout == f"{number}\n"


def test_a_daemon_that_is_killed_in_the_middle_is_told_and_met_again(guest: Daemon) -> None:
    with Client(guest.socket) as client:
        with pytest.raises(HungUp):
            client.exec("kill -9 $PPID; sleep 5")
        with pytest.raises(Unreachable):
            client.ping()
        guest.stop(signal.SIGKILL)
        guest.start()

        client.ping()


def test_a_port_is_let_through(guest: Daemon) -> None:
    with Client(f"{guest.socket}?connect=52") as client:
        client.ping()


def test_a_file_with_odd_bytes_and_an_odd_name_goes_there_and_back(
    guest: Daemon, tmp_path: Path
) -> None:
    data, back = os.urandom(500_000) + b"\0\n'", io.BytesIO()
    path = str(tmp_path / 'it\'s $HOME; "odd"\n')

    with Client(guest.socket) as client:
        sent = copying.send(client, io.BytesIO(data), path, mode=0o640)
        found = copying.fetch(client, path, back.write)

    assert back.getvalue() == data
    assert (sent, found) == (len(data), copying.Fetched(len(data), 0o640))


def test_a_copy_that_breaks_off_leaves_nothing(guest: Daemon, tmp_path: Path) -> None:
    class Broken(io.RawIOBase):
        count = 0

        def read(self, size: int = -1) -> bytes:
            self.count += 1
            if self.count > 2:
                raise OSError("the disk is gone")
            return b"x" * size

    with Client(guest.socket) as client, pytest.raises(OSError, match="the disk"):
        copying.send(client, Broken(), str(tmp_path / "there" / "file"))  # type: ignore[arg-type] # all that is read of it

    assert os.listdir(tmp_path / "there") == []
