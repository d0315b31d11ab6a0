"""The table `[session.tmux]`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from gascity.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Settings:
    """How the city's tmux is set up.

    `socket` is a socket's name or path, `config` a tmux configuration file that is read when the
    server starts, `width` and `height` the size of a session nobody is attached to, `history` the
    lines that are kept of what scrolled away.
    """

    socket: str = ""
    config: str = ""
    width: int = 220
    height: int = 50
    history: int = 20_000

    @classmethod
    def read(cls, table: Mapping[str, object]) -> Settings:
        """Return the settings in a table; raises ConfigError for what makes no sense."""
        known = {one.name: one.type for one in fields(cls)}
        for key, value in table.items():
            if key not in known:
                raise ConfigError(
                    f'[session.tmux] has no setting "{key}"', hint=f"known: {', '.join(known)}"
                )
            wanted = int if known[key] == "int" else str
            if not isinstance(value, wanted) or isinstance(value, bool):
                kind = "a whole number" if wanted is int else "a text"
                raise ConfigError(f"[session.tmux] {key} must be {kind}")
        found = cls(**table)  # type: ignore[arg-type] # checked above
        for key, low, high in (("width", 20, 10_000), ("height", 5, 10_000), ("history", 0, 10**6)):
            if not low <= getattr(found, key) <= high:
                raise ConfigError(f"[session.tmux] {key} must be between {low} and {high}")
        if found.config and not os.path.isfile(os.path.expanduser(found.config)):
            raise ConfigError(f"[session.tmux] config: there is no file {found.config}")
        return found
