"""The frames of a websocket (RFC 6455), as bytes.

Pure: what came in is fed in, whole frames come out; a frame to send comes out masked, as a
client's must be.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

CONTINUED, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
_FINAL = _MASKED = 0x80


def pack(opcode: int, payload: bytes, mask: bytes) -> bytes:
    """Return one whole frame; `mask` is four bytes nobody could guess."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", _FINAL | opcode, _MASKED | size)
    elif size < 1 << 16:
        head = struct.pack("!BBH", _FINAL | opcode, _MASKED | 126, size)
    else:
        head = struct.pack("!BBQ", _FINAL | opcode, _MASKED | 127, size)
    return head + mask + masked(payload, mask)


def masked(payload: bytes, mask: bytes) -> bytes:
    """Return a payload under a mask, or from under it."""
    size = len(payload)
    cover = (mask * (size // 4 + 1))[:size]
    # As one large number: as fast as Python can.
    return (int.from_bytes(payload, "big") ^ int.from_bytes(cover, "big")).to_bytes(size, "big")


@dataclass(slots=True)
class Frames:
    """Puts messages together from what comes in, in pieces of any size."""

    _kept: bytearray = field(default_factory=bytearray)
    _opcode: int = 0
    _parts: list[bytes] = field(default_factory=list)

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Take in some bytes; return the messages that are now whole, as (opcode, payload)."""
        self._kept += data
        whole: list[tuple[int, bytes]] = []
        while (frame := self._cut()) is not None:
            is_final, opcode, payload = frame
            if opcode >= CLOSE:  # control frames may stand between the parts of a message
                whole.append((opcode, payload))
                continue
            self._opcode = opcode or self._opcode
            self._parts.append(payload)
            if is_final:
                whole.append((self._opcode, b"".join(self._parts)))
                self._parts.clear()
        return whole

    def _cut(self) -> tuple[bool, int, bytes] | None:
        kept = self._kept
        if len(kept) < 2:
            return None
        start, size = 2, kept[1] & 0x7F
        if size >= 126:
            width = 2 if size == 126 else 8
            start += width
            if len(kept) < start:
                return None
            size = int.from_bytes(kept[2:start], "big")
        mask = b""
        if kept[1] & _MASKED:
            mask = bytes(kept[start : start + 4])
            start += 4
        if len(kept) < start + size:
            return None
        payload = bytes(kept[start : start + size])
        found = bool(kept[0] & _FINAL), kept[0] & 0x0F, masked(payload, mask) if mask else payload
        del kept[: start + size]
        return found
