"""Which events somebody means: since when, of what type, about whom.

An agent that is no longer in the city file still has its events, so the journal is asked for names
too, also while the city file is broken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gascity.cli.city import Here, find_agents
from gascity.cli.nearest import did_you_mean
from gascity.config.durations import parse_duration
from gascity.config.problems import quoted
from gascity.core.actions import EventType
from gascity.errors import ConfigError, NotFound, UsageError
from gascity.journal.message import is_type

if TYPE_CHECKING:
    from gascity.journal.events import EventLog, Wanted


def since_when(text: str, now: float) -> int | float | None:
    """Return the number of an event (a whole number), a time, or None for an empty text.

    Raises UsageError for what is none of them.
    """
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    try:
        return float(now - parse_duration(text))
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(
            f"--since cannot be {quoted(text)}",
            hint="a duration such as 10m, a time such as 2026-03-01T15:04,"
            " or the number of an event",
        ) from None


def wanted_events(
    here: Here,
    types: Sequence[str],
    agents: Sequence[str],
    since: float | None,
    log: EventLog | None,
) -> Wanted:
    """Return which events these words mean; `log` holds those there are, if there are any.

    Raises UsageError for a type, and NotFound for an agent, that nobody knows.
    """
    from gascity.journal.events import Wanted

    known = {str(kind) for kind in EventType}
    if log is not None and not known.issuperset(types):
        known |= log.types()  # of another gc, perhaps
    names, pools = _agents(here, agents, log)
    return Wanted(tuple(_type(word, known) for word in types), names, pools, since)


def _type(word: str, known: set[str]) -> str:
    beginning = word.rstrip(".") + "."
    if word in known or is_type(word):  # a message may be of any type
        return word
    if any(kind.startswith(beginning) for kind in known):
        return beginning
    groups = ", ".join(sorted({kind.partition(".")[0] for kind in known}))
    hint = did_you_mean(word, known, otherwise=f"types begin with: {groups}")
    raise UsageError(f"there are no events of type {quoted(word)}", hint=hint)


def _agents(
    here: Here, words: Sequence[str], log: EventLog | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of agents, and those of pools whose members are meant."""
    names: list[str] = []
    pools: list[str] = []
    for word in words:
        try:
            specs = find_agents(here.load(), [word])
            names += [spec.name for spec in specs]
            pools += [spec.pool for spec in specs if spec.pool == word][:1]
        except (ConfigError, NotFound) as problem:
            found, members = _in_the_past(word, log.agents() if log is not None else set())
            if found or members:
                names += found
                pools += [word] if members else []
            elif isinstance(problem, NotFound):
                raise
            else:
                raise NotFound(
                    f"there are no events of an agent {quoted(word)}",
                    hint="the city file cannot be read; `gc check` tells why",
                ) from problem
    return tuple(names), tuple(pools)


def _in_the_past(word: str, known: set[str]) -> tuple[list[str], bool]:
    """Return whom the word meant once, and whether it was a pool."""
    if word in known:
        return [word], False
    if any(re.fullmatch(re.escape(word) + "-[0-9]+", name) for name in known):
        return [], True
    last = [name for name in known if name.rpartition("/")[2] == word]
    return (last, False) if len(last) == 1 else ([], False)
