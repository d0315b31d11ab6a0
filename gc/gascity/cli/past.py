"""Showing what a journal holds, for `gc events` and `gc bus`."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from gascity.errors import UsageError

if TYPE_CHECKING:
    from gascity.journal.events import EventLog, Page, Wanted

PATIENCE = 5.0  # for a journal that somebody is changing

_ACTED_ON = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")

Show = Callable[[Mapping[str, object]], None]


@contextlib.contextmanager
def opened(path: str) -> Iterator[EventLog | None]:
    """Yield what a journal holds; None where there is none yet.

    Raises OSError when nobody may know that: what cannot be seen is not taken for empty.
    """
    try:
        os.stat(path)
    except FileNotFoundError:
        yield None
        return
    from gascity.journal.store import Journal

    journal = Journal(path, patience=PATIENCE)
    try:
        yield journal.events
    finally:
        journal.close()


def as_line(document: Mapping[str, object]) -> str:
    """Return a document as one line of JSON; what a terminal would act on is written out."""
    text = json.dumps(document, ensure_ascii=False)
    return _ACTED_ON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def show_past(
    log: EventLog,
    wanted: Wanted,
    after: int,
    count: int,
    show: Show,
    expect: Callable[[Page], None] = lambda _: None,
) -> tuple[int, int]:
    """Show the last `count` wanted, or all, numbered above `after`; what is gone is told.

    Returns the number up to which all was seen, and how many were shown. `expect` is called with
    each page before it is shown. Raises UsageError for a number that there was never.
    """
    from gascity.cli.following import gone
    from gascity.controller.feed import document

    pages = [log.newest(count, wanted, after=after)] if count else log.every(after, wanted)
    upto = shown = 0
    for page in pages:
        if page.last < after or page.anew:
            last = f"the last one is {page.last}" if page.last else "there are none"
            raise UsageError(f"there was no event {after} yet", hint=last)
        if after and page.misses:
            sys.stderr.write(gone(page.after, page.first) + "\n")
        expect(page)
        for entry in page.entries:
            show(document(entry))
        upto, shown = page.upto, shown + len(page.entries)
    return upto, shown
