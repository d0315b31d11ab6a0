r"""A line that an agent printed, as a line of a log.

Agents log in JSON, `{"timestamp": ..., "level": ..., "message": ...}`, or in text, `[LEVEL] ...`.
Whatever is neither is a message as it stands, and so is what only looks like one: `[1/3] compiling`
has no level. Nothing is left out of a line: keys that a log line does not need are put behind its
message. No bytes are refused; those that are no UTF-8 are written out, as in `\xff`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

LEVELS = {
    "debug": "debug",
    "info": "info",
    "warn": "warning",
    "warning": "warning",
    "error": "error",
    "critical": "error",
    "fatal": "error",
}
_BRACKETED = re.compile(r"\[([A-Za-z]+)\](?:[ \t]|\Z)")
_WORD = re.compile(r'[^\s"=]+')  # what needs no quotes
_HALF = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LogLine:
    """What was said, and how grave it is: debug, info, warning or error.

    `timestamp` is as the agent wrote it; empty where it wrote none.
    """

    level: str
    message: str
    timestamp: str = ""


def recognise(line: bytes) -> LogLine:
    """Return what a line says; one that is no log line is information. Never raises."""
    return logged(line) or LogLine("info", written(line))


def logged(line: bytes) -> LogLine | None:
    """Return what a log line says; None when it is none. Never raises."""
    text = _text(line)
    if text.lstrip()[:1] == "{":
        return _from_json(text)
    found = _BRACKETED.match(text)
    if found is None or (level := LEVELS.get(found[1].lower())) is None:
        return None
    return LogLine(level, readable(text[found.end() :]))


def complaint(line: bytes) -> LogLine | None:
    """Return what a coding tool says went wrong, in a line of its JSON; None where it says nothing.

    Never raises.
    """
    try:
        match json.loads(_text(line)):
            case {"type": "result", "is_error": True, "result": str(text)}:
                return LogLine("error", readable(text))
            case {"type": "result", "status": "error", "error": {"message": str(text)}}:
                return LogLine("error", readable(text))
            case {"type": "error", "message": str(text)}:
                return LogLine("error", readable(text))
            case {"type": "turn.failed", "error": {"message": str(text)}}:
                return LogLine("error", readable(text))
            case _:
                return None
    except (ValueError, RecursionError):
        return None


def written(line: bytes) -> str:
    """Return a line as a text, without its end."""
    return readable(_text(line))


def readable(text: str) -> str:
    """Return a text in which bytes that are none, and halves of characters, are written out."""
    return _HALF.sub(_half, text)


def _text(line: bytes) -> str:
    r"""Return the text of a line; a byte that is no text is half a character, as `\udcff`."""
    text = line.decode("utf-8", "surrogateescape")
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")


def _half(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number - 0xDC00:02x}" if 0xDC80 <= number <= 0xDCFF else f"\\u{number:04x}"


def _from_json(text: str) -> LogLine | None:
    try:
        match json.loads(text, object_pairs_hook=_each_once):
            case {"message": str(message), **others}:
                return _with(message, others)
            case _:
                return None
    except (ValueError, RecursionError):  # a number or a depth beyond all measure is among these
        return None


def _with(message: str, others: dict[object, object]) -> LogLine:
    """Return the log line of a message and of what was said besides."""
    level, timestamp = others.get("level"), others.get("timestamp")
    known = LEVELS.get(level.lower()) if isinstance(level, str) else None
    if known:
        del others["level"]
    if isinstance(timestamp, str):
        del others["timestamp"]
    else:
        timestamp = ""
    more = "".join(f" {_word(key)}={_word(value)}" for key, value in others.items())
    return LogLine(known or "info", readable(message + more), readable(timestamp))


def _word(value: object) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object. Raises ValueError when a key is there twice: one would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found
