"""A message as it may be typed into a session: text, and nothing that acts."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def message(text: str) -> str:
    """Return the text without control characters but tab and newline, and without a last newline.

    An escape sequence in it could end a paste, press a key, or worse.
    """
    return _CONTROLS.sub("", text.replace("\r\n", "\n")).rstrip("\n")
