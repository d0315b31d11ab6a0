"""The tmux inside one pod, as the code that sees and talks to agents knows every tmux."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gascity.errors import SessionNotFound
from gascity.session.tmux import shell
from gascity.session.tmux.problems import Gone
from gascity.session.tmux.wire import Block
from gascity_kubernetes import entry, state
from gascity_kubernetes.hand import Done, Hand
from gascity_kubernetes.hands import Hands
from gascity_kubernetes.state import Pod

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PodPane:
    """The agent's pane in one pod."""

    name: str
    pod: Pod
    id: str = entry.PANE
    session: str = f"={entry.SESSION}:"

    @property
    def alive(self) -> bool:
        """Whether its program runs, as far as the API knows."""
        return state.is_reachable(self.pod) and not state.is_over(self.pod)


class PodTmux:
    """The tmux of one session's pod, reached by the hand inside.

    `find_pod` returns the pod as the API knows it at the moment.
    """

    def __init__(self, find_pod: Callable[[str, float], Pod | None], hands: Hands) -> None:
        self._find_pod = find_pod
        self._hands = hands
        self._pane: PodPane | None = None

    def find(self, name: str, deadline: float) -> PodPane | None:
        """Return the pane of the session, from when its agent was started until it ended."""
        pod = self._find_pod(name, deadline)
        is_there = pod is not None and state.is_staged(pod) and not state.is_over(pod)
        self._pane = PodPane(name, pod) if pod is not None and is_there else None
        return self._pane

    def ask(self, *lines: str, deadline: float, of: PodPane | None) -> Sequence[Block]:
        """Have tmux answer lines; raises Gone when the pod has no tmux any more."""
        return self._have(of, lambda hand: hand.ask(lines, deadline=deadline), deadline)

    def do(self, line: str, deadline: float, *, of: PodPane | None) -> bool:
        """Have tmux do a line; False when what that is about is no longer there."""
        return all(block.ok for block in self.ask(line, deadline=deadline, of=of))

    def stored(self, pane: PodPane, deadline: float) -> Mapping[str, str]:
        """Return the metadata of its session; none when it was removed."""
        pod = self._find_pod(pane.name, deadline)
        return {} if pod is None or state.uid(pod) != state.uid(pane.pod) else state.meta(pod)

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        """Tell whether a terminal of the pod hands on whole lines, and holds unread input."""
        if not tty:
            return False, None
        done = self._run(shell.input_script(tty), deadline)
        return shell.read_input(done.status, done.text)

    def wink(self, tty: str, deadline: float) -> None:
        """Make a terminal of the pod a row smaller for a moment."""
        if tty:
            self._run(shell.wink_script(tty), deadline)

    def _run(self, script: str, deadline: float) -> Done:
        return self._have(self._pane, lambda hand: hand.run(script, deadline=deadline), deadline)

    def _have(self, pane: PodPane | None, work: Callable[[Hand], T], deadline: float) -> T:
        if pane is None:
            raise Gone("there is no such pod")
        try:
            return self._hands.do(pane.pod, work, deadline=deadline)
        except SessionNotFound as problem:
            raise Gone(problem.message) from problem
