"""Alerts through programs: the command of a city, and the desktop."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.patrol.conftest import LIMIT, notice

from gascity.core.model import AlertSettings
from gascity.patrol.notice import Notice, NoticeKind, Sink, SinkFailed
from gascity.patrol.sinks import sinks_of
from gascity.patrol.sinks.command import Command
from gascity.patrol.sinks.desktop import Desktop
from gascity.testing.eventually import eventually


def command(text: str, root: Path, timeout: float = LIMIT, **more: str) -> Command:
    return Command(text, str(root), {"PATH": os.environ["PATH"], **more}, timeout)


def failure(sink: Sink, told: Notice | None = None) -> str:
    with pytest.raises(SinkFailed) as failed:
        sink.send(told or notice())
    return failed.value.message


def test_a_command_gets_a_line_of_json_in_the_folder_of_the_city(tmp_path: Path) -> None:
    command("cat > got", tmp_path).send(notice("line\none"))
    text = (tmp_path / "got").read_text()

    assert text.count("\n") == 1
    assert json.loads(text) == notice("line\none").body()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 3", "exited with 3"),
        ("echo one >&2; printf 'two\\033[1m\\n\\n' >&2; exit 1", "exited with 1: two [1m"),
        ("kill -9 $$", "was killed by signal 9"),
        ("nobody-has-this", "exited with 127: /bin/sh: 1: nobody-has-this: not found"),
    ],
)
def test_a_command_that_fails_is_told_in_its_own_words(
    tmp_path: Path, text: str, said: str
) -> None:
    assert failure(command(text, tmp_path)).startswith(said.partition(" /bin")[0])


def test_a_complaint_has_no_secrets_of_the_environment(tmp_path: Path) -> None:
    said = failure(command('echo "no: $API_TOKEN" >&2; exit 1', tmp_path, API_TOKEN="hunter2"))

    assert "hunter2" not in said
    assert said.startswith("exited with 1: no: sha256:")


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    text = "sleep 1000 & echo $! > pid; echo $$ >> pid; wait"
    for limit in (1, 10, 50):  # a busy machine needs longer until both are there
        (tmp_path / "pid").write_text("")

        assert failure(command(text, tmp_path, limit)) == f"did not end within {limit} s"
        pids = (tmp_path / "pid").read_text().split()
        if len(pids) == 2:
            break
    assert len(pids) == 2
    eventually(lambda: not any(Path("/proc", pid, "cwd").exists() for pid in pids), within=LIMIT)


def test_what_a_command_leaves_in_the_background_goes_on(tmp_path: Path) -> None:
    text = "(while [ ! -e go ]; do sleep 0.05; done; echo late >&2; touch done) & exit 0"

    command(text, tmp_path).send(notice())
    (tmp_path / "go").touch()

    eventually((tmp_path / "done").exists, within=LIMIT)


def test_a_command_need_not_read_its_input(tmp_path: Path) -> None:
    command("true", tmp_path).send(notice("x" * 1_000_000))


def test_a_folder_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    assert failure(command("true", tmp_path / "gone")).startswith("cannot be run: ")


def test_a_city_has_the_ways_it_names() -> None:
    every = AlertSettings(command="x", webhook="http://h", apprise=("json://h",), desktop=True)

    assert sinks_of(AlertSettings(), "/", {}) == []
    assert [sink.name for sink in sinks_of(every, "/", {})] == [
        "command",
        "webhook",
        "apprise",
        "desktop",
    ]
    assert sinks_of(every, "/", {}) == sinks_of(every, "/", {})
    assert sinks_of(every, "/", {}) != sinks_of(every, "/tmp", {})


def desktop(folder: Path, name: str, platform: str, body: str = "") -> Desktop:
    """Return a desktop whose program writes down its arguments, one a line."""
    program = folder / name
    program.write_text(f'#!/bin/sh\n{body}\nprintf "%s\\n" "$@" > "{folder}/got"\n')
    program.chmod(0o755)
    return Desktop({"PATH": f"{folder}:{os.environ['PATH']}"}, LIMIT, platform)


def test_a_note_on_linux_is_no_markup(tmp_path: Path) -> None:
    told = notice('-x <b>bold</b> & "so"\n\0end \ud800', screen="hunter2", city="-city")
    desktop(tmp_path, "notify-send", "linux").send(told)

    assert (tmp_path / "got").read_text().splitlines() == [
        "--app-name=gc",
        "--urgency=critical",
        "--",
        "gc -city: critical",
        '-x &lt;b&gt;bold&lt;/b&gt; &amp; "so" end',
    ]


def test_a_note_that_a_trouble_is_over_is_quiet(tmp_path: Path) -> None:
    desktop(tmp_path, "notify-send", "linux").send(notice(kind=NoticeKind.RESOLVED))

    assert "--urgency=low" in (tmp_path / "got").read_text()


def test_a_note_on_a_mac_is_no_script(tmp_path: Path) -> None:
    text = '" & (do shell script "touch /tmp/owned") & "'
    desktop(tmp_path, "osascript", "darwin").send(notice(text))
    words = (tmp_path / "got").read_text().splitlines()

    assert words[-2:] == ["gc town: critical", text]
    assert words[words.index("-e") + 1] == "on run argv"
    assert not any(text in word for word in words[:-1])


def test_nobody_to_talk_to_is_a_failure(tmp_path: Path) -> None:
    deaf = desktop(tmp_path, "notify-send", "linux", "echo 'Cannot autolaunch D-Bus' >&2; exit 1")

    assert failure(Desktop({"PATH": "/nowhere"}, 1.0, "linux")) == (
        "notify-send is not installed here"
    )
    assert failure(deaf) == "notify-send exited with 1: Cannot autolaunch D-Bus"
