"""What is in one document of a chat API: a part of the answer, an error, sources.

A part is in `delta`, where it is to be put behind the others, or in `message`, which holds all that
was said so far. Some servers put all of it into `delta`, too.
"""

from __future__ import annotations

import io
from collections.abc import Mapping

Document = Mapping[str, object]
_SURE = 4  # characters; after fewer, a part may begin with the same ones by chance


class Answer:
    """An answer that grows. With `repeats` a `delta` may hold all that was said so far."""

    def __init__(self, *, repeats: bool = False) -> None:
        self._repeats = repeats
        self._said = io.StringIO(newline="")  # it may come in very many parts
        self.sources: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All of it, so far."""
        return self._said.getvalue()

    def add(self, document: Document) -> str:
        """Take a document in, and return what it adds to the text."""
        self.sources = _sources(document) or self.sources
        delta, message = _content(document, "delta"), _content(document, "message")
        if delta and not self._is_whole(delta, message):
            new = delta
        else:
            whole = delta or message
            new = whole[self._said.tell() :] if self._begins(whole) else ""
        self._said.write(new)
        return new

    def _is_whole(self, delta: str, message: str) -> bool:
        if self._begins(message) and message.startswith(delta, self._said.tell()):
            return False
        return self._repeats and self._said.tell() >= _SURE and self._begins(delta)

    def _begins(self, text: str) -> bool:
        """Tell whether a text begins with all that was said."""
        return len(text) >= self._said.tell() and text.startswith(self.text)


def error_of(document: Document) -> str:
    """Return what went wrong on the other side, in its words; empty when nothing did."""
    match document.get("error"):
        case {"message": str(said)} if said:
            return said
        case other if other:
            return str(other)
        case _:
            pass
    return "it ended with an error" if _choice(document).get("finish_reason") == "error" else ""


def _choice(document: Document) -> Document:
    match document.get("choices"):
        case [dict(first), *_]:
            return first
        case _:
            return {}


def _content(document: Document, key: str) -> str:
    match _choice(document).get(key):
        case {"content": str(text)}:
            return text
        case _:
            return ""


def _sources(document: Document) -> tuple[str, ...]:
    match document:
        case {"citations": [*cited]} if cited:
            return tuple(
                str(one.get("url", "")) if isinstance(one, dict) else str(one) for one in cited
            )
        case {"search_results": [*found]}:
            return tuple(
                str(one["url"]) for one in found if isinstance(one, dict) and one.get("url")
            )
        case _:
            return ()
