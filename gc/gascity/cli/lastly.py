"""The records of runs that a command ends where no controller runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gascity.cli.concealed import secrets_of
from gascity.controller.parting import harmless, last_words
from gascity.core.model import City, declared
from gascity.core.observed import SessionState
from gascity.runs.folder import LAST_SCREEN, Runs
from gascity.runs.ids import is_run_id
from gascity.runs.info import RunInfo, Status, seconds_of, utc
from gascity.session.provider import SessionProvider


@dataclass(frozen=True, slots=True)
class Parting:
    """A run that is about to end, and what its session shows."""

    run: str
    words: str


def parting_words(
    city: City,
    providers: Mapping[str, SessionProvider],
    sessions: Sequence[tuple[str, SessionState]],
) -> list[Parting]:
    """Return what these sessions, given with their providers, show; without secrets."""
    specs = {spec.session: spec for spec in declared(city.desired)}
    secrets = {state.run: secrets_of(specs.get(state.name), state) for _, state in sessions}
    found: list[Parting] = []
    for name, provider in providers.items():
        states = [state for where, state in sessions if where == name and is_run_id(state.run)]
        words = last_words(provider, [state.name for state in states]) if states else {}
        found += [
            Parting(state.run, harmless(words.get(state.name, ""), secrets[state.run]).strip())
            for state in states
        ]
    return found


def write_down(folder: str, partings: Sequence[Parting], why: str) -> None:
    """Close the records of runs that were ended; those that cannot be written stay as they are."""
    now = time.time()
    for parting in partings:
        run = Runs(folder).of(parting.run)
        info = run.read_info()
        if not isinstance(info, RunInfo) or info.is_over:
            continue
        began = seconds_of(info.start_time)
        closed = replace(
            info,
            status=Status.COMPLETED,
            asked=True,
            end=why,
            end_time=utc(now),
            duration=None if began is None else round(max(now - began, 0.0), 3),
        )
        with contextlib.suppress(OSError):  # the next controller finds that they are over
            if parting.words:
                run.write(LAST_SCREEN, parting.words + "\n")
            run.write_info(closed)
