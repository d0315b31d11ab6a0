"""What agents say on one terminal: who said it, and nothing that a terminal would act on."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gascity.cli.solve_voices import Voices
from gascity.worktrees.listening import Heard
from gascity.worktrees.loglines import LogLine

AGENTS = ("claude", "codex")


def heard(message: str, level: str = "info", agent: str = "claude") -> Heard:
    return Heard(agent, "stdout", LogLine(level, message), b"")


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def show(*all_heard: Heard, verbose: bool = False) -> str:
        voices = Voices(AGENTS, as_json=False, verbose=verbose)
        for one in all_heard:
            voices.say(one)
        voices.flush()
        return capsys.readouterr().out

    return show


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Show things on a terminal, and return all that it was sent."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = pty.openpty()

    def show(*all_heard: Heard, agents: Sequence[str] = AGENTS, verbose: bool = False) -> str:
        with contextlib.redirect_stdout(output):
            voices = Voices(agents, as_json=False, verbose=verbose)
            for one in all_heard:
                voices.say(one)
            voices.tell(agents[0], "is done")
        sent = b""
        while not sent.endswith(b"is done\r\n"):
            sent += os.read(ours, 65536)
        return sent.decode().replace("\r\n", "\n")

    with open(theirs, "w", encoding="utf-8") as output:
        yield show
    os.close(ours)


def test_names_are_padded_to_one_width(shown: Callable[..., str]) -> None:
    assert shown(heard("one"), heard("two", agent="codex")) == ("claude  | one\ncodex   | two\n")


def test_names_are_padded_by_the_room_they_take(capsys: pytest.CaptureFixture[str]) -> None:
    voices = Voices(["工人", "codex"], as_json=False)
    voices.say(heard("x", agent="工人"))
    voices.say(heard("x", agent="codex"))

    assert capsys.readouterr().out == "工人   | x\ncodex  | x\n"


def test_errors_and_warnings_say_what_they_are(shown: Callable[..., str]) -> None:
    assert shown(heard("no", "error"), heard("hm", "warning")) == (
        "claude  | ERROR no\nclaude  | WARNING hm\n"
    )


def test_what_is_for_debugging_is_shown_on_demand(shown: Callable[..., str]) -> None:
    assert shown(heard("inner", "debug")) == ""
    assert shown(heard("inner", "debug"), verbose=True) == "claude  | inner\n"


def test_each_line_of_a_message_begins_with_a_name(shown: Callable[..., str]) -> None:
    assert shown(heard("one\n\n  two\n", "error")) == (
        "claude  | ERROR one\nclaude  |\nclaude  |   two\n"
    )


def test_an_empty_line_is_one(shown: Callable[..., str]) -> None:
    assert shown(heard("")) == "claude  |\n"


def test_carriage_returns_separate_lines(shown: Callable[..., str]) -> None:
    assert shown(heard("10%\r20%\r\r30%\r")) == "claude  | 10%\nclaude  | 20%\nclaude  | 30%\n"


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hgone\x1b[?25l", "gone"),
        ("\x9b31mred", "red"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\text", "text"),
        ("\x1b(Btext\x1b7\x1b8", "text"),
        ("cut \x1b[31", "cut \\x1b[31"),
        ("cut \x1b]0;title", "cut \\x1b]0;title"),
        ("\x1b\x1b[31m[31m", "\\x1b[31m"),
        ("bell\x07 back\x08 nul\x00", "bell\\x07 back\\x08 nul\\x00"),
        ("turned \u202e", "turned \\u202e"),
        ("a\tb", "a       b"),
    ],
)
def test_what_a_terminal_would_act_on_is_not_shown(
    shown: Callable[..., str], said: str, seen: str
) -> None:
    assert shown(heard(said)) == f"claude  | {seen}\n"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=st.characters() | st.sampled_from("\x1b\x9b[]\r\n\x07;m")))
def test_no_text_gets_more_than_lines_of_its_own(shown: Callable[..., str], said: str) -> None:
    *lines, last = shown(heard(said)).split("\n")

    assert lines
    assert last == ""
    assert all(line.startswith("claude  |") and line.isprintable() for line in lines)


def test_sequences_without_end_cost_no_more_than_their_length(shown: Callable[..., str]) -> None:
    assert "x1b" in shown(heard("\x1b]0;" * 200_000 + "\x1b[" * 200_000))


def test_a_state_has_a_sign_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Voices(AGENTS, as_json=False).tell("codex", "is ready\x1b[2J", state="ready")

    assert capsys.readouterr().out == "codex   * is ready\n"


# --- on a terminal


def test_each_agent_has_a_colour_on_a_terminal(terminal: Callable[..., str]) -> None:
    assert terminal(heard("one"), heard("two", agent="codex")) == (
        "\x1b[36mclaude  |\x1b[0m one\n"
        "\x1b[35mcodex   |\x1b[0m two\n"
        "\x1b[36mclaude  *\x1b[0m is done\n"
    )


def test_what_is_wrong_is_red_or_yellow_on_a_terminal(terminal: Callable[..., str]) -> None:
    error, warning, _ = terminal(heard("no", "error"), heard("hm", "warning")).splitlines()

    assert error.endswith(" \x1b[31mERROR\x1b[0m no")
    assert warning.endswith(" \x1b[33mWARNING\x1b[0m hm")


def test_what_is_for_debugging_is_dim_on_a_terminal(terminal: Callable[..., str]) -> None:
    assert " \x1b[2minner\x1b[0m\n" in terminal(heard("inner", "debug"), verbose=True)


def test_no_agent_is_red_or_yellow(terminal: Callable[..., str]) -> None:
    many = [f"agent-{number}" for number in range(20)]
    lines = terminal(*(heard("x", agent=agent) for agent in many), agents=many).splitlines()

    colours = {line.split("m")[0] for line in lines}
    assert len(colours) > 4
    assert not colours & {f"\x1b[{code}" for code in (31, 33, 91, 93)}


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_nothing_is_coloured_for_who_wants_none(
    terminal: Callable[..., str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    assert terminal(heard("no", "error")) == "claude  | ERROR no\nclaude  * is done\n"


# --- for programs


def test_programs_get_all_that_was_said_as_it_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    voices = Voices(AGENTS, as_json=True)
    voices.say(Heard("codex", "stderr", LogLine("debug", "ä\x1b[2J\n\x9b", "noon"), b""))
    out = capsys.readouterr().out

    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out) == {
        "agent": "codex",
        "stream": "stderr",
        "level": "debug",
        "message": "ä\x1b[2J\n\x9b",
        "timestamp": "noon",
    }


def test_programs_are_told_the_facts_of_a_state(capsys: pytest.CaptureFixture[str]) -> None:
    Voices(AGENTS, as_json=True).tell("codex", "the commit has the marker", state="ready", code=0)

    assert json.loads(capsys.readouterr().out) == {
        "agent": "codex",
        "event": "state",
        "state": "ready",
        "code": 0,
        "why": "the commit has the marker",
    }


@pytest.mark.parametrize("as_json", [True, False])
def test_a_reader_that_left_is_noticed(monkeypatch: pytest.MonkeyPatch, as_json: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    output = open(writer, "w", encoding="utf-8")  # noqa: SIM115  closing it complains once more
    monkeypatch.setattr(sys, "stdout", output)  # a pipe that nobody reads
    voices = Voices(AGENTS, as_json=as_json)
    voices.say(heard("x"))

    with pytest.raises(BrokenPipeError):
        voices.flush()
    with contextlib.suppress(BrokenPipeError):
        output.close()
