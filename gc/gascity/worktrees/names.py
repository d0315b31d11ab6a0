"""What is made for an attempt is called here, and nowhere else: branches, folders, tasks.

No two agents, attempts or issues meet in a name. A part of a path or a branch is a component:
words joined by single dashes, which never begins with a dot.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gascity.journal.where import home

PREFIX = "gc"  # what all branches of ours begin with
FOLDER = "solves"  # in a home, where attempts are written down
ROOT = "worktrees"  # in the user's folder for state, where nobody says where they are to be


def root(environment: Mapping[str, str]) -> str:
    """Return the folder for worktrees of a user, unless another is named."""
    return os.path.join(home(environment), ROOT)


def branches_of(issue: str) -> str:
    """Return what the branches of all attempts at an issue begin with."""
    return f"{PREFIX}/{issue}/"


def branch(issue: str, agent: str, attempt: int) -> str:
    """Return the branch of one agent in one attempt."""
    return f"{branches_of(issue)}{agent}-{attempt}"


def worktree(folder: str, repo: str, issue: str, agent: str, attempt: int) -> str:
    """Return where one agent works in one attempt, below the folder for worktrees."""
    return os.path.join(folder, repo, issue, f"{agent}-{attempt}")


def spare(one_of_its_worktrees: str, attempt: int) -> str:
    """Return where branches of an attempt are merged that nobody has checked out."""
    return os.path.join(os.path.dirname(one_of_its_worktrees), f".merge-{attempt}")


def task(issue: str, agent: str) -> str:
    """Return the task that the runs of one agent at one issue belong to."""
    return f"{issue}-{agent}"


def mark(home: str, issue: str, attempt: int) -> str:
    """Return what marks all that is made for an attempt; `issue` is its whole name."""
    return f"{home}:solve:{issue}/{attempt}"


def home_in(mark_text: str) -> str:
    """Return the home of the attempt that a mark is of; empty for what is no mark."""
    return mark_text.rpartition(":solve:")[0]


def attempt_in(mark_text: str) -> str:
    """Return where the attempt that a mark is of is written down, below the folder for that."""
    return mark_text.rpartition(":solve:")[2]


def attempt_of(branch_name: str) -> int:
    """Return the attempt that a branch is of; 0 for one that is not ours."""
    number = branch_name.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 9 else 0
