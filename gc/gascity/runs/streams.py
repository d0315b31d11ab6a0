"""The answer of an agent, out of what it printed: JSON lines, each tool's in its own words.

A tool that says at its end what its answer is, is believed; else the answer is all it said, in
order. Some repeat a message that grows: of a text that begins with what was there already, only
the rest is new. A line that is not of the tool's words is passed over. A file may be of any length:
what is held in memory is never more than a line, and a line beyond `LONGEST` counts as garbage.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from gascity.core.oneshot import Format

LONGEST = 32 * 1024 * 1024  # bytes of a line that are read
_REMEMBERED = 4 * 1024 * 1024  # characters of one message that are compared with the next text


@dataclass(frozen=True, slots=True)
class Final:
    """What the tool says its answer is."""

    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A text the agent said. `of` tells which message it is of, as far as the tool tells.

    An `added` one is to be put behind the one before; any other is a message, or one that grew.
    """

    text: str
    of: str = ""
    added: bool = False


END = Piece("")  # what comes next is another message
Event = Mapping[str, object]
Said = Final | tuple[Piece, ...]


def text_of(form: Format, path: str) -> Iterator[str] | None:
    """Return the answer in the output of an agent, in parts.

    None says that the file itself is the answer: it is text, or nothing in it could be understood.
    Raises OSError when the file cannot be read, now or while the parts are taken.
    """
    if form is Format.TEXT:
        return None
    final, any_piece = None, False
    for said in _said(form, path):
        if isinstance(said, Final):
            final = said
        else:
            any_piece = any_piece or any(piece.text for piece in said)
    if final is not None:
        return iter((_clean(final.text),))
    if not any_piece:
        return None
    pieces = (piece for said in _said(form, path) if isinstance(said, tuple) for piece in said)
    return map(_clean, joined(pieces))


def joined(pieces: Iterable[Piece]) -> Iterator[str]:
    """Yield what each piece adds, with a line end between two messages."""
    so_far = SoFar()
    for piece in pieces:
        between, new = so_far.take(piece)
        if between + new:
            yield between + new


def said_in(form: Format, line: bytes) -> Said:
    """Return what one line says; nothing, (), when it is not of the tool's words.

    `form` is any but text.
    """
    words, understand = _READERS[form]
    if not any(word in line for word in words):
        return ()  # most lines are of tools at work; parsing them all takes minutes
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ()
    return understand(event) if isinstance(event, dict) else ()


class SoFar:
    """What was said so far, as much of it as is needed to tell what is new in the next piece."""

    def __init__(self) -> None:
        self._begun, self._of = False, ""
        self._before = io.StringIO(newline="")  # the message; it may come in a million parts
        self._whole = True  # all of it is remembered

    def take(self, piece: Piece) -> tuple[str, str]:
        """Return what stands between the last message and this piece, and what is new in it."""
        if piece is END:
            self._of = "\0"
            self._begin()
            return "", ""
        same = self._begun and (piece.of == self._of or (piece.added and self._of != "\0"))
        new, between = piece.text, ""
        if not (piece.added and same):
            if same and self._whole and new.startswith(self._before.getvalue()):
                new = new[self._before.tell() :]
            else:
                self._begin()
                between = "\n" if self._begun else ""
        self._before.write(new)
        self._of = piece.of
        if self._before.tell() > _REMEMBERED:
            self._begin()
            self._whole = False
        self._begun = True
        return between, new

    def is_last(self, final: Final) -> bool:
        """Tell whether an answer is the message that was said last."""
        return self._begun and final.text.strip() == self._before.getvalue().strip()

    def _begin(self) -> None:
        self._before, self._whole = io.StringIO(newline=""), True


def _said(form: Format, path: str) -> Iterator[Said]:
    return filter(None, (said_in(form, line) for line in _lines(path)))


def _lines(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while line := file.readline(LONGEST):
            if len(line) < LONGEST or line.endswith(b"\n"):
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST)


def _claude(event: Event) -> Said:
    match event:
        case {"type": "result", "result": str(text)} if text and not event.get("is_error"):
            return Final(text)
        case {"type": "assistant", "message": dict(message)}:
            if event.get("parent_tool_use_id"):
                return ()  # said by an agent that this one started, to this one
            of = str(message.get("id", ""))
            return tuple(Piece(text, of) for text in _texts(message.get("content")))
        case _:
            return ()


def _codex(event: Event) -> Said:
    match event:
        case {"item": dict(item)}:
            is_message = item.get("type") in ("agent_message", "message")
            if not is_message or item.get("role", "assistant") != "assistant":
                return ()
            text = "".join(_texts(item.get("text") or item.get("content")))
            return (Piece(text, str(item.get("id", ""))),) if text else ()
        case {"type": "result" | "turn.completed" | "response.completed"}:
            text = "".join(_texts(event.get("result") or event.get("text") or _output(event)))
            return Final(text) if text else ()
        case {"type": "message"} if event.get("role", "assistant") == "assistant":
            text = "".join(_texts(event.get("text") or event.get("content")))
            return (Piece(text),) if text else ()
        case _:
            return ()


def _gemini(event: Event) -> Said:
    match event:
        case {"type": "result"} if event.get("status") != "error":
            text = "".join(_texts(event.get("result") or event.get("response")))
            return Final(text) if text else ()
        case {"type": "message", "role": "assistant" | "model"}:
            text = "".join(_texts(event.get("content")))
            return (Piece(text, added=event.get("delta") is True),) if text else ()
        case {"type": "tool_use"}:
            return (END,)
        case _:
            return ()


def _output(event: Event) -> list[object]:
    """Return the parts of the messages in the response that an event carries."""
    match event.get("response"):
        case {"output": [*items]}:
            return [
                part
                for item in items
                if isinstance(item, dict) and item.get("type") == "message"
                for part in _parts(item.get("content"))
            ]
        case _:
            return []


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [content]


def _texts(content: object) -> list[str]:
    """Return the texts in a content: one, or that of each part which is a text."""
    found = []
    for part in _parts(content):
        match part:
            case str(text) | {"type": "text" | "output_text", "text": str(text)}:
                found.append(text)
            case _:
                pass
    return [text for text in found if text]


def _clean(text: str) -> str:
    """Return a text without the halves of characters, which JSON can hold and no file can."""
    return text.encode("utf-8", "replace").decode()


_READERS: Mapping[Format, tuple[tuple[bytes, ...], Callable[[Event], Said]]] = {
    Format.CLAUDE: ((b'"result"', b'"assistant"'), _claude),
    Format.CODEX: ((b'message"', b'"result"', b'.completed"'), _codex),
    Format.GEMINI: ((b'"result"', b'"message"', b'"tool_use"'), _gemini),
}
