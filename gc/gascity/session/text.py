"""A message as it may be typed into a session: text, and nothing that acts.

A nudge is a message, never a command: it may carry another agent's words.
"""

from __future__ import annotations

import re

from gascity.screens.rules import Talk

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def message(text: str) -> str:
    """Return the text without control characters but tab and newline, and without a last newline.

    An escape sequence in it could end a paste, press a key, or worse. Bytes that were no text are
    question marks.
    """
    whole = text.encode("utf-8", "replace").decode()
    return _CONTROLS.sub("", whole.replace("\r\n", "\n")).rstrip("\n")


def spoken(text: str, talk: Talk, *, raw: bool = False) -> str:
    """Return a message as an agent's input box can take it.

    What the agent would take for a command, or for an unfinished line, gets a visible prefix or
    suffix; not when it is `raw`.
    """
    said = message(text).replace("\t", talk.tab)
    for defuse in () if raw else talk.defuse:
        if defuse.when.search(said):
            said = f"{defuse.prefix}{said}{defuse.suffix}"
    return said
