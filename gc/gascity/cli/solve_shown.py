"""What is shown of attempts at issues: tables, documents, and one while it is carried out."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict

from gascity.cli.app import stop_writing
from gascity.cli.render import ago
from gascity.cli.running import say
from gascity.cli.solve_voices import Voices
from gascity.config.durations import format_duration
from gascity.config.problems import visible
from gascity.errors import GascityError
from gascity.runs.folder import STDERR, STDOUT, RunFolder
from gascity.worktrees.listening import Heard, Listener, Source
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.solving import Attempt
from gascity.worktrees.standing import Standing, has_worktree, look
from gascity.worktrees.verdict import State

COLUMNS = ("ISSUE", "AGENT", "STATE", "COMMITS", "FILES", "LINES", "TIME", "WHY")
SPARE = ("LINES", "FILES", "TIME", "COMMITS", "ISSUE")
STATE = COLUMNS.index("STATE")


class Showing:
    """An attempt while it is carried out: what agents say, and how they move."""

    def __init__(self, attempt: Attempt, *, verbose: bool, as_json: bool) -> None:
        self._attempt, self._as_json = attempt, as_json
        names = [part.agent for part in attempt.solve.parts]
        self._voices = Voices(names, as_json=as_json, verbose=verbose)
        self._listener = Listener()
        self._spoke: set[str] = set()
        self._mute = False

    def begin(self) -> None:
        """Say what begins, to people."""
        solve = self._attempt.solve
        who = ", ".join(part.agent for part in solve.parts)
        where = f"from {solve.base.name} {solve.base.commit[:10]}"
        limit = f", {format_duration(solve.timeout)} each" if solve.timeout is not None else ""
        if not self._as_json:
            head = f"{heading(solve)}attempt {solve.attempt} by {who}, {where}{limit}\n"
            self._write(lambda: sys.stdout.write(head))

    def began(self, part: Part, folder: RunFolder) -> None:
        """Listen to an agent."""
        form = self._attempt.jobs[part.agent].format
        self._listener.add(Source(part.agent, "stdout", folder.file(STDOUT), form))
        self._listener.add(Source(part.agent, "stderr", folder.file(STDERR)))
        facts = {"state": State.STARTING.value, "run": part.run, "worktree": part.worktree}
        self._write(lambda: self._voices.tell(part.agent, f"starts in {part.worktree}", **facts))

    def moved(self, part: Part) -> None:
        """Say that an agent is in another state."""
        if part.over:
            for heard in self._listener.finish(part.agent):
                self._say(heard)
        progress = part.progress
        commits = f" ({progress.commits} commit{'' if progress.commits == 1 else 's'})"
        text = f"{part.state}{commits if progress.commits else ''}"
        text += f": {visible(part.why)}" if part.why else ""
        facts: dict[str, object] = {
            "state": part.state.value,
            "over": part.over,
            "exit_code": part.exit_code,
            "commits": progress.commits,
        }
        self._write(lambda: self._voices.tell(part.agent, text, **facts))

    def warned(self, part: Part, text: str) -> None:
        """Say what is odd."""
        say(f"warning: {part.agent}: {visible(text)}")

    def look(self) -> None:
        """Show what was said since."""
        for heard in self._listener.hear():
            self._say(heard)
        self._write(self._voices.flush)

    def end(self, solve: Solve) -> None:
        """Show how all of them came out, and what can be done now."""
        self._listener.close()
        try:
            standing = look(self._attempt.home, self._attempt.place)
        except GascityError:  # its record is gone, or cannot be read: what we know is true
            standing = Standing(self._attempt.place, solve, {})
        if self._as_json:
            told = json.dumps({"event": "end", **document(standing)}) + "\n"
            self._write(lambda: sys.stdout.write(told))
            return
        self._write(lambda: show([standing]))
        for hint in hints(solve, self._spoke):
            say(f"hint: {hint}")

    def _say(self, heard: Heard) -> None:
        self._spoke.add(heard.agent)
        self._write(lambda: self._voices.say(heard))

    def _write(self, how: Callable[[], object]) -> None:
        """Write to who reads; the work goes on without a reader."""
        if self._mute:
            return
        try:
            how()
            sys.stdout.flush()
        except OSError as problem:
            self._mute = True
            stop_writing()
            if not isinstance(problem, BrokenPipeError):
                say(f"warning: nothing is shown any more: {problem.strerror}")


def heading(solve: Solve) -> str:
    """Return the line that says which issue it is."""
    return f"issue {solve.issue}: {visible(solve.title)}\n"


def hints(solve: Solve, spoke: Collection[str]) -> Iterator[str]:
    """Yield what a person can do now, each once; `spoke` are the agents that said something."""
    advised: dict[str, list[str]] = {}
    for part in solve.parts:
        advised.setdefault(part.hint, []).append(part.agent)
    for hint, agents in advised.items():
        if hint:
            yield f"{', '.join(agents)}: {hint}"
    issue = solve.issue
    failed = [one for one in solve.parts if one.state is State.FAILED and not one.hint]
    if heard := [part.agent for part in failed if part.agent in spoke and not part.gone]:
        who, them = _whom(heard), "it" if len(heard) == 1 else "they"
        yield f"`gc solve logs {issue} {who}` shows what {them} said"
    if ready := [part.agent for part in solve.parts if part.state is State.READY]:
        yield f"`gc solve compare {issue}`, then `gc solve pick {issue} {_whom(ready)}`"


def _whom(agents: Sequence[str]) -> str:
    """Return what stands for an agent in a command: which of several is not for us to say."""
    return agents[0] if len(agents) == 1 else "AGENT"


def show(standings: Sequence[Standing], *, now: float | None = None) -> None:
    """Print the table of agents."""
    from gascity.cli import render

    render.table(COLUMNS, rows(standings, now or time.time()), state=STATE, spare=SPARE)


def rows(standings: Sequence[Standing], now: float) -> list[list[str]]:
    """Return the rows of the table of agents."""
    bare = len({one.place.project for one in standings}) == 1
    found = []
    for one in standings:
        issue = one.place.issue if bare else one.place.name
        label = f"{issue} ({one.place.attempt})" if one.place.attempt > 1 else issue
        found += [[label, *_cells(one, part, now)] for part in one.solve.parts]
    return found


def document(standing: Standing) -> dict[str, object]:
    """Return an attempt as `--json` prints it."""
    solve, now = standing.solve, time.time()
    whole = asdict(solve)
    whole["running"] = not solve.ended
    whole["folder"] = standing.place.path
    for part, told in zip(solve.parts, whole["parts"], strict=True):
        told["seconds"] = standing.lasted(part, now)
        told["worktree_exists"] = has_worktree(part)
    agents = whole.pop("parts")
    return {**whole, "agents": agents}


def _cells(standing: Standing, part: Part, now: float) -> list[str]:
    progress, lasted = part.progress, standing.lasted(part, now)
    solve = standing.solve
    why = f"picked: {solve.picked_how}" if solve.picked == part.agent else part.why
    gone = "its worktree is gone; " if part.gone else ""
    return [
        part.agent,
        str(part.state),
        str(progress.commits),
        str(progress.files),
        progress.lines,
        "-" if lasted is None else ago(lasted),
        visible(f"{gone}{why}") or "-",
    ]
