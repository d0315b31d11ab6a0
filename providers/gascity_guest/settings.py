"""The table `[session.guest]`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from gascity.errors import ConfigError, ProviderUnavailable, UsageError
from gascity.guest.connection import Address


@dataclass(frozen=True, slots=True)
class Settings:
    """How the guest is reached, and how sessions are made in it.

    `socket` is where it answers: a path, or `vsock:CID:PORT`; `connect` the port that a socket as
    Firecracker's has to be told; `token_file` holds what the guest wants to hear first. `workspace`
    is where the city's folder stands in the guest; without it, where it stands here. `width` and
    `height` are the size of a session's terminal, `history` the lines that are kept of what
    scrolled away.
    """

    socket: str = ""
    connect: int = -1
    token_file: str = ""
    workspace: str = ""
    width: int = 220
    height: int = 50
    history: int = 20_000

    @classmethod
    def read(cls, table: Mapping[str, object], folder: str = "") -> Settings:
        """Return the settings in a table; raises ConfigError for what makes no sense."""
        known = {one.name: one.type for one in fields(cls)}
        for key, value in table.items():
            if key not in known:
                raise ConfigError(
                    f'[session.guest] has no setting "{key}"', hint=f"known: {', '.join(known)}"
                )
            wanted = int if known[key] == "int" else str
            if not isinstance(value, wanted) or isinstance(value, bool):
                kind = "a whole number" if wanted is int else "a text"
                raise ConfigError(f"[session.guest] {key} must be {kind}")
        found = cls(**{**table, **_places(table, folder)})  # type: ignore[arg-type] # checked above
        found.check()
        return found

    def check(self) -> None:
        """Raise ConfigError for values that cannot be meant."""
        if not self.socket:
            raise ConfigError(
                "[session.guest] needs socket: where the guest answers",
                hint='such as socket = "/run/vm/guest.sock", or "vsock:3:52"',
            )
        if "connect" in self.socket.partition("?")[2]:
            raise ConfigError("[session.guest] socket: the port to connect to is setting `connect`")
        ranges = {"width": (20, 10_000), "height": (5, 10_000), "history": (0, 10**6)}
        for key, (low, high) in {**ranges, "connect": (-1, 2**32 - 1)}.items():
            if not low <= getattr(self, key) <= high:
                raise ConfigError(f"[session.guest] {key} must be between {max(low, 0)} and {high}")
        if self.workspace and not os.path.isabs(self.workspace):
            raise ConfigError("[session.guest] workspace must be an absolute path")
        if self.socket.startswith("vsock:") and self.connect >= 0:
            raise ConfigError("[session.guest] connect is for a socket that is a path")
        try:
            _ = self.address
        except UsageError as problem:
            raise ConfigError(f"[session.guest] socket: {problem.message}") from problem

    @property
    def address(self) -> Address:
        """Where the guest answers."""
        port = f"?connect={self.connect}" if self.connect >= 0 else ""
        return Address.read(self.socket + port)

    def token(self) -> str:
        """Return what the guest wants to hear first; raises ProviderUnavailable without it."""
        if not self.token_file:
            return ""
        try:
            with open(self.token_file, encoding="utf-8") as file:
                return file.read().strip()
        except (OSError, ValueError) as problem:
            raise ProviderUnavailable(f"[session.guest] token_file: {problem}") from problem


def _places(table: Mapping[str, object], folder: str) -> dict[str, str]:
    """Return the settings that name a file of this machine, from the city's folder on."""
    given = {key: table[key] for key in ("socket", "token_file") if table.get(key)}
    return {
        key: os.path.join(folder, os.path.expanduser(value))
        for key, value in given.items()
        if isinstance(value, str) and not (key == "socket" and value.startswith("vsock:"))
    }
