"""Hooks in the user's settings: merged, never overwritten, and given back byte for byte."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from gascity.hooks import files
from gascity.hooks.backends import NAMES, hooked
from gascity.hooks.hooked import Hooked, Untouchable

GC = "/opt/a city's/bin/gc"
JSON_TOOLS = ("claude", "gemini")

Settings = dict[str, Any]  # Any: whatever JSON holds
Layout = tuple[int | str | None, str, bool]

leaves = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
values = st.recursive(
    leaves.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
entries = st.dictionaries(st.sampled_from(["type", "command", "timeout", "x"]), values)
groups = st.fixed_dictionaries({"hooks": st.lists(entries)}, optional={"matcher": st.text()})
their_hooks = st.dictionaries(
    st.sampled_from(["Stop", "PreToolUse", "BeforeAgent", "Other"]), st.lists(groups, max_size=3)
)
settings = st.builds(
    lambda rest, hooks: rest if hooks is None else {**rest, "hooks": hooks},
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), values, max_size=5),
    st.none() | their_hooks,
)
layouts = st.builds(
    lambda indent, end, ascii_only: (indent, end, ascii_only),
    st.sampled_from([None, 1, 2, 4, "\t"]),
    st.sampled_from(["", "\n", "\n\n", "\r\n"]),
    st.booleans(),
)


def tool(name: str) -> Hooked:
    found = hooked(name)
    assert found is not None
    return found


def commands(content: bytes) -> list[str]:
    """Return every command of every hook, in order."""
    hooks: dict[str, Any] = json.loads(content).get("hooks", {})
    return [
        entry.get("command")
        for groups in hooks.values()
        for group in groups
        for entry in group.get("hooks", [])
    ]


@pytest.fixture
def records(tmp_path: Path) -> str:
    return str(tmp_path / "city" / ".gc" / "hooks")


@trying(max_examples=40, deadline=None)
@given(data=settings, layout=layouts, name=st.sampled_from(JSON_TOOLS))
def test_any_settings_come_back_byte_for_byte(data: object, layout: Layout, name: str) -> None:
    indent, end, ascii_only = layout
    original = (json.dumps(data, indent=indent, ensure_ascii=ascii_only) + end).encode(
        "utf-8", "backslashreplace"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "settings.json")
        path.write_bytes(original)

        files.install(f"{folder}/gc", tool(name), str(path), "s1", GC)
        merged = json.loads(path.read_bytes())
        assert {k: v for k, v in merged.items() if k != "hooks"} == {
            k: v for k, v in json.loads(original).items() if k != "hooks"
        }
        for event, theirs in json.loads(original).get("hooks", {}).items():
            assert merged["hooks"][event][: len(theirs)] == theirs

        (record,) = files.records(f"{folder}/gc")
        assert files.uninstall(f"{folder}/gc", record, tool(name))
        assert path.read_bytes() == original
        assert files.records(f"{folder}/gc") == []


@trying(max_examples=40, deadline=None)
@given(before=settings, key=st.text().filter(lambda key: key != "hooks"), value=values)
def test_what_a_user_changes_meanwhile_survives(before: Settings, key: str, value: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "settings.json")
        path.write_text(json.dumps(before))
        files.install(f"{folder}/gc", tool("claude"), str(path), "s1", GC)
        edited = {**json.loads(path.read_bytes()), key: value}
        path.write_text(json.dumps(edited, indent=4))

        (record,) = files.records(f"{folder}/gc")
        files.uninstall(f"{folder}/gc", record, tool("claude"))

        left = json.loads(path.read_bytes())
        theirs = {k: v for k, v in before.get("hooks", {}).items() if v}
        ours_gone = {k: v for k, v in left.get("hooks", {}).items() if v}
        assert ours_gone == theirs
        assert {k: v for k, v in left.items() if k != "hooks"} == {
            k: v for k, v in {**before, key: value}.items() if k != "hooks"
        }


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_was_not_there_is_gone_again_with_its_folder(
    name: str, tmp_path: Path, records: str
) -> None:
    path = tmp_path / "work" / ".tool" / "settings"

    assert files.install(records, tool(name), str(path), "s1", GC)
    assert path.exists()
    (record,) = files.records(records)
    files.uninstall(records, record, tool(name))

    assert not path.parent.exists()
    assert path.parent.parent.exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_in_which_nothing_is_said_comes_back_as_it_was(
    content: bytes, name: str, tmp_path: Path, records: str
) -> None:
    path = tmp_path / "settings"
    path.write_bytes(content)

    assert files.install(records, tool(name), str(path), "s1", GC)
    (record,) = files.records(records)
    files.uninstall(records, record, tool(name))

    assert path.read_bytes() == content


@pytest.mark.parametrize("name", NAMES)
def test_a_second_install_changes_nothing(name: str, tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings"
    files.install(records, tool(name), str(path), "s1", GC)
    content, changed_at = path.read_bytes(), path.stat().st_mtime_ns

    assert not files.install(records, tool(name), str(path), "s1", GC)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, changed_at)


def test_the_hooks_of_a_gc_that_moved_are_replaced(tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"model": "x"}')
    files.install(records, tool("claude"), str(path), "s1", "/old/gc")
    files.install(records, tool("claude"), str(path), "s1", GC)

    assert not [command for command in commands(path.read_bytes()) if "/old/gc" in command]
    (record,) = files.records(records)
    files.uninstall(records, record, tool("claude"))
    assert path.read_text() == '{"model": "x"}'


def test_the_last_of_several_sessions_gives_the_file_back(tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    for session in ("s1", "s2"):
        files.install(records, tool("claude"), str(path), session, GC)

    (record,) = files.records(records)
    assert not files.uninstall(records, record, tool("claude"), "s1")
    assert commands(path.read_bytes())
    (record,) = files.records(records)
    assert files.uninstall(records, record, tool("claude"), "s2")
    assert path.read_text() == "{}"


def test_the_users_own_hooks_stay_in_front(tmp_path: Path, records: str) -> None:
    theirs = {"hooks": [{"type": "command", "command": "notify-send done"}]}
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"hooks": {"Stop": [theirs]}}))

    files.install(records, tool("claude"), str(path), "s1", GC)

    first, second = json.loads(path.read_bytes())["hooks"]["Stop"]
    assert first == theirs
    assert second["hooks"][0]["command"] == """'/opt/a city'"'"'s/bin/gc' hook report claude Stop"""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{\n  // mine\n  "a": 1\n}', "it is not JSON"),
        ("{,}", "it is not JSON"),
        ("[]", "it holds no JSON object"),
        ('{"hooks": []}', '"hooks" is no object'),
        ('{"hooks": {"Stop": {}}}', "no list"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": 1e999}', "too large"),
        ('{"a": NaN}', "NaN"),
        ("[" * 100_000, "it is"),
    ],
)
def test_a_file_that_cannot_be_merged_is_left_alone(
    content: str, why: str, tmp_path: Path, records: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(content)

    with pytest.raises(Untouchable, match=why):
        files.install(records, tool("claude"), str(path), "s1", GC)

    assert path.read_text() == content
    assert files.records(records) == []


def test_a_link_is_written_through_and_the_rights_stay(tmp_path: Path, records: str) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text('{"a": 1}')
    target.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(target)

    files.install(records, tool("claude"), str(link), "s1", GC)
    assert link.is_symlink()
    assert commands(target.read_bytes())
    assert stat.S_IMODE(target.stat().st_mode) == 0o640

    (record,) = files.records(records)
    files.uninstall(records, record, tool("claude"))
    assert link.is_symlink()
    assert target.read_text() == '{"a": 1}'
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_no_regular_file_is_touched(tmp_path: Path, records: str) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(Untouchable, match="no regular file"):
        files.install(records, tool("claude"), str(tmp_path / "pipe"), "s1", GC)


def test_a_death_before_the_file_is_written_loses_nothing(tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    files.install(records, tool("claude"), str(path), "s1", GC)
    path.write_text('{"a": 1}')  # as if only the record had been written

    (record,) = files.records(records)
    files.uninstall(records, record, tool("claude"))

    assert path.read_text() == '{"a": 1}'


def test_what_was_changed_before_a_new_install_is_not_undone(tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    files.install(records, tool("claude"), str(path), "s1", GC)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "b": 2}))
    files.install(records, tool("claude"), str(path), "s2", GC)

    (record,) = files.records(records)
    files.uninstall(records, record, tool("claude"))

    assert json.loads(path.read_bytes()) == {"a": 1, "b": 2}


def test_installs_at_the_same_time_do_not_lose_each_other(tmp_path: Path, records: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')
    program = (
        "import sys; from gascity.hooks import files; from gascity.hooks.backends import hooked;"
        f"files.install({records!r}, hooked('claude'), {str(path)!r}, sys.argv[1], {GC!r})"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", program, f"s{number}"]) for number in range(8)
    ]
    assert [one.wait(60) for one in running] == [0] * 8

    (record,) = files.records(records)
    assert record.sessions == tuple(f"s{number}" for number in range(8))
    assert record.original == b'{"a": 1}'
    assert len(commands(path.read_bytes())) == len(set(commands(path.read_bytes())))
