"""The line that makes a session, and the settings it is made with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gascity.core.model import SessionConfig
from gascity.core.observed import Exited
from gascity.errors import ConfigError, StartFailed
from gascity.session.tmux.panes import Pane
from gascity_tmux import create
from gascity_tmux.create import Birth
from gascity_tmux.settings import Settings


def birth(command: str = "agent --flag", script: str = "", **env: str) -> Birth:
    config = SessionConfig(command, "/work#1", env, meta={"GC_AGENT": "a/b"})
    return Birth("a", config, "city", "mark", "M", "T", script)


def commands(line: str) -> list[str]:
    return line.split(" ; ")


def test_a_session_is_marked_and_kept_in_the_line_that_makes_it() -> None:
    made = commands(create.line(birth(), Settings()))
    position = next(n for n, one in enumerate(made) if one.startswith("new-session"))

    for wanted in ("@gc_city", "@gc_name", "@gc_token", "remain-on-exit on", "GC_AGENT"):
        assert [one for one in made[position:] if wanted in one]


def test_every_command_after_the_session_names_it_exactly() -> None:
    made = commands(create.line(birth(), Settings()))
    position = next(n for n, one in enumerate(made) if one.startswith("new-session"))

    assert all('-t "=a:' in one for one in made[position + 1 :])


def test_a_folder_is_no_format() -> None:
    assert '-c "/work##1"' in create.line(birth(), Settings())


def test_a_variable_is_given_to_the_program_and_not_kept_with_the_session() -> None:
    line = create.line(birth(KEY="secret"), Settings())

    assert line.count("secret") == 1
    assert "-e KEY=secret" in line
    assert 'set-environment -u -t "=a:" -- KEY' in line


@pytest.mark.parametrize("command", ["agent", "agent --flag", "a; b", "exit 3", "FOO=1 agent"])
def test_tmux_is_never_given_one_word_which_it_would_hand_to_a_shell(command: str) -> None:
    line = create.line(birth(command), Settings())
    after = next(one for one in line.split("\n")[0].split("new-session")[1:]).split(" -- ", 1)[1]

    assert after.startswith("/bin/sh -c ") or len(after.split(" ; ")[0].split()) > 1


def test_a_long_command_is_run_from_its_file() -> None:
    line = create.line(birth("x" * 10, script="/state/a.sh"), Settings())

    assert "-- /bin/sh /state/a.sh" in line
    assert create.is_long("x" * 120_001)
    assert create.is_long("é" * 60_001)
    assert not create.is_long("x" * 120_000)


def test_the_ended_one_goes_out_of_the_way_first_and_then_for_good() -> None:
    ended = Pane("%3", "$7", 1, Exited(code=0), 1, 0.0, 0.0, "v", "old", "a", "")

    made = create.line(birth(), Settings(), replaced=ended)
    after = create.farewell_lines(birth(), ended, ["/dev/pts/1"])

    one = "#{==:#{@gc_token},old}"
    at_home = f"#{{&&:{one},#{{==:#{{session_name}},a}}}}"
    assert made.startswith(f'if-shell -F -t "%3" "{at_home}" "rename-session -t ')
    assert 0 < made.index("gc-ended-7-T") < made.index(" @gc_city") < made.index("new-session")
    assert after[0].startswith("switch-client -c /dev/pts/1 ")
    assert "gc-ended-7-T" in after[1]
    assert "kill-session -t " in after[1]
    assert after[2].startswith(f'if-shell -F -t "%3" "{one}" "kill-pane -t ')


@pytest.mark.parametrize(
    "env", [{"": "x"}, {"A=B": "x"}, {"A": "a\0b"}, {"A\0": "b"}, {"A": "x" * 120_001}]
)
def test_what_no_program_can_be_given_is_refused(tmp_path: Path, env: Mapping[str, str]) -> None:
    with pytest.raises(StartFailed):
        create.check("a", SessionConfig("agent", str(tmp_path), env))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="there is no folder"):
        create.check("a", SessionConfig("agent", str(tmp_path / "x"), {}))


# --- settings


def test_settings_have_defaults() -> None:
    assert Settings.read({}) == Settings("", "", 220, 50, 20_000)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"colour": 1}, 'has no setting "colour"'),
        ({"width": "wide"}, "width must be a whole number"),
        ({"width": True}, "width must be a whole number"),
        ({"socket": 1}, "socket must be a text"),
        ({"width": 5}, "width must be between 20 and 10000"),
        ({"height": 1}, "height must be between 5"),
        ({"history": -1}, "history must be between 0"),
        ({"config": "/no/such/file"}, "there is no file /no/such/file"),
    ],
)
def test_settings_that_make_no_sense_are_named(table: Mapping[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings.read(table)


def test_a_config_is_found_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tmux.conf").touch()

    assert Settings.read({"config": "~/tmux.conf"}).config == "~/tmux.conf"
