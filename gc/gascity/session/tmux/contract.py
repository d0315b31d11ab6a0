"""What a provider brings so that the agents in its tmux can be seen and talked to.

A line may hold several commands with ` ; ` between them. Some servers answer it with one block for
all of them, others with one for each: of such a line only whether all went well is known. What is
to be read is asked for in a line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from gascity.session.tmux.wire import Block


class Pane(Protocol):
    """The pane that an agent was started in, as it was a moment ago."""

    @property
    def id(self) -> str:
        """Tmux's own number of it, such as `%0`."""

    @property
    def session(self) -> str:
        """What tmux takes for its session behind `-t`."""

    @property
    def name(self) -> str:
        """The name of the session, as the city knows it."""

    @property
    def alive(self) -> bool:
        """Whether its program runs."""


P = TypeVar("P", bound=Pane)


class Tmux(Protocol[P]):
    """One tmux server. Every call ends by its deadline, a monotonic time, or raises Silent.

    Lost is raised when it hung up meanwhile, Gone when it has ended.
    """

    def ask(self, *lines: str, deadline: float, of: P | None) -> Sequence[Block]:
        """Have tmux answer lines about a pane, in order: a line of one command with one block."""

    def do(self, line: str, deadline: float, *, of: P | None) -> bool:
        """Have tmux do a line about a pane; False when what it is about is no longer there."""

    def find(self, name: str, deadline: float) -> P | None:
        """Return the pane of a session, if there is one."""

    def stored(self, pane: P, deadline: float) -> Mapping[str, str]:
        """Return the metadata of its session; none when it was removed."""

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        """Tell whether the terminal at a path hands on whole lines, and holds unread input.

        The second is None when it cannot be told, and then nothing is proven by it. Of a terminal
        that is gone neither is true: `(False, None)`.
        """

    def wink(self, tty: str, deadline: float) -> None:
        """Make the terminal at a path a row smaller for a moment, if that can be done.

        tmux is not told, so that nobody else sees it.
        """
