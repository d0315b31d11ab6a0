"""The small parts of the provider that need no keeper."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from gascity.errors import NotSupported
from gascity.session import command as command_line
from gascity.session.command import for_shell
from gascity_subprocess import keys, layout, output, pipe
from gascity_subprocess.records import Record, Records


@pytest.mark.parametrize(
    "command",
    [
        "sleep 1000",
        "claude --flag 'a prompt; with | all $(kinds) of & \n \"things\"'",
        'codex "$HOME"',
        "/opt/agent/run -x",
    ],
)
def test_the_shell_steps_aside_for_one_plain_program(command: str) -> None:
    assert for_shell(command) == f"exec {command}"


@pytest.mark.parametrize(
    "command",
    [
        "a; b", "a && b", "a | b", "a &", "a\nb", "exec a", "cd x", "A=1 b", "if a; then b; fi",
        "(a)", "a $(b)", "a `b`", "a > f", "{ a; }", "'a b' c", "a 'unclosed", "", "  ",
        "! a", "time a", "~/a", "a\\\nb",
    ],
)  # fmt: skip
def test_the_shell_stays_where_there_is_more_to_do(command: str) -> None:
    assert for_shell(command) == command


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("sleep 1000", True),
        ("sleep  1000 --x=a,b:c@d%e", True),
        ("sleep $HOME", False),
        ("sleep *", False),
        ("sleep 'a'", False),
        ("no-such-program", False),
        ("./sleep", False),
        ("cd /", False),
        ("a-script", False),
    ],
)
def test_no_shell_is_needed_for_a_program_with_plain_arguments(
    tmp_path: Path, command: str, found: bool
) -> None:
    script = tmp_path / "a-script"
    script.write_text("exit 3\n")
    script.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    path, words = command_line.words(command, "/", env)

    assert (os.path.basename(path) == "sleep") is found
    assert words[0] == ("sleep" if found else "/bin/sh")


@pytest.mark.parametrize("command", ["sh -c 'exit 3'", "printf x", "no-such-program", "A=1 true"])
def test_stepping_aside_changes_no_status(command: str) -> None:
    plain, ours = (
        subprocess.run(
            ["/bin/sh", "-c", line], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False
        )
        for line in (command, for_shell(command))
    )

    assert (ours.returncode, ours.stdout) == (plain.returncode, plain.stdout)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\r\nb", "a\nb"),
        (b"10%\r50%\r100%\ndone", "100%\ndone"),
        (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07plain\x1b(B", "red plain"),
        (b"\xff\xc3\xa9\x00\x07", "\N{REPLACEMENT CHARACTER}é"),
        (b"tab\there", "tab\there"),
    ],
)
def test_output_is_text_a_person_can_read(raw: bytes, text: str) -> None:
    assert output.readable(raw) == text


@pytest.mark.parametrize(
    ("lines", "text"), [(1, "c"), (2, "b\nc"), (9, "a\nb\nc"), (0, "a\nb\nc"), (-1, "a\nb\nc")]
)
def test_a_tail_has_as_many_lines_as_asked_for(tmp_path: Path, lines: int, text: str) -> None:
    (tmp_path / "log").write_text("a\nb\nc\n")

    assert output.tail(str(tmp_path / "log"), lines) == text


def test_the_tail_of_a_huge_file_costs_no_more_than_that_of_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(4 * 1024**3)  # sparse: takes no room
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"x" * 200_000 + b"\nlast\n")

    began = time.thread_time()  # of the processor, which others may use meanwhile
    text = output.tail(str(path), 2)

    assert text == "x" * 200_000 + "\nlast"
    assert time.thread_time() - began < 0.3


def test_clearing_is_not_activity(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("something")
    os.utime(path, (1000, 1000))

    output.clear(str(path))

    assert path.stat().st_size == 0
    assert path.stat().st_mtime == 1000


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("hello", b"hello\n"),
        ("two\r\nlines\n\n", b"two\nlines\n"),
        ("tab\tstays, \x1b[201~ \x03 does not", b"tab\tstays, [201~  does not\n"),
        ("-x é", "-x é\n".encode()),
        ("", b"\n"),
        ("\udcff", b"?\n"),
    ],
)
def test_a_message_is_text_and_one_newline(text: str, data: bytes) -> None:
    assert pipe.message(text) == data


def test_keys_are_bytes_and_unknown_ones_an_error() -> None:
    assert [keys.bytes_of(key) for key in ("Enter", "C-d", "C-Z", "é")] == [
        b"\n", b"\x04", b"\x1a", "é".encode(),
    ]  # fmt: skip
    with pytest.raises(NotSupported, match="PageUp"):
        keys.bytes_of("PageUp")


@pytest.mark.parametrize(
    ("name", "good"), [("a-B_9", True), ("-", True), ("a.b", False), ("", False)]
)
def test_a_name_is_letters_digits_dashes_and_underscores(name: str, good: bool) -> None:
    assert layout.is_name(name) is good


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    records = Records(str(tmp_path))
    records.load()
    record = Record("a", "mark", "/work", {"KEY": "ä\n=", "EMPTY": ""})
    record.pid, record.started = 42, "boot:17"
    records.make_folder(record)
    records.save(record, first=True)
    record.end(3, None)
    records.save(record)

    later = Records(str(tmp_path))

    assert later.load() == []
    read = later.get("a")
    assert read is not None
    assert read.as_dict() == record.as_dict()
    assert read.adopted


def test_a_record_cut_off_between_old_and_new_is_read(tmp_path: Path) -> None:
    records = Records(str(tmp_path))
    records.load()
    record = Record("a", "mark", "/work", {})
    folder = Path(records.make_folder(record))
    records.save(record, first=True)
    (folder / layout.RECORD).rename(folder / f"{layout.RECORD}.new")

    later = Records(str(tmp_path))

    assert later.load() == []
    assert later.get("a") is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "b"}', '{"name": "a"}'])
def test_a_folder_without_a_whole_record_is_no_session(tmp_path: Path, text: str) -> None:
    folder = Path(layout.folder(str(tmp_path), "a"))
    folder.mkdir(parents=True)
    (folder / layout.RECORD).write_text(text)
    records = Records(str(tmp_path))

    assert records.load() == [str(folder)]
    assert records.get("a") is None
