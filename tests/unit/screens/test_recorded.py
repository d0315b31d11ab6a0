"""Every screen that was recorded is read as a careful person would read it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.screens.gallery import BACKENDS, FOLDER, NOW, Case, cases

from gascity.config.screens import shipped, shipped_names
from gascity.screens.classify import classify, has_ended
from gascity.screens.options import find, read_options
from gascity.screens.reading import Kind, Reading
from gascity.screens.rules import Rules

ALL = cases()


def read(case: Case, rules: Rules | None = None) -> Reading:
    return classify(case.screen, rules or case.rules, NOW)


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.file)
def test_a_screen_is_read_right(case: Case) -> None:
    seen = read(case)
    kind = "ended" if has_ended(case.screen) else seen.kind or "none"

    assert (kind, seen.rule, seen.has_box) == (case.kind, case.rule, case.box)
    assert seen.draft.startswith(case.draft)
    assert bool(seen.draft) == bool(case.draft)
    assert seen.until == case.until


def test_every_screen_has_its_expectation_and_every_expectation_its_screen() -> None:
    there = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.txt")}

    assert there == {case.file for case in ALL}


def test_there_are_screens_and_rules_of_every_backend() -> None:
    assert set(BACKENDS) == shipped_names()
    assert set(BACKENDS) <= {case.backend for case in ALL}


def test_no_living_agent_would_be_called_blocked() -> None:
    unknown = [
        case
        for case in ALL
        if not has_ended(case.screen)
        and read(case).kind is None
        and not read(case).has_box
        and not read(case).is_blank
    ]

    assert all(case.why for case in unknown), [case.file for case in unknown if not case.why]
    assert {case.file for case in ALL if case.why} == {case.file for case in unknown}


def test_no_dialog_is_called_ready_whatever_the_title_says() -> None:
    asking = [c for c in ALL if c.kind in {"dialog", "waiting", "auth"} and not c.box]

    assert len(asking) > 40
    for case in asking:
        for title in ("", case.title, "✳ Claude Code", "◇  Ready (work)", "work"):
            assert read(replace(case, title=title)).kind is not Kind.READY, case.file
            assert not read(replace(case, title=title)).has_box, case.file


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_rule_can_be_deleted_unnoticed(backend: str) -> None:
    rules = shipped(backend)
    assert rules is not None
    own = [case for case in ALL if case.backend == backend]

    for rule in rules.rules:
        rest = replace(rules, rules=tuple(r for r in rules.rules if r is not rule))
        changed = [
            case
            for case in own
            if (read(case, rest).kind, read(case, rest).rule) != (read(case).kind, read(case).rule)
        ]
        assert changed, f"{backend}: nothing needs the rule {rule.name}"


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_hint_of_a_program_is_taken_for_a_draft(backend: str) -> None:
    rules = shipped(backend)
    assert rules is not None
    assert rules.box is not None

    for pattern in rules.box.empty:
        fewer = tuple(p for p in rules.box.empty if p is not pattern)
        rest = replace(rules, box=replace(rules.box, empty=fewer))
        own = (case for case in ALL if case.backend == backend)
        assert any(read(case, rest).draft for case in own if not case.draft), pattern.pattern


DIALOGS = [case for case in ALL if case.kind == "dialog"]


@pytest.mark.parametrize("case", DIALOGS, ids=lambda case: case.file)
def test_the_answers_to_a_dialog_are_found_by_their_labels(case: Case) -> None:
    rule = case.rules.rule(case.rule)
    assert rule is not None
    options = read_options(case.screen)

    for label, denying in ((rule.accept, False), (rule.deny, True)):
        if label is not None:
            assert options is not None
            assert find(options, label, denying=denying) is not None, label.pattern
    if rule.keys:
        assert options is None
