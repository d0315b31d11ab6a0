"""GitHub, by the `gh` command where it is installed: reading an issue, opening a pull request."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

from gascity.errors import GascityError, NotInstalled, UsageError
from gascity.worktrees.git import without_place
from gascity.worktrees.issue import Issue, printable

LIMIT = 120.0  # seconds for an answer


def is_installed() -> bool:
    """Tell whether there is a `gh`."""
    return shutil.which("gh") is not None


def missing(hint: str) -> NotInstalled:
    """Return what to raise where there is no `gh`."""
    return NotInstalled("gh is not installed", hint=hint)


def read_issue(folder: str, word: str) -> Issue:
    """Return an issue of the repository of a folder, by its number, or any by its address.

    Raises NotInstalled, UsageError for a number that can be none, GascityError when `gh` fails.
    """
    which = word.removeprefix("#")
    if which.isdigit() and (len(which) > 10 or not 0 < int(which) < 2**31):
        raise UsageError(f"{word[:20]} is no number of an issue")
    told = _gh(folder, "issue", "view", which, "--json", "number,title,body,url")
    try:
        match json.loads(told):
            case {"number": int(number), "title": str(title), "body": str(body), "url": str(url)}:
                text = body.encode("utf-8", "replace")
                return Issue(str(number), number, printable(url), printable(title), text)
            case _:
                pass
    except ValueError:
        pass
    raise GascityError(f"gh did not tell of issue {word} what was asked")


def open_pull_request(folder: str, *, head: str, base: str, title: str, body: str) -> str:
    """Open a pull request for a branch that was pushed; return its address.

    Raises NotInstalled, GascityError.
    """
    words = ("--head", head, "--base", base, "--title", title, "--body", body)
    told = _gh(folder, "pr", "create", *words)
    found = re.findall(r"https?://\S+", told)
    return found[-1] if found else told.strip()


def _gh(folder: str, *words: str) -> str:
    env = {**without_place(os.environ), "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}
    try:
        done = subprocess.run(
            ["gh", *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    except FileNotFoundError:
        raise missing("give the issue as a file") from None
    except subprocess.TimeoutExpired:
        raise GascityError(f"gh {words[0]} took longer than {LIMIT:g} s") from None
    except OSError as problem:
        raise GascityError(f"gh cannot be run: {problem.strerror}") from problem
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = said[0] if said else f"it ended with code {done.returncode}"
        raise GascityError(f"gh {words[0]} {words[1]} failed: {why}")
    return done.stdout.decode("utf-8", "replace")
