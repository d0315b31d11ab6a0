"""A text with a name, in which problems have places."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from gascity.config.places import Lines, is_hidden
from gascity.config.problems import Problem, cells, visible

_BEFORE, _WIDTH = 60, 120  # characters of a long line shown before the place, and in all
_LOOK_BACK = 2000  # characters searched for the key a broken line belongs to
_HIDDEN = "***"
_PARTS = re.compile(r"""[."']""")
_ASSIGNED = re.compile(r"""(?P<key>[\w."'-]{1,200})[ \t]*=[ \t]*""")


class Source:
    """One file under inspection. `secrets` are the spans of its text that must not be shown.

    None says that it has no secrets, whatever its keys are called.
    """

    def __init__(
        self, file: str, text: str, secrets: Sequence[tuple[int, int]] | None = ()
    ) -> None:
        self.file = file
        self.text = text
        self.lines = Lines(text)
        self._is_open = secrets is None
        self._secrets = sorted(secrets or ())
        self._known = frozenset(left for left, _ in self._secrets)

    def problem(self, offset: int, message: str, hint: str = "") -> Problem:
        """Return a problem at `offset` with the line around it."""
        offset = min(max(offset, 0), len(self.text))
        line, column = self.lines.place(offset)
        first = offset - column + 1
        last = self.text.find("\n", offset)
        last = len(self.text) if last < 0 else last
        start = first if last - first <= _WIDTH else max(first, offset - _BEFORE)
        end = min(last, start + _WIDTH)
        shown, caret = self._render(first, start, end, offset)
        lead = "... " if start > first else ""
        tail = " ..." if end < last else ""
        return Problem(
            file=self.file,
            line=line,
            column=column,
            message=message,
            source_line=f"{lead}{shown}{tail}".rstrip(),
            hint=hint,
            caret=len(lead) + caret,
        )

    def _render(self, first: int, start: int, end: int, offset: int) -> tuple[str, int]:
        """Return the text from `start` to `end` as it may be shown, and the cells up to `offset`.

        `first` is where the line begins.
        """
        parts: list[str] = []
        caret = 0
        at = start
        for left, right in (*self._hidden(first, start, end), (end, end)):
            open_text = self.text[at : max(left, at)]
            parts.append(visible(open_text))
            caret += cells(visible(open_text[: max(offset - at, 0)]))
            if right > max(left, at):
                parts.append(_HIDDEN)
                caret += len(_HIDDEN) if offset >= right else 0
            at = max(at, right)
        return "".join(parts), caret

    def _hidden(self, first: int, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans between `start` and `end` that hold secrets, in order.

        Where the scan knows a value it gives its span. A broken line is hidden from behind the
        equals sign of a key that looks secret to where the line ends.
        """
        spans: list[tuple[int, int]] = []
        if self._is_open:
            return spans
        at = max(bisect.bisect(self._secrets, (start, 0)) - 1, 0)
        for left, right in self._secrets[at:]:
            if left >= end:
                break
            if right > start:
                spans.append((max(left, start), min(right, end)))
        spans.extend(
            (max(found.end(), start), end)
            for found in _ASSIGNED.finditer(self.text, max(first, start - _LOOK_BACK), end)
            if any(map(is_hidden, _PARTS.split(found["key"]))) and found.end() not in self._known
        )
        return sorted(span for span in spans if span[0] < span[1])
