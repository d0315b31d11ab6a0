r"""What a message of the bus may be: its type, its size, its names. Nothing here touches a file.

A type is a word of capitals, which no event has: so both stand in one table and are told apart by
it. Bodies are kept as they are; what is no Unicode is written out, as in `\xff`, and not lost.
"""

from __future__ import annotations

import re

from gascity.errors import UsageError

RUN_START = "RUN_START"
RUN_STOP = "RUN_STOP"
RUN_CRASH = "RUN_CRASH"
INFO = "INFO"
KNOWN = (
    *(RUN_START, RUN_STOP, RUN_CRASH, INFO),
    *("DECISION", "ERROR", "FACT", "ISSUE", "PROGRESS", "QUESTION", "REVIEW", "USER", "WARNING"),
)
"""Types that have a meaning to somebody; any other word of capitals will do."""
LARGEST = 1024 * 1024  # bytes of a body, as UTF-8
LONGEST_NAME = 255  # characters of a project, a task, a run or an author
_TYPE = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


def is_type(word: str) -> bool:
    """Tell whether a word can be the type of a message."""
    return _TYPE.fullmatch(word) is not None


def checked_type(word: str) -> str:
    """Return the word. Raises UsageError when it is no type of a message."""
    if is_type(word):
        return word
    better = re.sub(r"[^A-Z0-9_]", "_", word.upper())
    hint = f"did you mean {better}?" if is_type(better) else f"for example {', '.join(KNOWN[3:7])}"
    raise UsageError(
        f'the type of a message cannot be "{_shown(word)}": it is a word of capitals', hint=hint
    )


def checked_body(given: str | bytes) -> str:
    """Return what is kept of a body. Raises UsageError when it is empty or too large."""
    whole = given if isinstance(given, bytes) else given.encode("utf-8", "backslashreplace")
    body = whole.decode("utf-8", "backslashreplace")
    size = len(body.encode())
    if not size:
        raise UsageError("the message is empty")
    if size > LARGEST:
        raise UsageError(
            f"the message is larger than {LARGEST} bytes (1 MiB)",
            hint="save it in a file, and post the path of that",
        )
    return body


def checked_name(what: str, name: str) -> str:
    """Return the name of a project, task, run or author; raises UsageError for what is none."""
    if len(name) > LONGEST_NAME or not (name.isprintable() or not name):
        raise UsageError(
            f'the {what} of a message cannot be "{_shown(name)}"',
            hint=f"one line of at most {LONGEST_NAME} characters",
        )
    return name


def _shown(word: str) -> str:
    return ascii(word[:60])[1:-1]
