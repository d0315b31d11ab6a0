"""How rules are tried on a screen."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from gascity.screens.box import find_box
from gascity.screens.classify import classify, trials
from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import NO_RULES, Box, Region, Rule, RuleBook, Rules
from gascity.screens.screen import Screen

BOX = Box(first=re.compile(r"> ?(?P<text>.*)$"), beneath=2)
READY = Rule("ready", Kind.READY, Region.BOX, box=True)


def rule(kind: Kind, match: str, region: Region = Region.BOTTOM, **more: object) -> Rule:
    made = Rule(str(kind), kind, region, tuple(re.compile(part) for part in match.split(" & ")))
    return replace(made, **more)  # type: ignore[arg-type]  # the fields of a rule, by their names


def rules(*those: Rule, **more: object) -> Rules:
    return replace(Rules(box=BOX, rules=those), **more)  # type: ignore[arg-type]  # likewise


def test_the_first_rule_that_holds_counts() -> None:
    both = rules(rule(Kind.WORKING, "busy"), rule(Kind.ERROR, "failed"), READY)

    assert classify(Screen.of("failed\nbusy\n>"), both).kind is Kind.WORKING
    assert classify(Screen.of("failed\n>"), both).kind is Kind.ERROR
    assert classify(Screen.of("well\n>"), both).kind is Kind.READY


def test_a_reading_names_its_rule_and_the_row_that_proves_it() -> None:
    seen = classify(Screen.of("all is well\n  busy now\n>"), rules(rule(Kind.WORKING, "busy")))

    assert (seen.rule, seen.region, seen.evidence) == ("working", "bottom", "busy now")


def test_every_pattern_must_be_found() -> None:
    asks = rules(rule(Kind.DIALOG, "trust & Enter", box=False))

    assert classify(Screen.of("trust it?\nEnter"), asks).kind is Kind.DIALOG
    assert classify(Screen.of("trust it?"), asks).kind is None


def test_no_counter_evidence_may_be_found() -> None:
    asks = rules(rule(Kind.DIALOG, "trust", unless=(re.compile("restarting"),)))

    assert classify(Screen.of("trust it?"), asks).kind is Kind.DIALOG
    assert classify(Screen.of("trust it?\nrestarting"), asks).kind is None


def test_where_the_box_is_there_is_no_dialog() -> None:
    asks = rules(rule(Kind.DIALOG, "trust", box=False, policy=Policy.ACCEPT), READY)

    assert classify(Screen.of("trust it?"), asks).kind is Kind.DIALOG
    assert classify(Screen.of("trust it?\n>"), asks).kind is Kind.READY


def test_the_draft_is_told_with_every_reading() -> None:
    busy = rules(rule(Kind.WORKING, "busy"))

    assert classify(Screen.of("busy\n> half a"), busy).draft == "half a"
    assert classify(Screen.of("well\n> half a"), busy).draft == "half a"


def test_the_bottom_has_so_many_rows_that_are_not_empty() -> None:
    low = rules(rule(Kind.WORKING, "busy", lines=2))

    assert classify(Screen.of("busy\n\n\nlast"), low).kind is Kind.WORKING
    assert classify(Screen.of("busy\none\n\ntwo"), low).kind is None


def test_a_turn_begins_with_the_last_message_and_ends_above_the_box() -> None:
    failed = rules(rule(Kind.ERROR, "failed", Region.TURN), turn=re.compile("^me:"))

    assert classify(Screen.of("me: go\nfailed\n>"), failed).kind is Kind.ERROR
    assert classify(Screen.of("me: go\nfailed\nme: again\nwell\n>"), failed).kind is None
    assert classify(Screen.of("me: go\nwell\n> failed"), failed).kind is None


def test_the_title_and_the_rows_beneath_are_regions() -> None:
    both = rules(
        rule(Kind.WORKING, "^busy", Region.TITLE), rule(Kind.AUTH, "login", Region.BENEATH)
    )

    assert classify(Screen.of("well\n>", "busy"), both).kind is Kind.WORKING
    assert classify(Screen.of("well\n>\nlogin"), both).kind is Kind.AUTH
    assert classify(Screen.of("login\nbusy\n>"), both).kind is None


def test_a_wrapped_question_is_put_together_where_there_is_no_box() -> None:
    asks = rules(rule(Kind.DIALOG, "trust the files in this folder", box=False))

    assert classify(Screen.of("│ Do you trust the │\n│ files in this folder? │"), asks).kind
    assert classify(Screen.of("Do you trust the\n\nfiles in this folder?"), asks).kind is None


def test_where_the_box_is_the_column_counts() -> None:
    failed = rules(rule(Kind.ERROR, "^failed", Region.TURN))

    assert classify(Screen.of("failed\n>"), failed).kind is Kind.ERROR
    assert classify(Screen.of("  failed\n>"), failed).kind is None


def test_a_limit_says_when_it_ends() -> None:
    now = datetime(2026, 11, 16, 1, tzinfo=UTC).timestamp()
    limit = rule(Kind.LIMITED, "limit", resets=re.compile("resets (?P<resets>[^.]+)"))

    assert classify(Screen.of("limit · resets in 5\nminutes. Bye"), rules(limit), now).until == (
        now + 300
    )
    assert classify(Screen.of("limit"), rules(limit), now).until is None
    assert classify(Screen.of("limit resets whenever"), rules(limit), now).until is None


def test_a_rule_is_for_its_versions() -> None:
    old = rules(
        rule(Kind.WORKING, "busy", versions="<2"),
        version=re.compile(r"v(?P<version>[\d.]+)"),
    )

    assert classify(Screen.of("tool v1.9\nbusy"), old).kind is Kind.WORKING
    assert classify(Screen.of("tool v2.0.1\nbusy"), old).kind is None
    assert classify(Screen.of("tool\nbusy"), old).kind is Kind.WORKING


def test_nothing_is_read_from_a_program_that_ended() -> None:
    busy = rules(rule(Kind.WORKING, "busy"), READY)

    assert classify(replace(Screen.of("busy\n>"), alive=False), busy).kind is None
    assert classify(Screen.of("busy\n>\nPane is dead (status 1, now)"), busy).kind is None


def test_an_empty_screen_is_blank() -> None:
    assert classify(Screen.of("\n \n"), NO_RULES).is_blank
    assert not classify(Screen.of("?"), NO_RULES).is_blank


def test_a_trial_says_why_a_rule_does_not_hold() -> None:
    tried = rules(
        rule(Kind.DIALOG, "trust", box=False),
        rule(Kind.WORKING, "busy"),
        rule(Kind.ERROR, "well", unless=(re.compile("well"),)),
        rule(Kind.AUTH, "x", versions="<2"),
        version=re.compile(r"v(?P<version>\d)"),
    )
    screen = Screen.of("v3 well\n>")

    assert [t.why_not for t in trials(screen, tried, find_box(screen, BOX))] == [
        "the input box is there",
        "/busy/ is not found in bottom",
        "'v3 well' speaks against it",
        "it is for versions <2, this is 3",
    ]


def test_a_backend_without_rules_is_known_by_its_prompt() -> None:
    book = RuleBook()

    assert classify(Screen.of("hi\n$ "), book.of("mine", "$ ")).kind is Kind.READY
    assert classify(Screen.of("hi\nbusy"), book.of("mine", "$ ")).kind is None
    assert book.of("mine") is NO_RULES
