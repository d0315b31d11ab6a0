"""Metadata as tmux keeps it: the environment of the session.

A value is stored as it is where it is plain, so that `tmux show-environment` shows what was meant.
Anything but printable ASCII, and the percent sign, is written as `%XX`: every value is one line
then, and the same whatever tmux's version and locale think of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gascity.session.tmux.panes import VERSION
from gascity.session.tmux.wire import Block, command

_ODD = re.compile(rb"[^\x20-\x24\x26-\x7e]")
_ENCODED = re.compile(rb"%([0-9A-Fa-f]{2})")


def set_command(session: str, key: str, value: str) -> str:
    """Return the command that stores a value."""
    return command("set-environment", "-t", session, "--", key, encode(value))


def unset_command(session: str, key: str) -> str:
    """Return the command that forgets a key."""
    return command("set-environment", "-u", "-t", session, "--", key)


def read(block: Block) -> Mapping[str, str]:
    """Return the metadata in the answer to `show-environment`."""
    found: dict[str, str] = {}
    for line in block.lines:
        key, equals, value = line.partition(b"=")
        if equals and key != VERSION.encode():
            found[key.decode(errors="replace")] = decode(value)
    return found


def encode(value: str) -> str:
    """Return a value as it is stored."""
    raw = value.encode(errors="surrogateescape")
    return _ODD.sub(lambda odd: b"%%%02X" % odd.group()[0], raw).decode("ascii")


def decode(stored: bytes) -> str:
    """Return the value that was meant."""
    raw = _ENCODED.sub(lambda odd: bytes([int(odd.group(1), 16)]), stored)
    return raw.decode(errors="surrogateescape")
