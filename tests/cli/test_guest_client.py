"""Asking a guest by hand, over a real daemon."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import GC, Inside
from tests.guests.daemon import Daemon

from gascity.cli.guest_client import complete_methods


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    folder = tmp_path / "guest"
    folder.mkdir()
    made = Daemon(folder)
    made.start()
    monkeypatch.setenv("GC_GUEST_SOCKET", made.socket)
    yield made
    made.stop()


def test_a_method_is_asked_and_its_result_printed_as_json(guest: Daemon, outside: Inside) -> None:
    said = outside("guest", "call", "exec", '{"cmd": "echo hi; exit 3"}')

    assert said.returncode == 0
    assert json.loads(said.stdout) == {"exit_code": 3, "stdout": "hi\n", "stderr": ""}
    assert json.loads(outside("guest", "call", "exec", '["true"]').stdout)["exit_code"] == 0


def test_an_error_of_the_guest_says_its_number(guest: Daemon, outside: Inside) -> None:
    said = outside("guest", "call", "frobnicate")

    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "error: the guest says -32601: method not found: frobnicate\n"


@pytest.mark.parametrize("text", ["{", "3", '"x"', "null", ""])
def test_parameters_that_are_none_are_refused(guest: Daemon, outside: Inside, text: str) -> None:
    said = outside("guest", "call", "ping", text)

    assert said.returncode == 2
    assert "no JSON object" in said.stderr


def test_a_command_has_its_streams_and_its_exit_code(guest: Daemon) -> None:
    done = subprocess.run(
        [
            GC,
            "guest",
            "exec",
            "--",
            "sh",
            "-c",
            'echo "out $1"; echo err >&2; exit 42',
            "x",
            "a  b",
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (42, "out a  b\n", "err\n")


def test_a_command_that_is_killed_ends_like_in_a_shell(guest: Daemon, outside: Inside) -> None:
    assert outside("guest", "exec", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_a_command_as_json_keeps_its_exit_code(guest: Daemon, outside: Inside) -> None:
    said = outside("guest", "exec", "--json", "--", "false")

    assert said.returncode == 1
    assert json.loads(said.stdout) == {"exit_code": 1, "stdout": "", "stderr": ""}


def test_what_the_guest_cannot_run_ends_with_126(guest: Daemon, outside: Inside) -> None:
    said = outside("guest", "exec", "--", "echo", "x" * 200_000)

    assert said.returncode == 126
    assert "could not run echo" in said.stderr


def test_nothing_to_run_is_refused(guest: Daemon, outside: Inside) -> None:
    assert outside("guest", "exec").returncode == 2


def test_an_answer_that_does_not_come_ends_with_124(guest: Daemon, outside: Inside) -> None:
    with guest.frozen():
        said = outside("guest", "call", "ping", "--timeout", "300ms")

    assert said.returncode == 124
    assert "in time" in said.stderr


def test_nobody_there_ends_with_5(outside: Inside, tmp_path: Path) -> None:
    said = outside("guest", "call", "ping", "--socket", str(tmp_path / "none"))

    assert said.returncode == 5
    assert "cannot be reached" in said.stderr


def test_nobody_says_where(outside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GC_GUEST_SOCKET", raising=False)
    said = outside("guest", "call", "ping")

    assert said.returncode == 2
    assert "nobody says where the guest answers" in said.stderr


@pytest.mark.parametrize("size", [0, 1, 72 * 1024, 72 * 1024 + 1, 1_000_003])
def test_a_file_goes_there_and_back_with_its_mode(
    guest: Daemon, outside: Inside, tmp_path: Path, size: int
) -> None:
    source, back = tmp_path / "it's a source", tmp_path / "back"
    source.write_bytes(os.urandom(size))
    source.chmod(0o751)

    there = outside("guest", "cp", str(source), "guest:new/folder/")
    again = outside("guest", "cp", "--json", f"guest:new/folder/{source.name}", str(back))

    assert (there.returncode, there.stderr) == (0, "")
    assert json.loads(again.stdout)["bytes"] == size
    assert back.read_bytes() == source.read_bytes()
    assert stat.S_IMODE(back.stat().st_mode) == 0o751
    assert os.listdir(tmp_path / "guest" / "new" / "folder") == [source.name]


def test_a_file_that_is_replaced_is_replaced_as_a_whole(
    guest: Daemon, outside: Inside, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_text("new")
    target = tmp_path / "guest" / "target"
    target.write_text("old and longer")
    held = target.open()

    outside("guest", "cp", str(source), "guest:target")

    assert target.read_text() == "new"
    with held:
        assert held.read() == "old and longer"


@pytest.mark.parametrize(
    ("source", "target", "code", "word"),
    [
        ("a", "b", 2, "one side"),
        ("guest:a", "guest:b", 2, "one side"),
        ("guest:", "b", 2, "needs a path"),
        ("none", "guest:x", 4, "no file none"),
        (".", "guest:x", 2, "is a folder"),
        ("guest:none", "x", 1, "no file"),
        ("guest:.", "x", 1, "no file"),
        ("guest:/dev/null", "x", 1, "no file"),
        ("guest:-n", "x", 1, "no file"),
        ("guest:/etc/hostname", "no/such/x", 4, "no folder"),
        ("here", "guest:/proc/no/x", 1, "-32000"),
    ],
)
def test_what_cannot_be_copied_is_told_and_leaves_nothing(
    guest: Daemon,
    outside: Inside,
    tmp_path: Path,
    source: str,
    target: str,
    code: int,
    word: str,
) -> None:
    (tmp_path / "here").write_text("x")
    before = sorted(os.listdir(tmp_path))

    said = outside("guest", "cp", source, target)

    assert (said.returncode, said.stdout) == (code, "")
    assert word in said.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_what_is_no_regular_file_is_not_sent(
    guest: Daemon, outside: Inside, tmp_path: Path
) -> None:
    said = outside("guest", "cp", "/dev/null", "guest:x")

    assert said.returncode == 2
    assert "no regular file" in said.stderr


def test_a_token_is_read_from_a_file(tmp_path: Path, outside: Inside) -> None:
    token = tmp_path / "token"
    token.write_text("sesame\n")
    guest = Daemon(tmp_path, "--token-file", str(token))
    guest.start()
    try:
        words = ("guest", "call", "ping", "--socket", guest.socket)
        assert outside(*words).returncode == 1
        assert outside(*words, "--token-file", str(token)).returncode == 0
        assert outside(*words, "--token-file", str(tmp_path / "none")).returncode == 2
    finally:
        guest.stop()


def test_methods_are_completed() -> None:
    assert complete_methods("exec") == ["exec", "exec_code"]


def test_something_else_on_the_socket_is_told(tmp_path: Path, outside: Inside) -> None:
    path = str(tmp_path / "odd.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        said = outside("guest", "call", "ping", "--socket", path, "--timeout", "300ms")

    assert said.returncode == 124


def test_what_is_no_regular_file_is_not_replaced_on_either_side(
    guest: Daemon, outside: Inside, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    os.mkfifo(here)
    os.mkfifo(there)
    source = tmp_path / "source"
    source.write_text("x")

    back = outside("guest", "cp", f"guest:{source}", str(here))
    into = outside("guest", "cp", str(source), f"guest:{there}")

    assert (back.returncode, into.returncode) == (2, 1)
    assert "no regular file" in back.stderr
    assert "no regular file" in into.stderr
    assert stat.S_ISFIFO(here.stat().st_mode)
    assert stat.S_ISFIFO(there.stat().st_mode)
    assert not list(tmp_path.glob(".gc-part-*"))


def test_a_file_that_tells_no_size_is_not_copied_as_an_empty_one(
    guest: Daemon, outside: Inside, tmp_path: Path
) -> None:
    said = outside("guest", "cp", "guest:/proc/version", str(tmp_path / "version"))

    assert said.returncode == 1
    assert "another size than it tells" in said.stderr
    assert not (tmp_path / "version").exists()
