from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from gascity import unixsocket


def exchange(path: str) -> bytes:
    """Listen, connect, and return what came through."""
    with unixsocket.listen(path) as server, unixsocket.connect(path, timeout=60) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"hello")
            return accepted.recv(100)


@pytest.mark.parametrize("length", [60, 99, 100, 101, 107, 108, 200, 1000, 3000])
def test_a_path_of_any_length_can_be_used(tmp_path: Path, length: int) -> None:
    folder = str(tmp_path)
    while len(folder) < length - 5:
        folder += "/" + "d" * min(200, max(1, length - 5 - len(folder) - 1))
    Path(folder).mkdir(parents=True, exist_ok=True)

    assert exchange(f"{folder}/sock") == b"hello"


def test_a_path_with_letters_of_several_bytes_can_be_used(tmp_path: Path) -> None:
    folder = tmp_path / ("東" * 40)
    folder.mkdir()

    assert exchange(str(folder / "sock")) == b"hello"


def test_a_relative_path_can_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d" * 120).mkdir()

    assert exchange("sock") == b"hello"
    assert exchange("d" * 120 + "/sock") == b"hello"


@pytest.mark.parametrize("folder", ["d", "d" * 120], ids=["short", "long"])
def test_only_this_user_can_reach_it(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "sock"
    path.parent.mkdir()
    mask = os.umask(0)
    try:
        with unixsocket.listen(str(path)):
            mode = stat.S_IMODE(path.stat().st_mode)
    finally:
        os.umask(mask)

    assert mode == 0o600


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")
    unixsocket.listen(path).close()

    assert exchange(path) == b"hello"


def test_nobody_listening_is_an_os_error(tmp_path: Path) -> None:
    stale = str(tmp_path / "stale")
    unixsocket.listen(stale).close()

    with pytest.raises(FileNotFoundError):
        unixsocket.connect(str(tmp_path / "missing"), timeout=60)
    with pytest.raises(FileNotFoundError):
        unixsocket.connect(str(tmp_path / ("d" * 120) / "missing"), timeout=60)
    with pytest.raises(ConnectionRefusedError):
        unixsocket.connect(stale, timeout=60)


def test_a_server_that_does_not_accept_cannot_hold_a_caller(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")
    waiting: list[socket.socket] = []

    with unixsocket.listen(path) as server:
        server.listen(0)
        try:
            waiting.append(unixsocket.connect(path, timeout=60))
            with pytest.raises((TimeoutError, BlockingIOError)):
                waiting.append(unixsocket.connect(path, timeout=0.2))
        finally:
            for each in waiting:
                each.close()


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    before = len(os.listdir("/proc/self/fd"))

    for _ in range(5):
        exchange(str(folder / "sock"))
        with pytest.raises(FileNotFoundError):
            unixsocket.connect(str(folder / "missing"), timeout=1)

    assert len(os.listdir("/proc/self/fd")) <= before  # others may have closed theirs


def test_listening_leaves_other_threads_their_file_modes(tmp_path: Path) -> None:
    """The umask belongs to the process: no other thread may make a file with the wrong mode."""
    ended = threading.Event()
    modes: set[int] = set()

    def make_files() -> None:
        number = 0
        while not ended.is_set():
            path = tmp_path / f"file-{number}"
            path.touch(mode=0o666)
            modes.add(stat.S_IMODE(path.stat().st_mode))
            path.unlink()
            number += 1

    mask = os.umask(0o022)
    other = threading.Thread(target=make_files)
    other.start()
    try:
        for _ in range(300):
            unixsocket.listen(str(tmp_path / "sock")).close()
    finally:
        ended.set()
        other.join()
        os.umask(mask)

    assert modes == {0o644}


def test_the_other_end_is_this_user(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")

    with unixsocket.listen(path) as server, unixsocket.connect(path, timeout=60) as client:
        accepted, _ = server.accept()
        with accepted:
            assert unixsocket.peer_is_me(accepted)
            assert unixsocket.peer_is_me(client)
