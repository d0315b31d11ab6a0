"""What the daemon answers to what, in one table, over both transports."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.integration.guest.daemon import (
    TRANSPORTS,
    Answer,
    Conversation,
    Daemon,
    request,
    running,
)

from gascity.testing.eventually import eventually

MIB = 1024 * 1024
CUT = "\n... [output truncated]"
U64 = 2**64 - 1

Expected = dict[str, Any] | Callable[[Answer], bool]


@dataclass(frozen=True)
class Row:
    """One input: what is sent, and what each line of the answer holds."""

    number: int
    title: str
    sent: bytes
    answers: tuple[Expected, ...]
    words: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)


def result(id_: int = 1, **fields: object) -> Expected:
    return {"jsonrpc": "2.0", "id": id_, "result": fields}


def ran(exit_code: int = 0, stdout: str = "", stderr: str = "", id_: int = 1) -> Expected:
    return result(id_, exit_code=exit_code, stdout=stdout, stderr=stderr)


def error(code: int, message: str, id_: int | None = 1) -> Expected:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def refused(code: int, id_: int | None = 1) -> Expected:
    """An error, whatever its words."""

    def holds(answer: Answer) -> bool:
        said = answer["error"].pop("message")
        return bool(said) and answer == {"jsonrpc": "2.0", "id": id_, "error": {"code": code}}

    return holds


def timed_out(answer: Answer) -> bool:
    """It was ended, whether it had time to say something or not."""
    found = answer["result"]
    said = {"b\nended after 1 s, the limit\n", "ended after 1 s, the limit\n"}
    return found["exit_code"] == 124 and found["stdout"] in {"", "a\n"} and found["stderr"] in said


def fails_to(what: str, path: str, why: str) -> Expected:
    return error(-32603, f"failed to {what} '{path}': {why}")


def raw(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def shell(command: str) -> bytes:
    return request("exec", {"cmd": command})


def code(language: str, text: str) -> bytes:
    return request("exec_code", {"lang": language, "code": text})


def path(method: str, name: str, **more: str) -> bytes:
    return request(method, {"path": name, **more})


def entry(name: str, size: int = 0, *, is_dir: bool = False) -> dict[str, object]:
    return {"name": name, "is_dir": is_dir, "size": size}


NOT_THERE = "No such file or directory (os error 2)"
NO_JSON = error(-32700, "this line is not JSON", None)
BAD_ID = error(-32600, "id must be a whole number from 0 to 2^64-1", None)
BAD_IDS: tuple[object, ...] = (None, "1", -1, 1.5, U64 + 1, 10**4000, True, [])
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
PONG = result(pong=True)
MISSING = error(-32602, "invalid params: missing field `cmd`")
LONG = f"{'é' * 150} and more"  # byte 200 of the request is inside a character

TABLE = (
    Row(1, "ping", request("ping", {"ignored": 1}), (PONG,)),
    Row(2, "exec", shell("echo hi; cat"), (ran(0, "hi\n"),)),
    Row(3, "exit code", shell("exit 42"), (ran(42),)),
    Row(4, "stderr", shell("echo o; echo e >&2"), (ran(0, "o\n", "e\n"),)),
    Row(5, "not found", shell("no-such-cmd 2>/dev/null"), (ran(127),)),
    Row(6, "signal", shell("kill -9 $$") + shell("kill $$"), (ran(137), ran(143))),
    Row(7, "nul", shell("a\0b"), (ran(-1, "", "nul byte found in provided data"),)),
    Row(
        7,
        "too long",
        shell("#" * 200_000) + code("sh", "#" * 200_000),
        (
            ran(-1, "", "Argument list too long (os error 7)"),
            ran(-1, "", "failed to execute sh: Argument list too long (os error 7)"),
        ),
    ),
    Row(
        8,
        "languages",
        b"".join(code(name, "print(6*7)") for name in ("python", "python3", "PYTHON"))
        + b"".join(code(name, "6*7") for name in ("node", "javascript", "js", "JavaScript"))
        + b"".join(code(name, "echo $((6*7))") for name in ("bash", "sh", "Bash")),
        (ran(0, "42\n"),) * 3 + (ran(0, "-e 6*7\n"),) * 4 + (ran(0, "42\n"),) * 3,
    ),
    Row(9, "no language", code("COBOL", "x"), (ran(-1, "", "unsupported language: COBOL"),)),
    Row(
        10,
        "no interpreter",
        code("js", "1"),
        (ran(-1, "", f"failed to execute node: {NOT_THERE}"),),
        env={"PATH": "/nowhere"},
    ),
    Row(
        11,
        "cut",
        shell(f"head -c {MIB} /dev/zero | tr '\\0' x") + shell(f"yes | head -c {MIB + 1}"),
        (ran(0, "x" * MIB), ran(0, "y\n" * (MIB // 2) + CUT)),
    ),
    Row(
        12,
        "cut inside a character",
        code("python", f"print('x' + 'é' * {MIB // 2}, end='')"),
        (ran(0, "x" + "é" * (MIB // 2 - 1) + CUT),),
        env={"PYTHONUTF8": "1"},
    ),
    Row(
        13,
        "no text",
        shell(r"printf 'a\377b\303'") + shell(f"head -c {MIB} /dev/zero | tr '\\0' '\\377'"),
        (ran(0, "a\ufffdb\ufffd"), ran(0, "\ufffd" * (MIB // 3) + CUT)),
    ),
    Row(14, "grandchild", shell("sleep 30 & echo hi; echo $! > pid"), (ran(0, "hi\n"),)),
    Row(
        15,
        "time limit",
        shell("echo a; echo b >&2; sleep 60; echo c"),
        (timed_out,),
        words=("--timeout", "1"),
    ),
    Row(16, "read", path("read_file", "f.txt"), (result(content="héllo\n"),)),
    Row(17, "missing", path("read_file", "no"), (fails_to("stat", "no", NOT_THERE),)),
    Row(
        18,
        "folder",
        path("read_file", "sub"),
        (fails_to("read", "sub", "Is a directory (os error 21)"),),
    ),
    Row(
        19,
        "no UTF-8",
        path("read_file", "bin"),
        (fails_to("read", "bin", "stream did not contain valid UTF-8"),),
    ),
    Row(
        20,
        "large",
        path("read_file", "big"),
        (error(-32603, f"file 'big' is too large ({10 * MIB + 1} bytes, max {10 * MIB} bytes)"),),
    ),
    Row(
        21,
        "no regular file",
        path("read_file", "/dev/zero") + path("read_file", "fifo") + path("read_file", "sock"),
        tuple(
            fails_to("read", name, "not a regular file") for name in ("/dev/zero", "fifo", "sock")
        ),
    ),
    Row(
        21,
        "size 0, and yet there is something",
        path("read_file", "/proc/self/comm"),
        (lambda answer: answer["result"]["content"].endswith("\n"),),
    ),
    Row(
        22,
        "write",
        path("write_file", "a/b/c.txt", content="é\n") + path("read_file", "a/b/c.txt"),
        (result(success=True), result(content="é\n")),
    ),
    Row(
        23,
        "cannot write",
        path("write_file", "sub", content="")
        + path("write_file", "new/", content="")
        + path("write_file", "f.txt/x/y", content="")
        + path("write_file", "fifo", content=""),
        (
            fails_to("write", "sub", "Is a directory (os error 21)"),
            fails_to("write", "new/", "Is a directory (os error 21)"),
            fails_to("create directories for", "f.txt/x/y", "Not a directory (os error 20)"),
            fails_to("write", "fifo", "not a regular file"),
        ),
    ),
    Row(
        24,
        "list",
        path("list_dir", "sub"),
        (
            result(
                entries=[
                    entry(".hidden", 1),
                    entry("Z", 3),
                    entry("a", is_dir=True),
                    entry("link"),
                    entry("é", 0),
                    entry("\ufffd", 0),
                ]
            ),
        ),
    ),
    Row(
        25,
        "cannot list",
        path("list_dir", "no") + path("list_dir", "f.txt"),
        (
            fails_to("read directory", "no", NOT_THERE),
            fails_to("read directory", "f.txt", "Not a directory (os error 20)"),
        ),
    ),
    Row(
        26,
        "relative",
        path("read_file", "./sub/../f.txt") + shell("cat f.txt"),
        (result(content="héllo\n"), ran(0, "héllo\n")),
    ),
    Row(
        27,
        "no method",
        request("unknown", {}) + request("", []) + request("\ud800"),
        tuple(error(-32601, f"method not found: {name}") for name in ("unknown", "", "\ud800")),
    ),
    Row(
        28,
        "bad params",
        request("exec", {})
        + request("exec", {"cmd": 1})
        + request("exec_code", {"lang": "sh"})
        + request("read_file", {"path": None})
        + request("write_file", {"path": "x"})
        + request("exec", {"cmd": "\ud800"}),
        (
            MISSING,
            error(-32602, "invalid params: `cmd` must be a string"),
            error(-32602, "invalid params: missing field `code`"),
            error(-32602, "invalid params: `path` must be a string"),
            error(-32602, "invalid params: missing field `content`"),
            error(-32602, "invalid params: `cmd` is not valid Unicode"),
        ),
    ),
    Row(29, "extra params", request("exec", {"cmd": "echo 1", "x": 2}), (ran(0, "1\n"),)),
    Row(30, "no params", request("ping") + request("exec"), (PONG, MISSING)),
    Row(
        31,
        "array",
        request("exec", ["echo 1"])
        + request("exec_code", ["sh", "echo 2", "more"])
        + request("exec", [])
        + request("ping", []),
        (ran(0, "1\n"), ran(0, "2\n"), MISSING, PONG),
    ),
    Row(
        32,
        "scalar",
        b"".join(raw(**PING, params=value) for value in (3, "x", True, None)),
        (error(-32602, "params must be an object or an array"),) * 4,
    ),
    Row(
        33,
        "no JSON",
        b"nonsense\n{\n" + b'{"jsonrpc":"2.0","id":1,"method":"ping"\n' + b"NaN\n",
        (NO_JSON,) * 4,
    ),
    Row(34, "no object", b'1\n"x"\nnull\ntrue\n', (refused(-32600, None),) * 4),
    Row(
        35,
        "no version",
        raw(id=7, method="ping") + raw(id="x", method="ping"),
        (error(-32600, 'jsonrpc must be "2.0"', 7), BAD_ID),
    ),
    Row(
        36,
        "other version",
        raw(jsonrpc="1.0", id=7, method="ping") + raw(jsonrpc=2.0, id=7, method="ping"),
        (error(-32600, 'jsonrpc must be "2.0"', 7),) * 2,
    ),
    Row(
        37,
        "no id",
        raw(jsonrpc="2.0", method="exec", params={"cmd": "touch executed"}),
        (error(-32600, "id is missing", None),),
    ),
    Row(
        38,
        "bad id",
        b"".join(request("ping", {}, id_) for id_ in BAD_IDS)
        + b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % (b"9" * 5_000_000),
        (BAD_ID,) * (len(BAD_IDS) + 1),
    ),
    Row(
        39,
        "extreme id",
        b"".join(request("ping", {}, id_) for id_ in (0, 2**53 + 1, U64)),
        tuple(result(id_, pong=True) for id_ in (0, 2**53 + 1, U64)),
    ),
    Row(
        40,
        "no method",
        raw(jsonrpc="2.0", id=5) + raw(jsonrpc="2.0", id=5, method=3),
        (error(-32600, "method must be a string", 5),) * 2,
    ),
    Row(
        41,
        "batch",
        json.dumps([PING]).encode()
        + b"\n[]\n"
        + json.dumps(["2.0", 1, "ping", {}]).encode()
        + b"\n",
        (error(-32600, "a request is an object", None),) * 3,
    ),
    Row(
        42,
        "twice",
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"exec","method":"ping"}\n',
        (result(2, pong=True),),
    ),
    Row(43, "blank", b"\n  \n\r\n" + json.dumps(PING).encode() + b"\r\n", (PONG,)),
    Row(44, "no UTF-8", b'{"a":"\xff"}\n' + request("ping"), (NO_JSON, PONG)),
    Row(
        45,
        "several at once",
        b"".join(request("exec", [f"echo {id_}"], id_) for id_ in range(5)),
        tuple(ran(0, f"{id_}\n", id_=id_) for id_ in range(5)),
    ),
    Row(49, "inside a character", request(LONG), (error(-32601, f"method not found: {LONG}"),)),
    Row(
        50,
        "no data",
        request("unknown"),
        (lambda answer: set(answer["error"]) == {"code", "message"},),
    ),
    Row(
        51,
        "either",
        request("unknown") + request("ping"),
        (
            lambda answer: "result" not in answer and "error" in answer,
            lambda answer: "result" in answer and "error" not in answer,
        ),
    ),
)
"""Rows 46, 47, 48 and 52 are about conversations: they stand below."""

EVERY_ROW = set(range(1, 53)) - {46, 47, 48, 52}


def test_the_table_has_every_row() -> None:
    assert {row.number for row in TABLE} == EVERY_ROW


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder with all that the table names."""
    work = tmp_path / "work"
    (work / "sub" / "a").mkdir(parents=True)
    (work / "f.txt").write_text("héllo\n", "utf-8")
    (work / "bin").write_bytes(b"\xff\xfe")
    with (work / "big").open("wb") as file:
        file.truncate(10 * MIB + 1)
    os.mkfifo(work / "fifo")
    os.mknod(work / "sock", 0o140600)
    (work / "sub" / ".hidden").write_text("h")
    (work / "sub" / "Z").write_text("zzz")
    (work / "sub" / "link").symlink_to("a")
    (work / "sub" / "é").touch()
    Path(os.fsdecode(os.fsencode(work / "sub") + b"/\xff")).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "node").write_text('#!/bin/sh\necho "$@"\n')
    (tools / "node").chmod(0o755)
    (tools / "python3").symlink_to(shutil.which("python3") or sys.executable)
    return work


