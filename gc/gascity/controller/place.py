"""Where a city keeps its state: the folder `.gc` beside `city.toml`, for its owner's eyes only."""

from __future__ import annotations

import os
from dataclasses import dataclass

from gascity.errors import GascityError


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one city. `root` is the folder `city.toml` stands in."""

    root: str

    @property
    def state(self) -> str:
        """The folder `.gc`."""
        return os.path.join(self.root, ".gc")

    @property
    def lock(self) -> str:
        """Held by the controller for as long as it lives."""
        return os.path.join(self.state, "controller.lock")

    @property
    def socket(self) -> str:
        """Where the controller listens."""
        return os.path.join(self.state, "controller.sock")

    @property
    def log(self) -> str:
        """Where a detached controller writes."""
        return os.path.join(self.state, "controller.log")

    @property
    def journal(self) -> str:
        """The durable memory."""
        return os.path.join(self.state, "city.db")

    @property
    def runs(self) -> str:
        """One folder per incarnation that ended."""
        return os.path.join(self.state, "runs")

    def prepare(self) -> None:
        """Make the folder, with a note that keeps it out of version control.

        Raises GascityError when that cannot be done.
        """
        from gascity.runs.places import make_state  # noqa: PLC0415  those who only look need no runs

        try:
            make_state(self.state)
        except OSError as problem:
            raise GascityError(
                f"the folder {self.state} cannot be made or written: {problem.strerror}"
            ) from problem
