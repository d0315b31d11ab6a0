"""`gc guest serve` and `gc guest bundle`, as a person calls them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GC = os.path.join(os.path.dirname(sys.executable), "gc")
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{"pong":true}}\n'


def gc(folder: Path, *words: str, said: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [GC, "guest", *words], cwd=folder, input=said, capture_output=True, check=False, timeout=60
    )


def test_it_serves_without_a_city(tmp_path: Path) -> None:
    done = gc(tmp_path, "serve", "--stdio", said=PING)

    assert (done.returncode, done.stdout, done.stderr) == (0, PONG, b"")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, b"error: one of --socket, --vsock and --stdio is needed; --stdio goes alone\n"),
        (("--stdio", "--socket", "x"), 2, b"error: one of --socket, --vsock and --stdio"),
        (("--stdio", "--root", ""), 2, b"error: "),
        (("--stdio", "--max-output", "0"), 2, b"error: "),
        (("--vsock", "99999999999"), 2, b"error: "),
        (("--stdio", "--workdir", "/nowhere"), 1, b"error: the working folder /nowhere is not"),
        (("--socket", "/nowhere/x"), 1, b"error: cannot listen on /nowhere/x: No such file"),
    ],
)
def test_what_it_cannot_do_is_a_sentence(
    words: tuple[str, ...], code: int, said: bytes, tmp_path: Path
) -> None:
    done = gc(tmp_path, "serve", *words)

    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.startswith(said)
    assert b"Traceback" not in done.stderr


def test_every_option_reaches_the_daemon(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("sesame")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("12345")
    words = [
        *("--root", "work", "--workdir", "work", "--timeout", "5", "--max-output", "3"),
        *("--max-file", "4", "--max-line", "100", "--token-file", "token"),
    ]
    asked = (
        ("auth", "sesame"),
        ("read_file", "file"),
        ("read_file", "../token"),
        ("exec", "pwd | tail -c 5; sleep 60"),
        ("exec", "x" * 100),
    )
    lines = [
        f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["{value}"]}}\n'
        for method, value in asked
    ]

    done = gc(tmp_path, "serve", "--stdio", *words, said="".join(lines).encode())

    told = done.stdout.decode().splitlines()
    assert '"success":true' in told[0]
    assert "is too large (5 bytes, max 4 bytes)" in told[1]
    assert "leads out of the root" in told[2]
    assert r'"exit_code":124,"stdout":"wor\n... [output truncated]"' in told[3]
    assert "the line is longer than 100 bytes" in told[4]


def test_the_bundle_is_not_printed_on_a_terminal(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [GC, "guest", "bundle"], stdout=theirs, stderr=subprocess.PIPE, check=False, timeout=60
        )
    finally:
        os.close(ours)
        os.close(theirs)

    assert done.returncode == 2
    assert done.stderr.startswith(b"error: this is no text\nhint: `gc guest bundle > guest.pyz`")