def daemon_words(row: Row, place: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    tools = place.parent / "tools"
    return ("--workdir", str(place), *row.words), {
        "PATH": f"{tools}:{os.environ['PATH']}",
        **row.env,
    }


def check(answer: Answer, expected: Expected) -> None:
    if callable(expected):
        assert expected(answer), answer
    else:
        assert answer == expected


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.number} {row.title}")
def test_every_input_has_its_answer(row: Row, transport: str, place: Path, tmp_path: Path) -> None:
    words, env = daemon_words(row, place)
    with running(tmp_path / "home", *words, transport=transport, env=env) as daemon:
        talk = daemon.connect()
        talk.send(row.sent)
        for expected in row.answers:
            check(talk.answer(), expected)
        talk.no_more()

        assert talk.line() == b""
        assert not (place / "executed").exists()
        end_the_sleeper(place)


def end_the_sleeper(place: Path) -> None:
    """End the grandchild of row 14, which is alive: nobody has hurt it."""
    if (place / "pid").exists():
        os.kill(int((place / "pid").read_text()), 9)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_46_a_second_conversation_is_served_while_the_first_is_busy(
    transport: str, place: Path, tmp_path: Path
) -> None:
    with running(tmp_path / "home", "--workdir", str(place), transport=transport) as daemon:
        first, second = daemon.connect(), daemon.connect()
        first.send(shell("cat fifo"))

        assert second.ask("ping")["result"] == {"pong": True}
        (place / "fifo").write_text("at last")
        assert first.answer()["result"]["stdout"] == "at last"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("end", [b"", b"\n"], ids=["endless", "ended"])
