"""What is kept of a command's output: valid UTF-8, and never much more than the limit.

The limit counts bytes of the decoded text, where a byte that is no text has become U+FFFD, which
takes three. What is beyond it is let go at once.
"""

from __future__ import annotations

import codecs

MARK = "\n... [output truncated]"


class Kept:
    """The beginning of one stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._bytes = bytearray()
        self._full = False

    def add(self, data: bytes) -> None:
        """Keep what still has room; free of cost once there is no room."""
        if not self._full:
            self._take(self._decoder.decode(data))

    def text(self) -> str:
        """Return the text, for a stream that has ended or is listened to no more."""
        if not self._full:
            self._take(self._decoder.decode(b"", final=True))
        return self._bytes.decode() + (MARK if self._full else "")

    def _take(self, text: str) -> None:
        self._bytes += text.encode()
        if len(self._bytes) > self._limit:
            self._full = True
            end = self._limit
            while self._bytes[end] & 0xC0 == 0x80:  # inside a character
                end -= 1
            del self._bytes[end:]
