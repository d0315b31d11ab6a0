"""How an agent that works on an issue stands, out of how its run and its commits stand. Pure.

    STARTING -> RUNNING    its program runs
    RUNNING  -> WORKING    its first commit
    WORKING  -> READY      a commit with the marker
    any      -> FAILED     its program ended without one, or says itself that it failed

What an agent says with its exit code outranks its marker. What ended it from outside, as a limit
does, says nothing of its work: one that was ready stays ready.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gascity.errors import Exit
from gascity.runs.info import RunInfo
from gascity.runs.watchdog import SILENT


class State(StrEnum):
    """How an agent stands."""

    STARTING = "starting"
    RUNNING = "running"
    WORKING = "working"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A state, why it is that, and what a person can do about it."""

    state: State
    why: str = ""
    hint: str = ""


def living(commits: int, ready: str, *, started: bool) -> Verdict:
    """Return how an agent stands that is not over; `ready` is the commit with the marker."""
    if not started:
        return Verdict(State.STARTING)
    if ready:
        return Verdict(State.READY, f"{_says(ready)}; it still runs")
    return Verdict(State.WORKING) if commits else Verdict(State.RUNNING)


def ended(run: RunInfo | None, commits: int, ready: str) -> Verdict:
    """Return how an agent came out; `run` is None where nothing is known of its run."""
    said = _says(ready) if ready else ""
    if run is None:
        return Verdict(State.FAILED, "it was never begun")
    if ready and (run.exit_code in (0, None) or run.asked):
        end = f"; after that it {_outside(run)}" if run.exit_code else ""
        return Verdict(State.READY, f"{said}{end}")
    if run.exit_code == 0:
        what = "and none of its commits has the marker" if commits else "and committed nothing"
        return Verdict(State.FAILED, f"it ended well, {what}")
    why = run.end or "nobody knows how it ended"
    return Verdict(State.FAILED, f"{why}, after {said}" if ready else why, _advice(run))


def exit_code(codes: list[tuple[State, int | None]]) -> int:
    """Return what a command ends with whose agents ended so: 0 when one of them is ready.

    Else what they all ended with, if that is the same, and 1 if it is not.
    """
    if any(state is State.READY for state, _ in codes):
        return Exit.OK
    distinct = {code or Exit.FAILED for _, code in codes}
    return distinct.pop() if len(distinct) == 1 else Exit.FAILED


def _says(ready: str) -> str:
    return f"commit {ready[:10]} says so"


def _outside(run: RunInfo) -> str:
    return run.end if run.end.startswith(("timed out", "was ")) else f"was {run.end}"


def _advice(run: RunInfo) -> str:
    """Return what the protocol says is to be done about an exit code."""
    match run.exit_code:
        case Exit.USAGE:
            return "it says that it was called wrongly: look at its command and settings"
        case Exit.MISSING:
            return "it says that something is not installed: `gc doctor` tells what is here"
        case Exit.TIMED_OUT:
            option = "--idle-timeout" if SILENT in run.end else "--timeout"
            return f"it took too long: {option} gives it more; its work is kept"
        case Exit.INTERRUPTED:
            return "it was interrupted: its work is kept; `gc solve clean ISSUE --force` removes it"
        case 127:
            return "its program is not here: `gc doctor` tells what is"
        case _:
            return ""
