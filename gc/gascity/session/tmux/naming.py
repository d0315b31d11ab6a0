"""What sessions are called in tmux, and how they are marked there as those of a city."""

from __future__ import annotations

import hashlib
import os
import re

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,199}")
OTHER = re.compile(r"[^A-Za-z0-9_-]")


def is_name(name: str) -> bool:
    """Tell whether this can be the name of a session."""
    return _PLAIN.fullmatch(name) is not None


def session_name(name: str) -> str:
    """Return what tmux is to call the session: itself, unless tmux would call it otherwise.

    tmux turns dots and colons into underscores by itself, and then two names may be one.
    """
    plain = OTHER.sub("_", name)
    return name if plain == name else f"{plain}-{digest(name)}"


def city_mark(city_id: str) -> str:
    """Return how sessions of a city are marked in tmux: only letters and digits."""
    return digest(city_id, 16)


def digest(text: str, length: int = 8) -> str:
    """Return letters and digits that stand for a text."""
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:length]
