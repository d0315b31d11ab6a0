"""Keys as the bytes they are on an input without a terminal."""

from __future__ import annotations

from gascity.errors import NotSupported

INTERRUPT = "C-c"
_NAMED = {
    "Enter": b"\n",
    "Tab": b"\t",
    "Space": b" ",
    "Escape": b"\x1b",
    "BSpace": b"\x7f",
}


def bytes_of(key: str) -> bytes:
    """Return what a key types; raises NotSupported for keys that only a terminal has."""
    if key in _NAMED:
        return _NAMED[key]
    if len(key) == 1:
        return key.encode("utf-8", errors="replace")
    if len(key) == 3 and key.startswith("C-") and "a" <= key[2].lower() <= "z":
        return bytes([ord(key[2].lower()) - ord("a") + 1])
    raise NotSupported(
        f"the key {key} means nothing without a terminal",
        hint=f"known here: {', '.join(_NAMED)}, C-a to C-z, and single characters",
    )
