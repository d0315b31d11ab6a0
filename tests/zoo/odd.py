"""Programs that do something to the text, or show it in a way of their own."""

from __future__ import annotations

from typing import ClassVar

from tests.zoo.box import FAINT, GLYPH, PLAIN, Program
from tests.zoo.closed import PERMISSION, TRUST
from tests.zoo.kit import Text, log


class Alternate(Program):
    """Draws on the alternate screen."""

    alternate = True


class Quoting(Program):
    """Shows a dialog's text in its transcript, options and all."""

    opening = (f"{GLYPH} what did it ask?", "", "● It showed me this:", "", *PERMISSION)

    def rest(self) -> None:
        super().rest()
        self.said += ["", *TRUST]

    work = 0.05


class Wide(Program):
    """Fills its box up to the last column, whatever the characters' width."""

    margin = 0


class Shell(Program):
    """Runs what begins with an exclamation mark, or rather says that it would have."""

    def submit(self, text: str) -> None:
        if text.lstrip().startswith("!"):
            log("executed", text)
        else:
            super().submit(text)


class Slash(Program):
    """Takes a first word with a slash for a command; one that it does not know stays in the box."""

    def enter(self) -> None:
        words = self.draft.split()
        if words and words[0].startswith("/") and words[0][1:].isalnum():
            log("executed", self.draft)
            self.tell(f"Unknown command: {words[0]}")
        else:
            super().enter()


class Completing(Program):
    """Completes a last `@` on Enter, and goes on in the next line after a backslash."""

    def enter(self) -> None:
        if self.draft.endswith("@"):
            self.draft += "README.md "
        elif self.draft.endswith("\\"):
            self.draft = self.draft[:-1] + "\n"
        else:
            super().enter()

    def footer(self) -> list[str]:
        return ["  + README.md", "  + docs/"] if self.draft.endswith("@") else super().footer()


class Folding(Program):
    """Shows a long paste as one short line."""

    def __init__(self) -> None:
        super().__init__()
        self._folded = 0

    def insert(self, event: Text) -> None:
        super().insert(event)
        if event.pasted and (len(event.text) > 800 or event.text.count("\n") > 2):
            self._folded += 1

    def drawn_draft(self) -> str:
        if len(self.draft) > 800 or self.draft.count("\n") > 2:
            return f"[Pasted text #{self._folded} +{self.draft.count(chr(10))} lines]"
        return super().drawn_draft()


class Hinting(Program):
    """Shows a faint hint in its empty box, another one each time."""

    hints: ClassVar[tuple[str, ...]] = ('Try "fix the tests"', 'Try "write a poem"')

    def __init__(self) -> None:
        super().__init__()
        self.placeholder = self.hints[0]

    def submit(self, text: str) -> None:
        super().submit(text)
        self.placeholder = self.hints[len(text) % 2]


class Queueing(Program):
    """Takes messages while it works and shows them waiting."""

    work = 0.5

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[str] = []

    def submit(self, text: str) -> None:
        if not self.working:
            super().submit(text)
            return
        log("submitted", text)
        self._waiting.append(text)
        self.placeholder = "Press up to edit queued messages"

    def rest(self) -> None:
        super().rest()
        if self._waiting:
            self.tell(f"{GLYPH} {self._waiting.pop(0)}")
            self.working = True
            self.later(self.work, self.rest)
        else:
            self.placeholder = ""


class Growing(Program):
    """Adds to its transcript all the time, as one that streams text."""

    def prepare(self) -> None:
        super().prepare()
        self._grow()

    def _grow(self) -> None:
        self.said.append(f"{FAINT}line {len(self.said)}{PLAIN}")
        self.later(0.05, self._grow)
