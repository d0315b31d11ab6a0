"""What is to be known of one coding tool that can call a program on events: data, and its file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gascity.errors import GascityError
from gascity.screens.reading import Kind


class Untouchable(GascityError):
    """A file of the user's cannot be changed without a loss, and is left as it is."""


@dataclass(frozen=True, slots=True)
class Hooked:
    """One backend that has hooks.

    `events` maps the events that are reported to what the agent does from then on, None where that
    does not tell; `details` says otherwise for an event with a detail. `end_event` tells that the
    tool's own session is over; `primes` that an event at its start lets an agent prime itself.

    `path` gives the file the hooks stand in, from the work folder and the agent's environment.
    `merged` returns the file's content with our hooks in it and all else as it is, `stripped`
    without them; both raise Untouchable. `empty` is a file in which nothing is said.
    """

    name: str
    events: Mapping[str, Kind | None]
    path: Callable[[str, Mapping[str, str]], str]
    merged: Callable[[bytes | None, str], bytes]
    stripped: Callable[[bytes], bytes]
    empty: bytes
    details: Mapping[tuple[str, str], Kind | None] = field(default_factory=dict)
    end_event: str = ""
    primes: bool = False

    def kind(self, event: str, detail: str) -> Kind | None:
        """Return what the agent does after an event; None when that does not tell."""
        return self.details.get((event, detail), self.events.get(event))


def command(gc: str, *words: str) -> str:
    """Return the shell text by which a tool calls this `gc`."""
    return shlex.join([gc, "hook", *words])
