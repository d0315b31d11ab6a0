"""A city's own screen rules: laid over the shipped ones, or refused with their place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from tests.unit.config.conftest import Folder

from gascity.config.schema import PolicyName
from gascity.config.screen_schema import SCREEN_KEYS, KindName, RegionName, ScreensFile
from gascity.config.screens import shipped, shipped_names
from gascity.config.show import as_toml
from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import Region, Rules

CITY = '[workspace]\nname = "town"\n[[agents]]\nname = "a"\nprovider = "claude"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "town")


def laid(folder: Folder, text: str, backend: str = "claude") -> Rules:
    folder.write(f"screens/{backend}.toml", text)
    return folder.load(CITY).screens.of(backend)


def problems(folder: Folder, text: str, backend: str = "claude") -> str:
    folder.write(f"screens/{backend}.toml", text)
    return folder.problems(CITY)


# --- what is shipped


def test_the_words_of_the_files_are_those_of_the_program() -> None:
    assert set(get_args(KindName)) == set(Kind)
    assert set(get_args(RegionName)) == set(Region)
    assert set(get_args(PolicyName)) == set(Policy)


@pytest.mark.parametrize("backend", sorted(shipped_names()))
def test_shipped_rules_pass_the_checks_for_a_citys_own(folder: Folder, backend: str) -> None:
    source = Path(__file__).parents[3] / f"gc/gascity/screens/backends/{backend}.toml"
    folder.write(f"screens/{backend}.toml", source.read_bytes())

    assert folder.load(CITY).screens.of(backend).rules


def test_a_city_without_files_has_the_shipped_rules(folder: Folder) -> None:
    screens = folder.load(CITY).screens

    assert screens.of("claude") is shipped("claude")
    assert set(screens.by_backend) == shipped_names()
    assert len(screens.by_backend) == len(shipped_names())
    assert screens.of("cursor").rules == ()
    assert shipped("cursor") is None


def test_dialogs_and_questions_need_the_box_absent_and_readiness_needs_it() -> None:
    for backend in shipped_names():
        for rule in (shipped(backend) or Rules()).rules:
            if rule.kind is Kind.DIALOG:
                assert rule.box is False, (backend, rule.name)
            if rule.kind is Kind.READY:
                assert rule.box is True, (backend, rule.name)


# --- laid over


def test_a_rule_takes_the_place_of_its_namesake(folder: Folder) -> None:
    rules = laid(folder, '[[rule]]\nname = "bypass"\nkind = "waiting"\nmatch = "X"\n')
    before = shipped("claude") or Rules()

    assert [r.name for r in rules.rules] == [r.name for r in before.rules]
    changed = rules.rule("bypass")
    assert changed is not None
    assert (changed.kind, changed.source) == (Kind.WAITING, "screens/claude.toml")
    other = rules.rule("trust")
    assert other is not None
    assert other.source == "gascity/screens/backends/claude.toml"


def test_a_new_rule_comes_first(folder: Folder) -> None:
    rules = laid(
        folder,
        '[[rule]]\nname = "b"\nkind = "error"\nmatch = "X"\n'
        '[[rule]]\nname = "a"\nkind = "error"\nmatch = ["X", "Y"]\n',
    )

    assert [rule.name for rule in rules.rules[:2]] == ["b", "a"]
    assert [pattern.pattern for pattern in rules.rules[1].match] == ["X", "Y"]


def test_a_rule_can_be_taken_away(folder: Folder) -> None:
    rules = laid(folder, '[[rule]]\nname = "trust"\ndisabled = true\n')

    assert rules.rule("trust") is None
    assert len(rules.rules) == len((shipped("claude") or Rules()).rules) - 1


def test_keys_of_the_box_and_of_talking_are_changed_singly(folder: Folder) -> None:
    rules = laid(folder, "lasting_ms = 1500\n[box]\nbeneath = 3\n[talk]\nsettle_ms = 20\n")
    before = shipped("claude") or Rules()

    assert rules.box is not None
    assert before.box is not None
    assert (rules.box.beneath, rules.box.first) == (3, before.box.first)
    assert (rules.talk.settle, rules.talk.defuse) == (0.02, before.talk.defuse)
    assert (rules.lasting, rules.turn) == (1.5, before.turn)


def test_a_backend_of_the_citys_own_has_only_its_file(folder: Folder) -> None:
    folder.write(
        "screens/mine.toml",
        "[box]\nfirst = '^% (?P<text>.*)$'\n"
        '[[talk.defuse]]\nwhen = "^!"\nprefix = "x"\n'
        '[[rule]]\nname = "ready"\nkind = "ready"\nregion = "box"\n',
    )
    city = folder.load(CITY + '[providers.mine]\ncommand = "x"\n')
    rules = city.screens.of("mine")

    assert [rule.name for rule in rules.rules] == ["ready"]
    assert rules.backend == "mine"
    assert rules.talk.defuse[0].prefix == "x"


def test_a_backend_can_be_like_a_shipped_one(folder: Folder) -> None:
    folder.write("screens/mine.toml", 'like = "claude"\n[talk]\nwhile_working = false\n')
    city = folder.load(CITY + '[providers.mine]\ncommand = "x"\n')
    rules = city.screens.of("mine")

    assert rules.rules == (shipped("claude") or Rules()).rules
    assert not rules.talk.while_working


def test_a_file_that_nobody_reads_is_told(folder: Folder) -> None:
    folder.write("screens/cluade.toml", "x")

    assert folder.load(CITY).warnings == (
        'screens/cluade.toml is not read: no backend is called "cluade"; did you mean "claude"?',
    )


# --- refused

RULE = '[[rule]]\nname = "x"\nkind = "dialog"\nmatch = "X"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "screens/claude.toml: is empty"),
        ("[[rule]\n", "screens/claude.toml:1:7: this is not TOML: expected ']]'"),
        ("[[rules]]\n", '1:1: unknown key "rules"; did you mean "rule"?'),
        ("[rule]\nname = 'x'\n", "1:1: expected a list of tables, got a table"),
        ("[talks]\n", '1:1: unknown key "talks"; did you mean "talk"?'),
        ("[box]\nfirts = 'x'\n", '2:1: unknown key "firts"; did you mean "first"?'),
        ("[box]\nfirst = '^> '\n", "2:1: the pattern needs a group (?P<text>...)"),
        ("[box]\nnext = 'x'\n", "2:1: the pattern needs a group (?P<text>...)"),
        ("[box]\nbeneath = -1\n", "2:1: expected at least 0"),
        ("version = 'x'\n", "1:1: the pattern needs a group (?P<version>...)"),
        ("turn = '('\n", "1:1: this is not a regular expression: missing ), unterminated"),
        (f"turn = '{'x' * 501}'\n", "1:1: expected a pattern of at most 500 characters"),
        ("turn = 3\n", "1:1: expected a string, got an integer"),
        ("[talk]\nsubmit = 'Entr'\n", '2:1: there is no key "Entr"; did you mean "Enter"?'),
        ("[talk]\nsubmit = ['Enter', 'zz']\n", "2:20: expected a key, such as"),
        ("[talk]\nsettle_ms = '5'\n", "2:1: expected an integer, got a string"),
        ("[[talk.defuse]]\nprefix = 'x'\n", '1:1: missing key "when"'),
        ("[[talk.defuse]]\nwhen = 'x'\nprefx = 'x'\n", '3:1: unknown key "prefx"; did you mean'),
        ("[[rule]]\nkind = 'error'\n", '1:1: missing key "name"'),
        ("[[rule]]\nname = 'x'\n", '1:1: missing key "kind"'),
        ("[[rule]]\nname = 'x'\nkind = 'error'\n", '1:1: missing key "match"'),
        (
            "[[rule]]\nname = 'x'\nkind = 'dialogue'\n",
            '"auth", "error" or "dialog", got "dialogue"; did you mean "dialog"?',
        ),
        (f"{RULE}region = 'botom'\n", 'got "botom"; did you mean "bottom"?'),
        (f"{RULE}policy = 'no'\n", '5:1: expected "accept", "deny" or "ask", got "no"'),
        (f"{RULE}versions = '2'\n", "5:1: expected a range of versions, such as"),
        (f"{RULE}unless = ['a', '[']\n", "5:16: this is not a regular expression"),
        (f"{RULE}keys = ['Down', 'Retrun']\n", "5:17: expected a key, such as"),
        (f"{RULE}keys = 'Escpae'\n", '5:1: there is no key "Escpae"; did you mean "Escape"?'),
        (f"{RULE}policy = 'accept'\n", '5:1: to accept this dialog, the rule needs "accept"'),
        (f"{RULE}policy = 'deny'\n", '5:1: to deny this dialog, the rule needs "deny"'),
        (f"{RULE}resets = 'x'\n", "5:1: the pattern needs a group (?P<resets>...)"),
        (
            f"{RULE}resets = '(?P<resets>.)'\n",
            '5:1: "resets" is for limits; this rule is "dialog"',
        ),
        (f"{RULE}lines = 0\n", "5:1: expected at least 1"),
        (RULE + RULE, '6:1: there are two rules "x"'),
        (
            "[[rule]]\nname = 'x'\nkind = 'error'\nmatch = 'X'\npolicy = 'ask'\n",
            '5:1: "policy" is for dialogs; this rule is "error"',
        ),
        ("like = 'cluade'\n", '1:1: unknown backend with rules of gc "cluade"; did you mean'),
    ],
)
def test_a_broken_file_is_refused_with_its_place(folder: Folder, text: str, expected: str) -> None:
    told = problems(folder, text)

    assert told.startswith("screens/claude.toml")
    assert expected in told


def test_the_line_and_a_caret_are_shown(folder: Folder) -> None:
    assert problems(folder, f"{RULE}keys = 'Escpae'\n") == (
        'screens/claude.toml:5:1: there is no key "Escpae"; did you mean "Escape"?\n'
        "    keys = 'Escpae'\n"
        "    ^"
    )


def test_all_problems_of_all_files_are_told_at_once(folder: Folder) -> None:
    folder.write("screens/codex.toml", "turn = '('\n[box]\nfooter = 1\n")
    folder.write("screens/claude.toml", "turn = 1\n")
    told = folder.problems(CITY + 'dialogs = { trust = "maybe" }\n')

    assert re.findall(r"^(\S+):\d+:\d+:", told, re.MULTILINE) == [
        "city.toml",
        "screens/claude.toml",
        "screens/codex.toml",
        "screens/codex.toml",
    ]


def test_a_box_needs_its_first_row(folder: Folder) -> None:
    folder.write("screens/mine.toml", "[box]\nbeneath = 3\n")
    told = folder.problems(CITY + '[providers.mine]\ncommand = "x"\n')

    assert 'screens/mine.toml:1:1: missing key "first"' in told


def test_a_folder_in_the_place_of_a_file_is_told(folder: Folder) -> None:
    folder.write("screens/claude.toml/x", "")

    assert folder.problems(CITY) == "screens/claude.toml: is not a file"


# --- dialogs in city.toml


def test_what_to_do_about_dialogs_is_merged(folder: Folder) -> None:
    city = folder.load(
        '[workspace]\nname = "town"\n'
        '[providers.claude]\ndialogs = { trust = "ask", bypass = "deny" }\n'
        '[[agents]]\nname = "a"\nprovider = "claude"\ndialogs = { trust = "deny" }\n'
    )
    agent = city.desired.agents[0]

    assert agent.dialogs == {"trust": "deny", "bypass": "deny"}
    assert agent.hints.dialogs == agent.dialogs
    assert (shipped("claude") or Rules()).policies(agent.dialogs)["bypass"] is Policy.DENY
    assert 'trust = "deny"' in as_toml(city)


def test_what_to_do_about_dialogs_does_not_restart_an_agent(folder: Folder) -> None:
    before = folder.load(CITY).desired.agents[0]
    after = folder.load(CITY + 'dialogs = { trust = "ask" }\n').desired.agents[0]

    assert before.fingerprint == after.fingerprint


@pytest.mark.parametrize(
    ("dialogs", "expected"),
    [
        ('{ trsut = "ask" }', '6:13: unknown dialog "trsut"; did you mean "trust"?'),
        ('{ prompt = "ask" }', '6:13: unknown dialog "prompt"'),
        ('{ trust = "acept" }', 'got "acept"; did you mean "accept"?'),
        ('{ security-notes = "deny" }', 'dialog "security-notes" has no answer that would deny it'),
        ('"ask"', "6:1: expected a table, got a string"),
    ],
)
def test_a_wrong_word_about_dialogs_is_refused(folder: Folder, dialogs: str, expected: str) -> None:
    assert expected in folder.problems(CITY + f"dialogs = {dialogs}\n")


def test_a_dialog_of_the_citys_own_can_be_named(folder: Folder) -> None:
    folder.write("screens/claude.toml", f"{RULE}deny = '^No'\n")
    city = folder.load(CITY + 'dialogs = { x = "deny" }\n')

    assert city.desired.agents[0].dialogs == {"x": "deny"}


def test_a_plain_command_has_no_dialogs(folder: Folder) -> None:
    told = folder.problems('[[agents]]\nname = "a"\nstart_command = "x"\ndialogs.trust = "ask"\n')

    assert 'unknown dialog "trust"' in told
    assert "there are none" in told


def test_the_tables_of_the_file_are_all_listed() -> None:
    assert set(SCREEN_KEYS[""]) == set(ScreensFile.model_fields)
