"""What is done inside a pod that runs: files put in place, processes looked at, flags laid out."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass

from gascity.core.observed import Alive, Exited, Life
from gascity.errors import ProviderError, SessionNotFound
from gascity.session import staging
from gascity.session.tmux import shell
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.shell import quote
from gascity_kubernetes import entry, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.birth import Births
from gascity_kubernetes.hand import Hand
from gascity_kubernetes.hands import Hands
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.state import CONTAINER, Pod
from gascity_kubernetes.streams import StreamEnded

_TABLE = (
    f"tmux -S {entry.SOCKET} display-message -p -t {entry.PANE} '#{{pane_pid}}'; "
    f"{shell.PROGRAMS}; :"
)


@dataclass(frozen=True, slots=True)
class Inside:
    """The inside of a city's pods."""

    api: Api
    pods: Pods
    hands: Hands
    births: Births

    def hand(self, pod: Pod, *, deadline: float) -> Hand:
        """Return the hand that is kept in a pod."""
        return self.hands.of(pod, deadline=deadline)

    def open(self, pod: Pod, *, deadline: float) -> Hand:
        """Return one more hand in a pod, for something that may take long; the caller closes it."""
        return self.hands.open(pod, deadline=deadline)

    def place(
        self,
        pod: Pod,
        src: str,
        rel_dst: str,
        *,
        overwrite: bool,
        timeout: float,
        work_dir: str = "",
    ) -> None:
        """Copy a file, or a folder's content, into the work folder of a pod, or into another.

        Raises OSError when the source cannot be read, ProviderError when it cannot be placed.
        """
        deadline = time.monotonic() + timeout
        work = work_dir or state.work_dir(pod)
        rel_dst = staging.check(rel_dst, work)
        archive, size, name = staging.pack(src)
        with archive:
            words = staging.unpack_words(work, rel_dst, name, size, overwrite=overwrite)
            left = max(deadline - time.monotonic(), 0.01)
            stream = self.api.open_stream(
                str(pod["metadata"]["name"]), CONTAINER, words, stdin=True, timeout=left
            )
            said = b""
            try:
                with contextlib.suppress(StreamEnded):  # what it says, and its status, tell why
                    for piece in staging.pieces(archive):
                        stream.write(piece, deadline=deadline)
                while (heard := stream.read(max(deadline - time.monotonic(), 0.01))) is not None:
                    said += heard[1]
            except TimeoutError as problem:
                raise ProviderError(f"{src} was not copied in time") from problem
            finally:
                stream.close()
        if stream.status != 0:
            why = said.decode(errors="replace").strip() or stream.failure or "it was cut off"
            raise ProviderError(f"{src} was not copied: {why.splitlines()[-1]}")

    def mark(self, pod: Pod, annotations: Mapping[str, str], *, timeout: float) -> None:
        """Set annotations of this very pod. Raises SessionNotFound."""
        if self.births.patch(pod, dict(annotations), timeout=timeout) is None:
            raise SessionNotFound(f"there is no session {state.session_of(pod)}")

    def mirror(self, pod: Pod, key: str, value: str | None, *, deadline: float) -> None:
        """Lay a key of metadata out for the agent inside, or take it away."""
        path = f"{entry.HOME}/meta/{key}"
        script = f"rm -f {path}"
        if value is not None:
            script = f"printf %s {quote(value)} >{path}.new && mv {path}.new {path}"
        self.hands.repeat(pod, lambda hand: hand.run(script, deadline=deadline), deadline=deadline)

    def end_of(self, pod: Pod, *, deadline: float) -> Life:
        """Return how a pod's agent ended, once the API knows it; what the API says till then."""
        name, uid = str(pod["metadata"]["name"]), state.uid(pod)

        def is_over(now: Pod | None) -> bool:
            return now is None or state.uid(now) != uid or state.is_over(now)

        try:
            now = self.pods.until(name, is_over, deadline=deadline)
        except TimeoutError:
            return Alive()
        if now is None or state.uid(now) != uid:
            return Exited()
        return state.session_state(now, time.time()).life

    def programs(self, pod: Pod, *, deadline: float) -> set[str]:
        """Return the names of the programs that run in the agent's process tree.

        Raises Lost when the pod's tmux or its kernel does not say.
        """
        done = self.hand(pod, deadline=deadline).run(_TABLE, deadline=deadline)
        try:
            return programs_in(done.output)
        except ValueError as problem:
            raise Lost(f"the processes of a pod are not told: {problem}") from problem


def programs_in(table: bytes) -> set[str]:
    """Return the names of what runs below the pane, whose pid is the first line of a table.

    Raises ValueError for a table that says nothing: then nothing is known of any program.
    """
    first, _, rest = table.partition(b"\n")
    if not first.strip().isdigit():
        raise ValueError("there is no list of them")
    root = int(first)
    return shell.programs_below([root], rest)[root]
