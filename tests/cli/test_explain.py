"""`gc explain`: what a screen is taken for, by which rule, and what would be done about it."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from tests.cli.conftest import City, Inside, ScreenCity

from gascity.core.concealing import conceal_rows
from gascity.testing.eventually import eventually

RECORDED = Path(__file__).parents[1] / "screens" / "recorded" / "claude-2.1.197"
TRUST = str(RECORDED / "10-trust.txt")
BYPASS = str(RECORDED / "42-bypass-warning.txt")
READY = str(RECORDED / "12-ready.txt")
KEYS = [
    *("agent", "backend", "kind", "rule", "source", "region", "evidence", "box", "draft"),
    *("title", "screen", "until", "dialog", "spoke", "hook"),
]


# --- saved screens, anywhere


def test_a_saved_dialog_is_shown_with_its_rule_and_its_answer(outside: Inside) -> None:
    done = outside("explain", "--file", TRUST, "--backend", "claude")
    told = done.stdout.splitlines()

    assert (done.returncode, done.stderr) == (0, "")
    assert told[0] == "┌──"
    assert "▶  ❯ 1. Yes, I trust this folder" in told  # noqa: RUF001  the glyph Claude Code draws
    assert told[told.index("└──") + 1 :] == [
        "backend:   claude",
        "kind:      dialog",
        "rule:      trust, from gascity/screens/backends/claude.toml",
        "region:    bottom (15 lines)",
        "evidence:  ❯ 1. Yes, I trust this folder",  # noqa: RUF001  the glyph Claude Code draws
        "input box: not on the screen",
        "options:   > 1. Yes, I trust this folder",
        "             2. No, exit",
        'policy:    accept: "Yes, I trust this folder" would be chosen',
    ]


def test_the_answer_is_found_by_its_label_not_by_the_cursor(outside: Inside) -> None:
    done = outside("explain", "--file", BYPASS, "--backend", "claude", "--json")
    document = json.loads(done.stdout)

    assert list(document) == KEYS
    assert (document["kind"], document["rule"], document["box"]) == ("dialog", "bypass", False)
    assert document["dialog"] == {
        "options": [
            {"label": "No, exit", "number": 1, "selected": True},
            {"label": "Yes, I accept", "number": 2, "selected": False},
        ],
        "policy": "accept",
        "would_choose": "Yes, I accept",
        "keys": [],
    }
    assert document["screen"] == Path(BYPASS).read_text("utf-8").rstrip().split("\n")


def test_a_title_counts(outside: Inside) -> None:
    words = ["explain", "--file", READY, "--backend", "claude", "--json"]
    idle = json.loads(outside(*words).stdout)
    busy = json.loads(outside(*words, "--title", "⠂ thinking").stdout)

    assert (idle["kind"], idle["box"], idle["draft"], idle["dialog"]) == ("ready", True, "", None)
    assert (busy["kind"], busy["region"], busy["title"]) == ("working", "title", "⠂ thinking")


def test_every_rule_says_why_it_does_not_hold(outside: Inside) -> None:
    words = ["explain", "--file", READY, "--backend", "claude", "--verbose"]
    told = outside(*words).stdout.partition("rules in the order they are tried:\n")[2]
    trials = json.loads(outside(*words, "--json").stdout)["trials"]

    assert "  trust (dialog, bottom): no, the input box is there\n" in told
    assert "  prompt (ready, box): holds\n" in told
    assert len(trials) == len(told.splitlines())
    assert [trial["rule"] for trial in trials if trial["holds"]] == ["prompt"]


def test_a_screen_that_no_rule_knows_says_where_one_would_go(
    outside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "saved").write_text("\x1b[31mSomething\x1b[0m else\n\n\n")
    done = outside("explain", "--file", "saved", "--backend", "claude")

    assert done.returncode == 0
    assert "│ Something else\n" in done.stdout
    assert "kind:      none: no rule knows this screen\n" in done.stdout
    assert done.stdout.endswith("\na rule for it goes into screens/claude.toml of your city\n")


def test_the_last_screen_of_a_program_that_ended_is_no_screen(
    outside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "saved").write_text("> hello\n\nPane is dead (status 1, Mon Nov 16 10:00:00 2026)")
    done = outside("explain", "--file", "saved", "--backend", "demo")

    assert "kind:      none: its program has ended, and this is its last screen\n" in done.stdout


def test_a_backend_without_rules_is_read_by_its_prompt_alone(
    outside: Inside, tmp_path: Path
) -> None:
    (tmp_path / "saved").write_text("anything")
    done = outside("explain", "--file", "saved", "--backend", "amp")

    assert done.returncode == 0
    assert "kind:      none: " in done.stdout


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 2, "error: which agent?\nhint: give its name, or --file for a saved screen\n"),
        (["a", "--file", "x"], 2, "error: either an agent or --file, not both\n"),
        (["--file", "x"], 2, "error: --file needs --backend: rules differ from program to program"),
        (["a", "--backend", "claude"], 2, "error: --backend is for a saved screen: it needs --f"),
        (["a", "--title", "x"], 2, "error: --title is for a saved screen: it needs --file\n"),
        (["--file", "no", "--backend", "claude"], 2, "error: no: there is no such file\n"),
        (["--file", ".", "--backend", "claude"], 2, "error: .: is not a file\n"),
        (
            ["--file", "x", "--backend", "claud"],
            4,
            'error: there is no backend "claud"\nhint: did you mean "claude"?\n',
        ),
    ],
)
def test_wrong_words_are_told(outside: Inside, words: list[str], code: int, says: str) -> None:
    done = outside("explain", *words)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(says)


def test_a_file_that_is_no_text_is_told_with_its_line(outside: Inside, tmp_path: Path) -> None:
    (tmp_path / "saved").write_bytes(b"fine\ncaf\xff\n")
    done = outside("explain", "--file", "saved", "--backend", "claude")

    assert (done.returncode, done.stderr) == (2, "error: saved:2: the byte 0xff is not UTF-8\n")


def test_a_screen_can_come_from_standard_input(city: City) -> None:
    text = Path(TRUST).read_text("utf-8")
    said = city.ok("explain", "--file", "-", "--backend", "claude", "--json", text=text)

    assert json.loads(said)["rule"] == "trust"


def test_inside_a_city_its_own_rules_come_first(city: City, inside: Inside) -> None:
    (city.folder / "screens").mkdir()
    rule = '[[rule]]\nname = "mine"\nkind = "waiting"\nmatch = "Accessing workspace"\n'
    (city.folder / "screens" / "claude.toml").write_text(rule)
    done = inside("-C", str(city.folder), "explain", "--file", TRUST, "--backend", "claude")

    assert "rule:      mine, from screens/claude.toml\n" in done.stdout


def test_a_broken_rule_file_is_a_problem_with_its_place(city: City, inside: Inside) -> None:
    (city.folder / "screens").mkdir()
    (city.folder / "screens" / "claude.toml").write_text('[[rule]]\nname = "x"\nkind = "dialgo"\n')
    done = inside("-C", str(city.folder), "explain", "--file", TRUST, "--backend", "claude")

    assert done.returncode == 2
    assert "screens/claude.toml:3:" in done.stderr


# --- living agents


@pytest.mark.tmux
def test_an_agents_dialog_is_shown_with_what_the_city_wants(screened: ScreenCity) -> None:
    told = screened.ok("explain", "shy")

    assert "agent:     shy (demo)\n" in told
    assert "kind:      dialog\n" in told
    assert "rule:      trust, from gascity/screens/backends/demo.toml\n" in told
    assert (
        "policy:    ask: a person is told, and nothing is pressed; `gc attach shy` to answer it\n"
        in told
    )


@pytest.mark.tmux
def test_a_ready_agent_shows_its_box(screened: ScreenCity) -> None:
    document = json.loads(screened.ok("explain", "worker", "--json"))

    assert (document["agent"], document["backend"]) == ("worker", "demo")
    assert (document["kind"], document["box"], document["draft"]) == ("ready", True, "")


@pytest.mark.tmux
def test_a_draft_is_shown(screen_city: ScreenCity) -> None:
    screen_city.up()
    screen_city.press("worker", "half a thought")

    eventually(lambda: '"half a thought" unsent' in screen_city.ok("explain", "worker"))


@pytest.mark.tmux
def test_what_nobody_knows_is_shown_without_secrets(screened: ScreenCity) -> None:
    told = screened.ok("explain", "pick")
    document = screened.ok("explain", "pick", "--json", "-v")

    assert "kind:      none: no rule knows this screen\n" in told
    assert 'title:     "picker"\n' in told
    assert "           > 2. Yes, use the sandbox\n" in told
    assert "`gc screens learn pick` makes a rule of this screen\n" in told
    assert re.search(r"Your token is sha256:[0-9a-f]{8}\n", told)
    assert "opensesame" not in told + document
    assert json.loads(document)["dialog"]["policy"] is None


@pytest.mark.tmux
def test_a_plain_command_has_no_rules(screened: ScreenCity) -> None:
    told = screened.ok("explain", "plain")

    assert "agent:     plain (a plain command)\n" in told
    assert "kind:      none: " in told


@pytest.mark.tmux
def test_an_agent_without_a_terminal_has_no_screen(screened: ScreenCity) -> None:
    done = screened.gc("explain", "piped")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: piped has no screen: its provider subprocess gives it no terminal\n"
        "hint: `gc peek piped` shows what it printed\n"
    )


@pytest.mark.tmux
def test_an_agent_that_does_not_run_ends_with_5(screen_city: ScreenCity) -> None:
    before = screen_city.gc("explain", "worker")
    screen_city.up()
    screen_city.ok("stop", "worker")
    os.kill(screen_city.controller(), signal.SIGTERM)
    after = screen_city.gc("explain", "worker")

    for done in (before, after):
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr.startswith("error: worker is not running\n")


@pytest.mark.tmux
def test_no_such_agent_ends_with_4(screened: ScreenCity, inside: Inside) -> None:
    done = inside("-C", str(screened.folder), "explain", "worke")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.endswith('hint: did you mean "worker"?\n')


# --- secrets


def test_a_secret_is_concealed_also_where_the_terminal_broke_it() -> None:
    secret = "sk-0123456789abcdefghij"
    rows = ("key: sk-012345", "6789abcdefghij done", "│ sk-0123 │", "│ 456789ab │", "│ cdefghij │")
    shown = conceal_rows((*rows, f"and {secret}."), [secret])

    mark = shown[0].removeprefix("key: ")
    assert mark.startswith("sha256:")
    assert shown[1:] == (" done", f"│ {mark} │", "│  │", "│  │", f"and {mark}.")


def test_what_only_looks_like_the_beginning_of_a_secret_stays() -> None:
    rows = ("the word is s", "omething else", "sk", "")

    assert conceal_rows(rows, ["sk-0123456789"]) == rows
