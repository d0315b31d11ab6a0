"""Where things lie in a guest, and what paths of this machine are called there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

OWN_PATHS = ("GC_CITY_PATH", "GC_DIR")


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one city in the guest; only the guest's own user can look into it.

    `sessions` has an empty file for each session from before its creation until all its processes
    are known to be gone; `given` is for what is handed over, `bin` has the `gc` of the guest.
    """

    path: str

    @property
    def socket(self) -> str:
        """The socket of the city's tmux."""
        return f"{self.path}/tmux"

    @property
    def sessions(self) -> str:
        """The folder of what may be there."""
        return f"{self.path}/sessions"

    @property
    def given(self) -> str:
        """The folder of what is handed over."""
        return f"{self.path}/given"

    @property
    def programs(self) -> str:
        """The folder of the `gc` that an agent finds."""
        return f"{self.path}/bin"

    def mark(self, name: str, token: str = "") -> str:
        """Return the mark of one incarnation; without a token, what all of them begin with."""
        return f"{self.path}#{name}#{token}"


@dataclass(frozen=True, slots=True)
class Paths:
    """The city's folder here and in the guest."""

    city: str
    workspace: str = ""

    def inside(self, path: str) -> str:
        """Return what a path of this machine is in the guest."""
        whole = os.path.normpath(path)
        if not self.workspace:
            return whole
        if whole == self.city:
            return self.workspace
        if whole.startswith(self.city.rstrip("/") + "/"):
            return os.path.join(self.workspace, os.path.relpath(whole, self.city))
        return whole

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with the paths that `gc` put in as they are in the guest."""
        return {
            key: self.inside(value) if key in OWN_PATHS else value for key, value in env.items()
        }
