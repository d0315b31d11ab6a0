"""A thread that tells when a city's files may have changed.

Folders are watched, because editors put a new file in the place of the old one, and never with what
is below them: a city can stand in a large source tree, and `.gc` changes all the time. Several
changes in a short while are told once. Where the system cannot watch, that is told, once, and the
patrol of the loop has to do; and once that it can again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gascity.controller.messages import Changed, Message, Unwatched
from gascity.controller.sources import Sign, signed, watched

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

QUIET = 200  # milliseconds without another change, until changes are told ...
LONGEST = 1600  # ... and milliseconds after which they are told in any case


class FileWatch:
    """Watches from the first `expect` until closed."""

    def __init__(self, root: str, post: Callable[[Message], None]) -> None:
        self._root = root
        self._post = post
        self._expected: tuple[Sequence[str], Mapping[str, Sign]] = ((), {})
        self._renew = threading.Event()
        self._ended = False
        self._lost = ""
        self._thread: threading.Thread | None = None

    def expect(self, sources: Sequence[str], signs: Mapping[str, Sign]) -> None:
        """Watch these files from now on; `signs` is how they were when they were read."""
        self._expected = sources, signs
        self._renew.set()
        if self._thread is None and not self._ended:
            self._thread = threading.Thread(target=self._run, name="files", daemon=True)
            self._thread.start()

    def retry(self) -> None:
        """Try again where nothing could be watched."""
        if self._lost:
            self._renew.set()

    def close(self) -> None:
        """Stop watching."""
        self._ended = True
        self._renew.set()

    def _run(self) -> None:
        while not self._ended:
            self._renew.clear()
            if not self._ended:
                self._watch()

    def _watch(self) -> None:
        """Watch until there is something else to watch, or wait for that."""
        try:
            self._tell(*self._expected)
        except FileNotFoundError:  # a folder went since it was found
            self._renew.wait(QUIET / 1000)
        except (ImportError, OSError, RuntimeError) as problem:
            why = str(problem) or type(problem).__name__
            if not self._lost:
                self._post(Unwatched(why))
            self._lost = why
            self._renew.wait()

    def _tell(self, sources: Sequence[str], signs: Mapping[str, Sign]) -> None:
        place = watched(sources, self._root)
        with _notify(sorted(place.folders)) as notify:
            if self._lost:
                self._post(Unwatched(""))
            self._lost = ""
            if signed(sources) != signs:  # they changed before they were watched
                self._post(Changed())
            while not self._renew.is_set():
                found = notify.watch(LONGEST, QUIET, 0, self._renew)
                if not isinstance(found, str) and any(place.matters(path) for _, path in found):
                    self._post(Changed())


def _notify(folders: list[str]) -> RustNotify:
    """Return a watch on folders, without what is below them. Raises OSError or RuntimeError."""
    from watchfiles._rust_notify import RustNotify  # noqa: PLC0415  it brings anyio along

    return RustNotify(folders, False, False, 0, False, False)  # noqa: FBT003  it takes no names
