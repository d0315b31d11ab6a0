"""Codex's `notify`: one for all sessions, so that of the user is called too."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gascity.hooks import files
from gascity.hooks.codex import CODEX
from gascity.hooks.hooked import Untouchable

GC = "/opt/gc"
OURS = [GC, "hook", "report", "codex", "notify"]
WITH_NOTIFY = """\
# my settings
model = "o9"   # the best
notify = [     # tell me
    "notify-send",
    "Codex", # its name
]

[projects."/home/me"]
trust_level = "trusted"
"""
WITHOUT = """\
# my settings
model   =  "o9"

[tui]
notify = false # of another table
"""


@pytest.mark.parametrize("content", [WITH_NOTIFY, WITHOUT, "", "[a]\n", "x = 1", "x = 1\r\n"])
def test_it_comes_back_byte_for_byte(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content.encode())

    files.install(str(tmp_path / "gc"), CODEX, str(path), "s1", GC)
    assert tomllib.loads(path.read_bytes().decode())["notify"][:5] == OURS
    (record,) = files.records(str(tmp_path / "gc"))
    files.uninstall(str(tmp_path / "gc"), record, CODEX)

    assert path.read_bytes() == content.encode()


def test_the_users_own_program_is_kept_behind_ours() -> None:
    merged = CODEX.merged(WITH_NOTIFY.encode(), GC).decode()

    assert tomllib.loads(merged)["notify"] == [*OURS, "--", "notify-send", "Codex"]
    assert merged.startswith('# my settings\nmodel = "o9"   # the best\n')
    assert merged.endswith('\n\n[projects."/home/me"]\ntrust_level = "trusted"\n')


def test_what_the_user_or_codex_writes_meanwhile_survives() -> None:
    for before in (WITH_NOTIFY, WITHOUT):
        edited = CODEX.merged(before.encode(), GC) + b"\n[new]\na = 1 # mine\n"

        left = CODEX.stripped(edited).decode()

        assert left.endswith("\n[new]\na = 1 # mine\n")
        expected = tomllib.loads(before)
        assert tomllib.loads(left) == {**expected, "new": {"a": 1}}


def test_all_else_keeps_its_layout() -> None:
    assert CODEX.merged(WITHOUT.encode(), GC).decode().endswith(WITHOUT)


@pytest.mark.parametrize(
    "content", ["x = ", 'notify = "word"', "notify = [1]", "x = " + "[" * 5000]
)
def test_a_file_that_cannot_be_merged_is_refused(content: str) -> None:
    with pytest.raises(Untouchable):
        CODEX.merged(content.encode(), GC)


def test_where_codex_keeps_its_settings() -> None:
    assert CODEX.path("/w", {"HOME": "/home/me"}) == "/home/me/.codex/config.toml"
    assert CODEX.path("/w", {"HOME": "/home/me", "CODEX_HOME": "/c"}) == "/c/config.toml"
