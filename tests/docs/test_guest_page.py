"""The page about the guest protocol, said to a real daemon line by line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.conftest import BIN, ROOT, blocks
from tests.integration.guest.daemon import Daemon, running

from gascity import jsonrpc
from gascity.guest import main
from gascity.guest.methods import NAMES
from gascity.guest.talk import NOT_AUTHORISED

PAGE = ROOT / "docs" / "reference" / "guest-protocol.md"
TOO_LONG = "and so on, 16777217 of them"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with what the page names."""
    folder = tmp_path / "work"
    (folder / "src" / "app").mkdir(parents=True)
    (folder / "src" / ".env").write_text("A=1\nB")
    (folder / "src" / "latest").symlink_to("app")
    (folder / "notes.txt").write_text("remember the milk\n")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    with (folder / "film.avi").open("wb") as file:
        file.truncate(10 * 1024 * 1024 + 1)
    os.mkfifo(folder / "pipe")
    (tmp_path / "token").write_text("open sesame\n")
    return folder


def converse(daemon: Daemon, block: str) -> None:
    talk = daemon.connect()
    for line in block.splitlines():
        way, text = line[:4], line[4:]
        if way == "--> ":
            talk.send(b"x" * 16777217 if TOO_LONG in text else text.encode() + b"\n")
        else:
            assert way == "<-- "
            assert talk.line().decode() == f"{text}\n"


def test_every_answer_on_the_page_is_the_answer_of_the_daemon(work: Path) -> None:
    examples = blocks(PAGE, "guest")
    words = ("--root", str(work), "--workdir", str(work))
    limited = ("--timeout", "5")
    with (
        running(work.parent / "home", *words) as daemon,
        running(work.parent / "other", *words, *limited) as hurried,
    ):
        for block in examples:
            converse(hurried if "5 s, the limit" in block else daemon, block)

    assert len(examples) > 12


def test_who_has_no_token_is_answered_as_on_the_page(work: Path) -> None:
    with running(work.parent, "--token-file", str(work.parent / "token")) as daemon:
        for block in blocks(PAGE, "secured"):
            converse(daemon, block)


def test_who_is_one_too_many_is_answered_as_on_the_page(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        for _ in range(64):
            daemon.served()
        (block,) = blocks(PAGE, "crowded")
        converse(daemon, block)


def test_the_bundle_is_made_and_run_as_on_the_page(tmp_path: Path) -> None:
    (block,) = blocks(PAGE, "console")
    (make, said), (run, answer) = (
        part.partition("\n")[::2] for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    )
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    told = [
        subprocess.run(
            command, shell=True, cwd=tmp_path, env=env, capture_output=True, text=True, check=True
        ).stdout
        for command in (make, run)
    ]

    assert told == [said, answer]


def test_the_page_names_every_method_code_and_limit() -> None:
    text = PAGE.read_text("utf-8")
    usual = main.Settings()
    codes = {
        *(jsonrpc.PARSE_ERROR, jsonrpc.INVALID_REQUEST, jsonrpc.METHOD_NOT_FOUND),
        *(jsonrpc.INVALID_PARAMS, jsonrpc.INTERNAL_ERROR, jsonrpc.FAILED, NOT_AUTHORISED),
    }

    rows = re.findall(r"^\| (-\d+) \|", text.partition("## Errors")[2], re.MULTILINE)
    assert {int(code) for code in rows} == codes
    for name, names in NAMES.items():
        order = ", ".join(f"`{each}`" for each in names) or "none"
        assert f"| `{name}` | {order} |" in text
    for number in (*codes, usual.max_file, usual.max_line, usual.max_connections):
        assert str(number) in text


def test_the_options_of_the_bundle_are_those_of_the_command() -> None:
    gc = os.path.join(os.path.dirname(sys.executable), "gc")
    helps = [
        subprocess.run([*words, "--help"], capture_output=True, text=True, check=True).stdout
        for words in ((gc, "guest", "serve"), (sys.executable, "-m", "gascity.guest.main"))
    ]
    ours, theirs = (set(re.findall(r"(?<=\s)--[a-z-]+", told)) - {"--help"} for told in helps)

    assert ours == theirs
    assert len(ours) == 11
