"""`gc solve compare`: the agents of an attempt side by side, and a check of the user's in each.

Each agent is a column; where a terminal is too narrow for that, each is a row, and what it changed
stands in a block of its own. A pipe gets columns, however many there are.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from gascity.cli.board import terminal_size
from gascity.cli.cells import padded, width
from gascity.cli.city import Here
from gascity.cli.render import ago, plain, table
from gascity.cli.running import say, signals
from gascity.cli.solve_check import Checked
from gascity.cli.solve_check import check as run
from gascity.cli.solve_found import newest
from gascity.config.problems import visible
from gascity.errors import Exit, GascityError
from gascity.runs import job
from gascity.runs.stops import Stops
from gascity.worktrees.losses import uncommitted
from gascity.worktrees.progress import Changed, changes, subjects
from gascity.worktrees.record import Part
from gascity.worktrees.standing import Standing, repository_of

_MOST = 60  # files that are shown to people
_FACTS = ("STATE", "COMMITS", "FILES", "LINES", "UNCOMMITTED", "TIME")
_SPARE = ("TIME", "UNCOMMITTED", "FILES", "LINES", "COMMITS")


@dataclass(frozen=True, slots=True)
class Column:
    """All about one agent. `checked` is None where no check was wanted."""

    part: Part
    lasted: float | None
    commits: list[str]
    files: list[Changed]
    uncommitted: int | None
    checked: Checked | None = None


def compare(
    here: Here,
    issue: str,
    attempt: int | None,
    *,
    check: str,
    limit: float | None,
    as_json: bool,
) -> int:
    """Show it, and return what to end with: 1 when a check passes nowhere. Raises GascityError."""
    home, standing = newest(here, issue, attempt)
    columns = [_column(standing, part) for part in standing.solve.parts]
    interrupted = 0
    if check:
        stops = Stops()
        with signals(stops.set), standing.place.checking():
            columns = [
                replace(one, checked=run(here, home, standing, one.part, check, limit, stops))
                for one in columns
            ]
        interrupted = job.code_of(stops.whole.reason) if stops.whole.is_set() else 0
    if as_json:
        sys.stdout.write(_document(standing, columns, check))
    else:
        _show(columns)
    sys.stdout.flush()
    if check and not as_json:
        for one in columns:
            if one.checked is not None and one.checked.code and one.checked.run:
                say(f"hint: {one.part.agent}: `gc runs logs {one.checked.run}` shows its check")
    passes = not check or any(one.checked is not None and one.checked.code == 0 for one in columns)
    return interrupted or (Exit.OK if passes else Exit.FAILED)


def _column(standing: Standing, part: Part) -> Column:
    repo, progress = repository_of(standing.solve), part.progress
    lasted = standing.lasted(part, time.time())
    try:
        commits = subjects(repo, progress.since, progress.tip)[: progress.commits]
        files = changes(repo, progress.since, progress.tip) if progress.commits else []
    except GascityError:
        commits, files = [], []  # they are gone with their branch
    return Column(part, lasted, commits, files, uncommitted(part.worktree))


def _show(columns: list[Column]) -> None:
    tables = _side_by_side(columns)
    widest = max(width(line) for line in tables.splitlines())
    if not sys.stdout.isatty() or widest <= terminal_size()[0]:
        sys.stdout.write(tables + "".join(_block(one, ()) for one in columns))
        return
    titles = _titles(columns)
    rows = [[one.part.agent, *_facts(one)[: len(titles)]] for one in columns]
    table(("AGENT", *titles), rows, state=1, spare=_SPARE)
    sys.stdout.write("".join(_block(one, one.files) for one in columns))


def _titles(columns: list[Column]) -> tuple[str, ...]:
    return (*_FACTS, "CHECK") if any(one.checked for one in columns) else _FACTS


def _facts(one: Column) -> list[str]:
    """Return what `_FACTS` names, and how the check came out."""
    progress = one.part.progress
    return [
        str(one.part.state),
        str(progress.commits),
        str(progress.files),
        progress.lines,
        "?" if one.uncommitted is None else str(one.uncommitted),
        "-" if one.lasted is None else ago(one.lasted),
        one.checked.why if one.checked else "-",
    ]


def _side_by_side(columns: list[Column]) -> str:
    agents = [one.part.agent for one in columns]
    facts = list(zip(*map(_facts, columns), strict=True))
    rows = [[title.lower(), *row] for title, row in zip(_titles(columns), facts, strict=False)]
    text = plain(["", *agents], rows)
    if paths := sorted({file.path for one in columns for file in one.files}):
        text += "\n" + plain(["FILE", *agents], [_row(path, columns) for path in paths[:_MOST]])
        text += _more(paths)
    return text


def _row(path: str, columns: list[Column]) -> list[str]:
    cells = [_path(path)]
    for one in columns:
        found = next((file for file in one.files if file.path == path), None)
        cells.append("-" if found is None else _lines(found))
    return cells


def _block(one: Column, files: Sequence[Changed]) -> str:
    """Return what an agent committed, and these files; nothing where it committed nothing."""
    if not one.commits:
        return ""
    text = f"\n{one.part.agent}: {one.part.branch}\n"
    text += "".join(f"  {visible(commit)}\n" for commit in one.commits)
    room = max((width(_lines(file)) for file in files), default=0)
    for file in files[:_MOST]:
        text += f"  {padded(_lines(file), room)}  {_path(file.path)}\n"
    return text + _more(files)


def _more(files: Sequence[object]) -> str:
    return f"... and {len(files) - _MOST} more\n" if len(files) > _MOST else ""


def _lines(file: Changed) -> str:
    return f"+{file.added} -{file.removed}"


def _path(path: str) -> str:
    return visible(os.fsencode(path).decode("utf-8", "backslashreplace"))


def _document(standing: Standing, columns: list[Column], check: str) -> str:
    told = {
        "issue": standing.place.issue,
        "project": standing.place.project,
        "attempt": standing.place.attempt,
        "check": check,
        "agents": [
            {
                "agent": one.part.agent,
                "branch": one.part.branch,
                "worktree": one.part.worktree,
                "state": one.part.state,
                "why": one.part.why,
                "seconds": one.lasted,
                "commits": one.commits,
                "files": [asdict(file) for file in one.files],
                "uncommitted": one.uncommitted,
                "check": None if one.checked is None else asdict(one.checked),
            }
            for one in columns
        ],
    }
    return json.dumps(told, indent=2) + "\n"
