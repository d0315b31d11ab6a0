"""A dialog with the manners of real ones, as a model and as a program.

`Dialog` is told which keys came when, and tells what is drawn; the same model lives in a test, on
a clock of the test, and in a real terminal: `python -m tests.zoo.dialogs SPEC`, SPEC as JSON.
The program writes to the file that ZOO_LOG names: `keys` as they came, what was `chosen`, and
`stray` keys that came after that. An input box that is drawn before the dialog goes at once when
the file is there that ZOO_GO names.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
import termios
import tty
from dataclasses import asdict, dataclass, field
from time import monotonic
from typing import Any

from tests.zoo.kit import log, size, width, wrapped

QUESTION = "Quick check: may this program go on?"
AFTER = ("All is well.", "", "─" * 20, "❯\N{NO-BREAK SPACE}", "─" * 20)  # noqa: RUF001 - a box
_KEYS = {"\x1b[A": "Up", "\x1b[B": "Down", "\x1bOA": "Up", "\x1bOB": "Down", "\r": "Enter"}
GLANCE = 0.02  # seconds between two looks for that file
_KEY = re.compile(r"\x1b(?:\[[0-9;?<>=]*[@-~]|O[@-~])|.", re.DOTALL)


@dataclass(frozen=True)
class Spec:
    """What a dialog looks like, and what it does to keys.

    `wrap`: long labels go on under the label ("hang"), two cells deeper ("deep"), under the number
    ("flat"), or are broken by the terminal ("hard"). `digits`: what a digit does, "" for nothing.
    `slow` is how late keys are acted on, `lag` how late that is drawn. `deaf`: keys that come
    earlier are lost. `burst`: of keys in one read, Enter acts on the selection before them.
    `box`: an input box is drawn for so many seconds before the dialog. `next`: another dialog
    follows, whose default is to leave.
    """

    labels: tuple[str, ...]
    default: int = 0
    numbers: str = "{}."
    start: int = 1
    glyph: str = "❯"  # noqa: RUF001 - the glyph of real tools
    mark: str = " "
    frame: str = ""
    indent: int = 1
    above: tuple[str, ...] = ()
    question: tuple[str, ...] = (QUESTION,)
    details: tuple[str, ...] = ()
    gap: bool = False
    footer: tuple[str, ...] = ("Enter to confirm · Esc to cancel",)
    wrap: str = "hang"
    digits: str = ""
    arrows: bool = True
    rounds: bool = False
    swallow: int = 0
    burst: bool = False
    acts_on_arrow: bool = False
    slow: float = 0.0
    lag: float = 0.0
    deaf: float = 0.0
    box: float = 0.0
    next: bool = False
    alternate: bool = False

    def json(self) -> str:
        return json.dumps(asdict(self))


def spec_of(text: str) -> Spec:
    fields = json.loads(text)
    values: dict[str, Any] = {  # what JSON holds is known to `Spec.json` alone
        key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
    }
    return Spec(**values)


@dataclass
class Dialog:
    """The dialog at work. Times are seconds since it began."""

    spec: Spec
    at: int = 0
    chosen: int | None = None
    stray: list[str] = field(default_factory=list)
    _drawn: tuple[int, int | None] = (0, None)
    _reads: list[tuple[float, list[str]]] = field(default_factory=list)
    _draws: list[tuple[float, tuple[int, int | None]]] = field(default_factory=list)
    _swallowed: int = 0

    def __post_init__(self) -> None:
        self.at = self.spec.default
        self._drawn = (self.at, None)

    def receive(self, keys: list[str], now: float) -> None:
        if now >= max(self.spec.deaf, self.spec.box):
            self._reads.append((now + self.spec.slow, keys))
        self.advance(now)

    def due(self) -> float | None:
        """Return when there is something to do next."""
        times = [time for time, _ in [*self._reads[:1], *self._draws[:1]]]
        return min(times, default=None)

    def advance(self, now: float) -> None:
        while self._reads and self._reads[0][0] <= now:
            time, keys = self._reads.pop(0)
            before = self.at
            for key in keys:
                self._act(key, before)
            self._draws.append((time + self.spec.lag, (self.at, self.chosen)))
        while self._draws and self._draws[0][0] <= now:
            self._drawn = self._draws.pop(0)[1]

    def _act(self, key: str, before: int) -> None:
        spec = self.spec
        if self.chosen is not None:
            self.stray.append(key)
        elif key == "Enter" and self._swallowed < spec.swallow:
            self._swallowed += 1
        elif key == "Enter":
            self.chosen = before if spec.burst else self.at
        elif key in ("Up", "Down") and spec.arrows:
            self._step(-1 if key == "Up" else 1)
        elif key.isdigit() and spec.digits:
            number = int(key) - spec.start
            if spec.numbers and 0 <= number < len(spec.labels):
                self.at = number
                self.chosen = number if spec.digits == "choose" else None

    def _step(self, step: int) -> None:
        last = len(self.spec.labels) - 1
        if self.spec.rounds:
            self.at = (self.at + step) % (last + 1)
        else:
            self.at = min(max(self.at + step, 0), last)
        if self.spec.acts_on_arrow:
            self.chosen = self.at

    # --- what is drawn

    def rows(self, columns: int, now: float) -> list[str]:
        if now < self.spec.box:
            return [*self.spec.above, *AFTER]
        at, chosen = self._drawn
        if chosen is not None and not self.spec.next:
            return [f"took {chosen}", *AFTER]
        if chosen is not None:
            return ["Another question.", "", "❯ 1. No, exit", "  2. Yes"]  # noqa: RUF001 - as above
        return _dialog(self.spec, at, columns)


def _dialog(spec: Spec, at: int, columns: int) -> list[str]:
    inner = columns - (4 if spec.frame else 0)
    rows = [*spec.question, ""]
    for number in range(len(spec.labels)):
        rows += _option(spec, number, at, inner)
        if spec.gap and number < len(spec.labels) - 1:
            rows.append("")
    rows += ["", *spec.footer]
    body = [part for row in rows for part in wrapped(" " * spec.indent + row, inner)]
    if spec.frame:
        line = "─" * (columns - 2)
        body = [f"{spec.frame} {row}{' ' * (inner - width(row))} {spec.frame}" for row in body]
        body = [f"╭{line}╮", *body, f"╰{line}╯"]
    return [*(part for row in spec.above for part in wrapped(row, columns)), *body]


def _option(spec: Spec, number: int, at: int, inner: int) -> list[str]:
    room = max(width(spec.glyph), 1)
    pointer = spec.glyph if number == at else spec.mark
    before = f"{pointer}{' ' * (room - width(pointer))} "
    flat = width(before)
    if spec.numbers:
        before += spec.numbers.format(number + spec.start) + " "
    hang = width(before)
    label = before + spec.labels[number]
    deeper = {"hang": hang, "deep": hang + 2, "flat": flat}.get(spec.wrap)
    rows = [label] if deeper is None else _words(label, inner - spec.indent, hang, deeper)
    if number < len(spec.details) and spec.details[number]:
        text = " " * (hang + 2) + spec.details[number]
        rows += _words(text, inner - spec.indent, hang + 2, hang + 2)
    return rows


def _words(text: str, columns: int, fixed: int, deeper: int) -> list[str]:
    """Return a text in rows broken between words; what stands in the first `fixed` cells stays."""
    start = len(text) - len(text[fixed:])
    while width(text[:start]) > fixed:
        start -= 1
    rows, row = [], text[:start]
    empty = True
    for word in text[start:].split(" "):
        if not empty and width(row) + 1 + width(word) > columns:
            rows.append(row)
            row, empty = " " * deeper, True
        row, empty = row + ("" if empty else " ") + word, False
    return [*rows, row]


# --- as a program


def keys_of(text: str) -> list[str]:
    return [_KEYS.get(part, part) for part in _KEY.findall(text)]


def _draw(dialog: Dialog, now: float) -> None:
    lines, columns = size(1)
    rows = [part for row in dialog.rows(columns, now) for part in wrapped(row, columns)]
    text = "\r\n".join(rows[-lines:])
    os.write(1, f"\x1b[H\x1b[2J{text}".encode())


def main() -> None:
    spec = spec_of(sys.argv[1])
    dialog = Dialog(spec)
    begin = monotonic()
    before = termios.tcgetattr(0)
    tty.setraw(0)
    if spec.alternate:
        os.write(1, b"\x1b[?1049h")
    log("began")
    try:
        shown: list[str] = []
        while True:
            if os.path.exists(os.environ.get("ZOO_GO", "")):
                begin = min(begin, monotonic() - spec.box)
            now = monotonic() - begin
            dialog.advance(now)
            shown = _redraw(dialog, now, shown)
            due = min(spec.box, now + GLANCE) if now < spec.box else dialog.due()
            wait = None if due is None else max(due - now, 0.0)
            if not select.select([0], [], [], wait)[0]:
                continue
            data = os.read(0, 1024)
            if not data:
                return
            keys = keys_of(data.decode())
            log("keys", " ".join(keys))
            dialog.receive(keys, monotonic() - begin)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


def _redraw(dialog: Dialog, now: float, shown: list[str]) -> list[str]:
    if dialog.chosen is not None and f"chosen {dialog.chosen}" not in _LOGGED:
        _LOGGED.append(f"chosen {dialog.chosen}")
        log("chosen", str(dialog.chosen))
    if len(dialog.stray) > len(_STRAYS):
        _STRAYS[:] = dialog.stray
        log("stray", " ".join(dialog.stray))
    rows = dialog.rows(size(1)[1], now)
    if rows != shown:
        _draw(dialog, now)
    return rows


_LOGGED: list[str] = []
_STRAYS: list[str] = []

if __name__ == "__main__":
    main()
