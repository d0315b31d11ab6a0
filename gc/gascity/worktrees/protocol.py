"""What an agent is told: five variables, and for who reads a prompt the same in words."""

from __future__ import annotations

from collections.abc import Mapping

from gascity.worktrees.issue import Issue

MARKER = "cocode ready for check"
BODY = "issue.md"  # the file in the folder of its run


def environment(issue: Issue, worktree: str, body_file: str, marker: str) -> Mapping[str, str]:
    """Return the variables of the protocol."""
    return {
        "COCODE_REPO_PATH": worktree,
        "COCODE_ISSUE_NUMBER": str(issue.number),
        "COCODE_ISSUE_URL": issue.url or f"file://{body_file}",
        "COCODE_ISSUE_BODY_FILE": body_file,
        "COCODE_READY_MARKER": marker,
    }


def prompt(issue: Issue, marker: str) -> str:
    """Return what an agent is asked to do; the issue comes last and as it is."""
    number = f" #{issue.number}" if issue.number else ""
    where = f"\nIt is at {issue.url}" if issue.url else ""
    begins = issue.text.lstrip("# \n").startswith(issue.title)
    heading = "" if begins else f"# {issue.title}\n\n"
    return f"""\
Resolve the issue{number} below.{where}

You are in a git worktree of your own, on a branch of your own, with a clean checkout. Others may
be working on the same issue in other worktrees: stay in yours. Commit each significant step with
git; only what is committed counts. Push nothing and open no pull request.

When the issue is resolved and checked, say so with a last commit whose message has this line:

{marker}

Without that line your work counts as unfinished. If you cannot resolve it, say why and end
without it.

---

{heading}{issue.text}"""
