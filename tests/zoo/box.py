"""A program with an input box, like a coding agent; the others of the zoo differ in one thing each.

The box is a rule line, the prompt with a no-break space and the draft, a rule line, a footer.
The transcript above it shows a message with the prompt's glyph and an ordinary blank.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from collections.abc import Callable
from typing import ClassVar

from tests.zoo.kit import Event, Key, Keyboard, Text, log, shown, size, width, wrapped

GLYPH = "❯"  # noqa: RUF001  the mark that real tools use
NO_BREAK = "\N{NO-BREAK SPACE}"
TALLEST = 10  # rows of a draft that are shown
BUSY = "  esc to interrupt"
FAINT, PLAIN = "\x1b[2m", "\x1b[0m"


class Program:
    """Shows a box, takes what is typed into it, and logs what is submitted."""

    bracketed: ClassVar[bool] = True
    alternate: ClassVar[bool] = False
    work: ClassVar[float] = 0.0  # seconds that an answer takes
    margin: ClassVar[int] = 4  # columns at the right that a draft leaves free
    lag: ClassVar[float] = 0.0  # seconds between a change and its being shown
    opening: ClassVar[tuple[str, ...]] = ("Welcome to the zoo",)

    def __init__(self) -> None:
        self.keyboard = Keyboard(sys.stdin.fileno())
        self.draft = ""
        self.placeholder = ""
        self.modal: tuple[str, ...] = ()  # a dialog in the place of the box
        self.working = False
        self.said: list[str] = list(self.opening)
        self._drawn = 0  # rows of the last drawing above the cursor
        self._told = 0  # rows of the transcript that stand on the screen
        self._timers: list[tuple[float, Callable[[], None]]] = []
        self._is_drawing = False
        self._wake, self._waker = os.pipe()

    # --- the life of a program

    def run(self) -> None:
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker)
        signal.signal(signal.SIGWINCH, self._resized)
        self.prepare()
        self._write("\x1b[?1049h" if self.alternate else "")
        self._write("\x1b]2;zoo\x07")
        self.draw()
        while True:
            self._wait()

    def prepare(self) -> None:
        """Take the terminal's keys one by one, before anything is drawn."""
        self.take_keys()

    def take_keys(self) -> None:
        tty.setraw(self.keyboard.descriptor, termios.TCSAFLUSH)
        self._write("\x1b[?2004h" if self.bracketed else "")

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        self._timers.append((time.monotonic() + seconds, work))

    def is_listening(self) -> bool:
        """Tell whether input is read at this moment."""
        return True

    def on_resize(self) -> None:
        """Be told that the terminal's size changed."""

    # --- what is typed

    def handle(self, events: list[Event]) -> None:
        """Act on the events of one read."""
        for event in events:
            if self.modal:
                self.answer(event)
            elif isinstance(event, Text):
                self.insert(event)
            else:
                self.key(event)

    def insert(self, event: Text) -> None:
        self.draft += event.text

    def key(self, key: Key) -> None:
        match key:
            case Key.ENTER:
                self.enter()
            case Key.NEWLINE:
                self.draft += "\n"
            case Key.BACKSPACE:
                self.draft = self.draft[:-1]
            case Key.ERASE:
                self.draft = ""
            case Key.INTERRUPT:
                log("interrupted")
                self.draft = ""
            case Key.ESCAPE | Key.OTHER:
                pass

    def enter(self) -> None:
        if self.draft.strip():
            text, self.draft = self.draft, ""
            self.submit(text)

    def submit(self, text: str) -> None:
        log("submitted", text)
        self.tell(f"{GLYPH} {text}")
        if not self.work:
            self.tell(f"● Heard {len(text)} characters.")
            return
        self.working = True
        self.later(self.work, self.rest)

    def rest(self) -> None:
        """End the work."""
        self.working = False
        self.tell("● Done.")

    def answer(self, event: Event) -> None:
        """Act on what is typed into the dialog."""
        log("dialog", event.text if isinstance(event, Text) else event.name)
        if event is Key.ENTER or (isinstance(event, Text) and event.text[:1].isdigit()):
            self.modal = ()

    # --- what is shown

    def tell(self, text: str) -> None:
        """Add to the transcript; of a long text only the beginning."""
        rows = wrapped(shown(text[:400]), self._columns() - 4)
        self.said += ["", *(f"  {row}" if number else row for number, row in enumerate(rows))]

    def drawn_draft(self) -> str:
        """Return what stands for the draft in the box."""
        return shown(self.draft[-4000:])

    def footer(self) -> list[str]:
        return [BUSY if self.working else "  ? for shortcuts"]

    def draw(self) -> None:
        """Draw, at once or later."""
        if not self.lag:
            self._draw()
        elif not self._is_drawing:
            self._is_drawing = True
            self.later(self.lag, self._draw)

    def _draw(self) -> None:
        self._is_drawing = False
        rows, column, up = self._bottom()
        if self.alternate:
            height = size(self.keyboard.descriptor)[0] - len(rows)
            page = [*self.said[-height + 1 :], ""]
            self._write("\x1b[H" + "".join(f"{row}\x1b[K\r\n" for row in page) + "\x1b[J")
        else:
            back = f"\x1b[{self._drawn}A" if self._drawn else ""
            new = self.said[self._told :]
            self._told = len(self.said)
            self._write(f"{back}\r\x1b[J" + "".join(f"{row}\r\n" for row in new))
            rows = ["", *rows]
        self._drawn = len(rows) - 1 - up
        self._write("\r\n".join(rows) + (f"\x1b[{up}A" if up else "") + f"\x1b[{column + 1}G")

    def _bottom(self) -> tuple[list[str], int, int]:
        """Return the rows of the box or the dialog; the cursor's column, and how far up it is."""
        if self.modal:
            return list(self.modal), 0, 0
        rule = "─" * self._columns()
        tallest = min(TALLEST, size(self.keyboard.descriptor)[0] - 8)
        rows = wrapped(self.drawn_draft(), self._columns() - 2 - self.margin)[-tallest:]
        lead = f"{GLYPH}{NO_BREAK}"
        box = [(lead if number == 0 else "  ") + row for number, row in enumerate(rows)]
        if not self.draft and self.placeholder:
            box = [f"{lead}{FAINT}{self.placeholder}{PLAIN}"]
        footer = self.footer()
        spinner = ["✻ Working…", ""] if self.working else []
        return [*spinner, rule, *box, rule, *footer], 2 + width(rows[-1]), len(footer) + 1

    def _columns(self) -> int:
        return size(self.keyboard.descriptor)[1]

    def _write(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]

    # --- waiting

    def _wait(self) -> None:
        """Act on the next thing that happens: input, a change of size, a timer."""
        now = time.monotonic()
        due = [timer for timer in self._timers if timer[0] <= now]
        if due:
            self._timers = [timer for timer in self._timers if timer[0] > now]
            for _, work in sorted(due, key=lambda timer: timer[0]):
                work()
            if any(work != self._draw for _, work in due):
                self.draw()
            return
        heard = [self.keyboard.descriptor] if self.is_listening() else []
        until = min((at for at, _ in self._timers), default=None)
        left = None if until is None else max(0.0, until - now)
        ready = select.select([self._wake, *heard], [], [], left)[0]
        if self._wake in ready:
            os.read(self._wake, 100)
        if self.keyboard.descriptor in ready:
            self.handle(self.keyboard.read())
            if not self.keyboard.pending():
                self.draw()

    def _resized(self, _number: int, _frame: object) -> None:
        self.on_resize()
        self._drawn, self._told = 0, 0
        self._write("\x1b[H\x1b[2J")
        self.said = self.said[-5:]
        self._draw()