def test_47_a_line_that_is_too_long_is_refused_and_the_conversation_ends(
    transport: str, end: bytes, tmp_path: Path
) -> None:
    with running(tmp_path / "home", transport=transport) as daemon:
        talk = daemon.connect()
        talk.send(request("ping") + b"x" * (16 * MIB + 1) + end)

        assert talk.answer() == PONG
        assert talk.answer() == error(-32600, "the line is longer than 16777216 bytes", None)
        assert talk.line() == b""


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_48_a_last_line_without_an_end_is_answered(transport: str, tmp_path: Path) -> None:
    with running(tmp_path / "home", transport=transport) as daemon:
        talk = daemon.connect()
        talk.send(request("ping").rstrip())
        talk.no_more()

        assert talk.answer() == PONG
        assert talk.line() == b""


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_52_a_command_is_finished_for_a_client_that_has_gone(
    transport: str, place: Path, tmp_path: Path
) -> None:
    with running(tmp_path / "home", "--workdir", str(place), transport=transport) as daemon:
        talk = daemon.connect()
        talk.send(shell("touch begun; cat fifo > late"))
        eventually((place / "begun").exists)
        hang_up(daemon, talk)
        (place / "fifo").write_text("done")

        eventually(lambda: (place / "late").read_text() == "done")
        eventually(lambda: "a conversation broke off: Broken pipe" in daemon.complaints)
        assert daemon.connect().ask("ping")["result"] == {"pong": True}


def hang_up(daemon: Daemon, talk: Conversation) -> None:
    talk.close()
    daemon._talks.remove(talk)
