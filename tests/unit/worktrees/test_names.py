"""What is made for agents, attempts and issues never meets in one name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gascity.worktrees import names

PARTS = st.from_regex(r"[a-b0-9_]{1,2}(-[a-b0-9_]{1,2}){0,2}", fullmatch=True)
WHO = st.tuples(PARTS, PARTS, st.integers(1, 12))


@given(WHO, WHO)
def test_two_agents_at_two_issues_never_meet(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    branches = {names.branch(*one), names.branch(*other)}
    trees = {names.worktree("/w", "repo", *one), names.worktree("/w", "repo", *other)}

    assert len(branches) == len(trees) == len({one, other})


@given(WHO, WHO)
def test_where_branches_are_merged_no_agent_works(
    one: tuple[str, str, int], other: tuple[str, str, int]
) -> None:
    tree = names.worktree("/w", "repo", *one)

    assert names.spare(tree, one[2]) != names.worktree("/w", "repo", *other)


@given(WHO)
def test_the_attempt_is_read_from_the_branch(one: tuple[str, str, int]) -> None:
    assert names.attempt_of(names.branch(*one)) == one[2]
