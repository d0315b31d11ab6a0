"""What a tool shows in the place of a long paste is known for that, and for nothing more."""

from __future__ import annotations

import pytest
from tests.unit.screens.gallery import Case, cases

from gascity.screens.box import find_box

SIGNS = [
    case
    for case in cases()
    if case.draft.lower().startswith(("[paste", "[saved paste")) and "pasted-and" not in case.file
]
MIXED = [case for case in cases() if "pasted-and-typed" in case.file]


def left(case: Case) -> list[str]:
    """Return what stands in the box beside the sign, for each pattern of a sign."""
    found = find_box(case.screen, case.rules.box)
    assert found is not None
    return [sign.sub("", found.text, count=1).strip() for sign in case.rules.talk.pasted]


def test_signs_of_all_tools_were_recorded() -> None:
    assert {case.backend for case in SIGNS} >= {"claude", "codex", "copilot", "gemini", "opencode"}


@pytest.mark.parametrize("case", SIGNS, ids=lambda case: case.file)
def test_a_sign_is_matched_whole(case: Case) -> None:
    assert "" in left(case)


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case.file)
def test_other_words_beside_a_sign_are_seen(case: Case) -> None:
    assert all(left(case))
