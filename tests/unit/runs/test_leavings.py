"""The five files that every run leaves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gascity.core.oneshot import Format
from gascity.runs.folder import OUTPUT, PROMPT, STDERR, STDOUT, RunFolder
from gascity.runs.leavings import complete, last_lines

CLAUDE = b'not json\n{"type":"result","subtype":"success","is_error":false,"result":"the answer"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(str(tmp_path / "r"))


def _write(folder: RunFolder, name: str, body: bytes) -> None:
    os.makedirs(folder.path, exist_ok=True)
    Path(folder.file(name)).write_bytes(body)


def _read(folder: RunFolder, name: str) -> bytes:
    return Path(folder.file(name)).read_bytes()


def test_a_run_that_left_nothing_has_all_files(folder: RunFolder) -> None:
    complete(folder)

    assert sorted(os.listdir(folder.path)) == sorted([OUTPUT, PROMPT, STDERR, STDOUT])
    assert all(_read(folder, name) == b"" for name in os.listdir(folder.path))


@pytest.mark.parametrize("printed", [b"", b"plain", b"\xff\0\r\n", b"x" * 3_000_000])
def test_what_was_printed_is_the_answer(folder: RunFolder, printed: bytes) -> None:
    _write(folder, STDOUT, printed)
    complete(folder)

    assert _read(folder, OUTPUT) == printed


@pytest.mark.parametrize("own", [b"", b"mine\xff"])
def test_an_answer_of_the_agents_own_stays(folder: RunFolder, own: bytes) -> None:
    _write(folder, STDOUT, b"noise")
    _write(folder, OUTPUT, own)
    complete(folder)
    complete(folder)

    assert _read(folder, OUTPUT) == own


def test_the_answer_is_found_in_a_stream(folder: RunFolder) -> None:
    _write(folder, STDOUT, CLAUDE)
    complete(folder, Format.CLAUDE)

    assert _read(folder, OUTPUT).strip() == b"the answer"


def test_a_stream_without_an_answer_is_the_answer_as_it_is(folder: RunFolder) -> None:
    _write(folder, STDOUT, b"plain words\n")
    complete(folder, Format.CLAUDE)

    assert _read(folder, OUTPUT) == b"plain words\n"


def test_a_link_that_leads_nowhere_is_not_written_through(
    folder: RunFolder, tmp_path: Path
) -> None:
    _write(folder, STDOUT, b"secret")
    os.symlink(tmp_path / "elsewhere", folder.file(OUTPUT))
    complete(folder)

    assert not (tmp_path / "elsewhere").exists()


def test_the_last_lines_of_a_file_are_text(folder: RunFolder) -> None:
    _write(folder, STDERR, b"".join(b"line %d \xff\n" % number for number in range(100_000)))

    assert last_lines(folder, STDERR, 2) == "line 99998 \ufffd\nline 99999 \ufffd"
    assert last_lines(folder, STDOUT, 2) == ""


def test_the_last_lines_of_a_file_have_no_colours(folder: RunFolder) -> None:
    _write(folder, STDERR, b"\x1b[1;31merror\x1b[0m: no\x1b]0;title\x07\n")

    assert last_lines(folder, STDERR, 2) == "error: no"


@pytest.mark.parametrize("more", range(-16, 17, 4))
def test_no_part_of_a_secret_is_in_the_last_lines(folder: RunFolder, more: int) -> None:
    secret = "SK-SECRET-WXYZ"
    _write(folder, STDERR, b"x" * 99 + secret.encode() + b"y" * (64 * 1024 + more))
    said = last_lines(folder, STDERR, 50, (secret,))

    assert said.endswith("y" * 60_000)
    assert not {*secret} & {*said}
