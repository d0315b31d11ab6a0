"""Sequences that a terminal obeys: colours, cursor movements, titles, links.

One that is cut off is none, and none goes beyond its line: text is never taken for one. What is
left of a text may still hold single control characters.
"""

from __future__ import annotations

import re

SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\)"
    r"|\x1b(?![\[\]PX^_])[ -/]*[0-~]"
)


def without_sequences(text: str) -> str:
    """Return the text without them. What was on two sides of one stands together then."""
    return SEQUENCE.sub("", text)
