"""Who may connect, how many, and what is said first."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.integration.guest.daemon import (
    MODULE,
    TRANSPORTS,
    request,
    running,
)

from gascity.guest.execution import Executor
from gascity.guest.files import Files
from gascity.guest.methods import Methods
from gascity.guest.server import CannotServe, Server, listen_unix
from gascity.guest.talk import Rules
from gascity.testing.eventually import eventually

DENIED = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "not authorised"}}


def refused(*words: str) -> str:
    done = subprocess.run(
        [*MODULE, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def test_the_socket_is_for_this_user_alone(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        assert stat.S_IMODE(os.stat(daemon.path).st_mode) == 0o600


def test_one_connection_too_many_is_told_so(tmp_path: Path) -> None:
    with running(tmp_path, "--max-connections", "2") as daemon:
        first, _ = daemon.served(), daemon.served()

        third = daemon.connect()
        message = "too many connections, at most 2"
        assert third.answer() == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32000, "message": message},
        }
        assert third.line() == b""

        first.no_more()
        assert first.line() == b""
        daemon.served()


def said(path: str) -> bytes:
    """Return the first that is said to a new connection that asks whether somebody is there."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sock.sendall(request("ping"))
        return sock.recv(65536)
    return b""


def test_many_connections_are_answered_at_once(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        talks = [daemon.connect() for _ in range(40)]
        answers: dict[int, object] = {}

        def ask(number: int) -> None:
            for _ in range(5):
                answer = talks[number].ask("exec", [f"echo {number}"], number)
                answers[number] = (answer["id"], answer["result"]["stdout"])

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert answers == {number: (number, f"{number}\n") for number in range(40)}


def test_a_living_daemon_is_not_replaced(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        said = refused("--socket", daemon.path)

        assert said == f"error: somebody serves {daemon.path} already\n"
        assert daemon.connect().ask("ping")["result"]


def test_the_socket_of_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        daemon.process.kill()
        daemon.process.wait()
        assert os.path.exists(daemon.path)
    with running(tmp_path) as daemon:
        assert daemon.connect().ask("ping")["result"]


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")

    said = refused("--socket", str(tmp_path / "file"))

    assert said == f"error: {tmp_path}/file is there already, and is no socket\n"
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "one of --socket, --vsock and --stdio is needed"),
        (("--stdio", "--socket", "x"), "--stdio goes alone"),
        (("--stdio", "--workdir", "/nowhere"), "the working folder /nowhere is not there"),
        (("--stdio", "--root", "/nowhere"), "the root /nowhere is not there"),
        (("--stdio", "--root", "/proc", "--workdir", "/dev"), "/dev is not in the root"),
        (("--stdio", "--token-file", "/nowhere"), "cannot read the token in /nowhere: No such"),
        (("--stdio", "--token-file", "/dev/null"), "there is no token in /dev/null"),
        (("--socket", "/nowhere/sock"), "cannot listen on /nowhere/sock: No such file"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_sentence(words: tuple[str, ...], said: str) -> None:
    told = refused(*words)

    assert said in told
    assert told.startswith("error: ")
    assert told.count("\n") == 1


def test_a_vsock_is_served_or_a_sentence_says_why_not(tmp_path: Path) -> None:
    words = [*MODULE, "--vsock", "52525", "--socket", str(tmp_path / "sock")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: process.poll() is not None or (tmp_path / "sock").exists())
        eventually(lambda: process.poll() is not None or b"pong" in said(str(tmp_path / "sock")))
        if process.poll() is None:
            process.terminate()
            assert process.wait(30) == 0
            return
        assert process.stderr is not None
        told = process.stderr.read()

    assert told.startswith(("error: this kernel has no vsock", "error: cannot listen on vsock"))
    assert not (tmp_path / "sock").exists()


@pytest.mark.parametrize(
    ("first", "answer"),
    [
        (b"CONNECT 52\n", b"OK 52\n"),
        (b"CONNECT 1024\r\n", b"OK 1024\n"),
        (b"CONNECT x\n", b"OK 52\n"),
        (b"CONNECT " + b"9" * 5000 + b"\n", b"OK 52\n"),
    ],
)
def test_a_virtual_machine_monitor_may_connect_through_the_socket(
    first: bytes, answer: bytes, tmp_path: Path
) -> None:
    with running(tmp_path) as daemon:
        talk = daemon.connect()
        talk.send(first)

        assert talk.line() == answer
        assert talk.ask("ping")["result"] == {"pong": True}
        talk.send(first)
        assert talk.answer()["error"]["code"] == -32700


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_nothing_is_done_for_who_has_not_said_the_token(transport: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("open sesame\n")
    words = ("--token-file", str(tmp_path / "token"), "--workdir", str(tmp_path))
    with running(tmp_path, *words, transport=transport) as daemon:
        talk = daemon.connect()

        assert talk.ask("ping") == DENIED
        assert talk.ask("exec", ["touch executed"]) == DENIED
        assert talk.ask("unknown") == DENIED
        assert talk.ask("auth", {"token": "wrong"}) == DENIED
        assert talk.ask("auth", {"token": "open sesame"})["result"] == {"success": True}
        assert talk.ask("ping")["result"] == {"pong": True}
        assert not (tmp_path / "executed").exists()
        assert "sesame" not in daemon.complaints
        assert "wrong\n" not in daemon.complaints


def test_the_token_of_one_connection_is_not_that_of_another(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("open sesame")
    with running(tmp_path, "--token-file", str(tmp_path / "token")) as daemon:
        assert daemon.connect().ask("auth", ["open sesame"])["result"]
        assert daemon.connect().ask("ping") == DENIED


def test_who_says_three_wrong_tokens_is_hung_up_on(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("open sesame")
    with running(tmp_path, "--token-file", str(tmp_path / "token")) as daemon:
        talk = daemon.connect()
        for wrong in ("", "open", "öpen"):
            assert talk.ask("auth", [wrong]) == DENIED

        assert talk.line() == b""


def test_who_never_says_the_token_is_hung_up_on(tmp_path: Path) -> None:
    executor = Executor(str(tmp_path), timeout=60, most=1000)
    methods = Methods(executor, Files(str(tmp_path), root=None, most=1000))
    server = Server(Rules(methods, b"open sesame"), executor, most=1, patience=0.2)
    path = str(tmp_path / "s")
    listener = listen_unix(path)
    thread = threading.Thread(target=server.serve, args=[[listener]])
    thread.start()
    with listener, socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(60)
        silent.connect(path)
        assert silent.recv(1) == b""
        server.stop()
        thread.join()


def test_a_daemon_without_a_token_takes_any(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        assert daemon.connect().ask("auth", ["any"])["result"] == {"success": True}


def test_nothing_that_is_asked_is_written_to_the_log(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        talk = daemon.connect()
        talk.ask("exec", ["echo pineapple; exit 3"])
        talk.ask("write_file", ["/nowhere/\0", "pineapple"])
        talk.send(b"pineapple\n")
        talk.answer()

        assert "pineapple" not in daemon.complaints


def test_who_writes_on_after_a_line_that_is_too_long_can_read_that_it_was(tmp_path: Path) -> None:
    with running(tmp_path, "--max-line", "1000") as daemon:
        talk = daemon.connect()
        for _ in range(100):
            talk.send(b"x" * 100_000)

        assert talk.answer()["error"]["message"] == "the line is longer than 1000 bytes"
        assert talk.line() == b""


def test_a_signal_ends_a_daemon_that_waits_for_its_input(tmp_path: Path) -> None:
    with running(tmp_path, transport="stdio") as daemon:
        assert daemon.connect().ask("ping")["result"]

        daemon.process.terminate()

        assert daemon.process.wait(30) == 0
        assert daemon.complaints == ""


def test_a_daemon_that_has_no_descriptor_left_goes_on_when_it_has(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -n 24; exec "$@"', "sh", *MODULE, "--socket"]
    path, log = str(tmp_path / "sock"), tmp_path / "log"
    with log.open("wb") as stderr, subprocess.Popen([*limited, path], stderr=stderr) as process:
        try:
            eventually(lambda: os.path.exists(path))
            crowd = [socket.socket(socket.AF_UNIX) for _ in range(40)]
            eventually(lambda: all(reaches(sock, path) for sock in crowd))
            eventually(lambda: "not be accepted: Too many open files" in log.read_text())
            for sock in crowd:
                sock.close()

            eventually(lambda: b"pong" in said(path))
        finally:
            process.terminate()
        assert process.wait(30) == 0


def reaches(sock: socket.socket, path: str) -> bool:
    return sock.connect_ex(path) in (0, errno.EISCONN)


def test_a_long_path_of_a_socket_is_no_hindrance(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    words = [*MODULE, "--socket", str(deep / "sock")]
    with subprocess.Popen(words) as process:
        eventually((deep / "sock").exists)
        process.terminate()
        assert process.wait(30) == 0
    assert not (deep / "sock").exists()


def test_complaints_that_nobody_reads_hold_nobody_up(tmp_path: Path) -> None:
    path = str(tmp_path / "sock")
    words = [*MODULE, "--socket", path, "--max-connections", "1"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        try:
            eventually(lambda: os.path.exists(path))
            with socket.socket(socket.AF_UNIX) as first:
                eventually(lambda: reaches(first, path))
                first.sendall(request("ping"))
                assert b"pong" in first.recv(65536)
                for _ in range(200):
                    with socket.socket(socket.AF_UNIX) as other:
                        other.settimeout(60)
                        other.connect(path)
                        assert b"too many connections" in other.recv(65536)
        finally:
            process.terminate()
            assert process.wait(60) == 0


def test_of_many_daemons_that_begin_at_once_one_serves(tmp_path: Path) -> None:
    for number in range(20):
        path = str(tmp_path / f"sock{number}")
        begin = threading.Barrier(6)
        serving: list[socket.socket] = []

        def serve(path: str, begin: threading.Barrier, serving: list[socket.socket]) -> None:
            begin.wait()
            with suppress(CannotServe):
                serving.append(listen_unix(path))

        threads = [
            threading.Thread(target=serve, args=(path, begin, serving))
            for _ in range(begin.parties)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        for sock in serving:
            sock.close()
        assert len(serving) == 1


def test_who_has_not_said_the_token_cannot_have_much_kept(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("open sesame")
    with running(tmp_path, "--token-file", str(tmp_path / "token")) as daemon:
        stranger = daemon.connect()
        stranger.send(request("ping", ["x" * 65_536]))
        friend = daemon.connect()
        friend.send(request("auth", ["open sesame"]) + request("ping", ["x" * 5_000_000]))

        assert stranger.answer()["error"]["message"] == "the line is longer than 65536 bytes"
        assert stranger.line() == b""
        assert friend.answer()["result"] == {"success": True}
        assert friend.answer()["result"] == {"pong": True}


def test_a_daemon_that_stops_leaves_no_half_of_a_file(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path, "--workdir", str(work)) as daemon:
        talks = [daemon.connect() for _ in range(4)]

        def write(number: int) -> None:
            asked = request("write_file", [f"f{number}", "x" * 3_000_000])
            with suppress(OSError):
                for _ in range(200):
                    talks[number].send(asked)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(list(work.glob("f*"))) == 4, within=60)
        daemon.process.terminate()

        assert daemon.process.wait(60) == 0
        for thread in threads:
            thread.join()
        assert sorted(os.listdir(work)) == ["f0", "f1", "f2", "f3"]


def test_a_token_that_nobody_can_say_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"caf\xe9")

    told = refused("--stdio", "--token-file", str(tmp_path / "token"))

    assert told == f"error: the token in {tmp_path}/token is no UTF-8: nobody could say it\n"


def test_a_daemon_in_a_folder_that_went_away_says_so(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$0"; exec "$@"', gone, *MODULE, "--stdio"],
        cwd=gone,
        input=b"",
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr
