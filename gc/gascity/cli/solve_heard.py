"""`gc solve logs`: what agents said about an issue, and what they say while they say it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gascity.cli.following import look_at_the_reader
from gascity.cli.solve_voices import Voices
from gascity.core.oneshot import format_named
from gascity.runs.folder import STDERR, STDOUT
from gascity.runs.places import Home
from gascity.runs.reconcile import settle
from gascity.worktrees.listening import Listener, Source
from gascity.worktrees.place import SolvePlace
from gascity.worktrees.record import Part, Solve
from gascity.worktrees.standing import glance, run_folder, run_of

PACE = 0.2  # seconds between two looks at what agents say


def print_logs(
    home: Home,
    place: SolvePlace,
    agents: Sequence[str],
    *,
    follow: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Print what these agents said, or all of them; go on until they are over if that is wanted."""
    listener = Listener()
    try:
        solve = place.read()
        parts = _chosen(solve, agents)
        voices = Voices([part.agent for part in parts], as_json=as_json, verbose=verbose)
        known: set[str] = set()
        while True:
            for part in parts:
                if part.run and part.agent not in known:
                    known.add(part.agent)
                    _listen(listener, home, solve, part)
            for heard in listener.hear():
                voices.say(heard)
            voices.flush()
            if not follow or all(part.over for part in parts):
                break
            look_at_the_reader()
            time.sleep(PACE)  # nothing tells when another process writes to a file
            settle(home)
            solve = glance(home, place)
            parts = _chosen(solve, agents)
        for part in parts:
            for heard in listener.finish(part.agent):
                voices.say(heard)
        voices.flush()
    finally:
        listener.close()


def _listen(listener: Listener, home: Home, solve: Solve, part: Part) -> None:
    folder, run = run_folder(home, solve, part), run_of(home, solve, part)
    form = format_named(run.format if run else "")
    listener.add(Source(part.agent, "stdout", folder.file(STDOUT), form))
    listener.add(Source(part.agent, "stderr", folder.file(STDERR)))


def _chosen(solve: Solve, agents: Sequence[str]) -> list[Part]:
    return [part for part in solve.parts if not agents or part.agent in agents]
