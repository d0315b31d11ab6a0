"""The pulse of the pods that a controller watches: what the API does not know of a living agent.

When it last showed something, who is attached, its title, and what it said from inside. Asked over
the hands that are open anyway, every other second: no request to the API comes of it.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from gascity.core.observed import SessionState, Standing
from gascity.errors import GascityError
from gascity_kubernetes import entry, names, state
from gascity_kubernetes.inside import Inside
from gascity_kubernetes.state import Pod

PACE = 2.0  # seconds between two beats
LIMIT = 5.0
TOGETHER = 8  # pods that are asked at once
# What is a time of strftime is the clock of the node, which may be another than ours.
_FIELDS = "%s|#{window_activity}|#{session_attached}|#{pane_title}"
_BEAT = (
    f"tmux -u -S {entry.SOCKET} display-message -p -t {entry.PANE} '{_FIELDS}' || echo; "
    f"cd {entry.HOME}/told && for one in {' '.join(entry.TOLD)}; do "
    '[ ! -f "$one" ] || { printf "%s " "$one"; cat "$one"; echo; }; done'
)


@dataclass(frozen=True, slots=True)
class Beat:
    """What an agent's tmux said last."""

    activity: float | None = None
    attached: int = 0
    title: str = ""
    asked_at: float = 0.0


class Pulse:
    """Keeps the last beat of every pod, and passes on what agents say from inside."""

    def __init__(
        self,
        inside: Inside,
        pods: Callable[[float], Iterable[Pod]],
        changed: Callable[[], None],
    ) -> None:
        """Ask the pods that `pods` returns; `changed` is called when something is new."""
        self._inside = inside
        self._pods = pods
        self._changed = changed
        self._beats: dict[str, Beat] = {}
        self._programs: dict[str, set[str]] = {}
        self._ended = threading.Event()
        self._begun = False
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Ask from now on."""
        with self._lock:
            if not self._begun:
                self._begun = True
                threading.Thread(target=self._run, name="pod-pulse", daemon=True).start()

    def close(self) -> None:
        """Ask no more."""
        self._ended.set()

    def felt(self, found: SessionState, pod: Pod) -> SessionState:
        """Return a session with what its last beat told."""
        beat = self._beats.get(state.uid(pod))
        if beat is None or found.standing is not Standing.UP:
            return found
        return replace(found, last_activity=beat.activity, attached=beat.attached, title=beat.title)

    def programs(self, pod: Pod, *, deadline: float) -> set[str]:
        """Return the names of what runs in a pod: of the last beat, or asked for the first time.

        Who asks once is expected to ask again.
        """
        uid = state.uid(pod)
        known = self._programs.get(uid)
        if known is None or not self._begun:
            known = self._inside.programs(pod, deadline=deadline)
            self._programs[uid] = known
        return known

    def is_new(self, pod: Pod, since: float | None) -> bool:
        """Tell whether a session may have shown something after a moment."""
        beat = self._beats.get(state.uid(pod))
        if since is None or beat is None or beat.activity is None or beat.asked_at < since:
            return True
        return beat.activity >= since - 1  # tmux counts whole seconds

    def take(self, pod: Pod, *, deadline: float) -> Beat:
        """Ask one pod."""
        asked_at = time.time()
        hand = self._inside.hand(pod, deadline=deadline)
        lines = hand.run(_BEAT, deadline=deadline).text.splitlines()
        beat = replace(read(lines[0] if lines else "", time.time()), asked_at=asked_at)
        for line in lines[1:]:
            key, _, value = line.partition(" ")
            if key in entry.TOLD:
                self._pass_on(pod, key, value, deadline)
        return beat

    def _run(self) -> None:
        with ThreadPoolExecutor(TOGETHER, thread_name_prefix="pod-pulse") as pool:
            while not self._ended.wait(PACE):
                with contextlib.suppress(GascityError):  # the API is away: who looks is told
                    self._beat(pool)

    def _beat(self, pool: ThreadPoolExecutor) -> None:
        now = time.time()
        pods = {state.uid(pod): pod for pod in self._pods(time.monotonic() + LIMIT)}
        living = {uid: pod for uid, pod in pods.items() if is_to_be_asked(pod, now)}
        found = dict(zip(living, pool.map(self._take_or_none, living.values()), strict=True))
        beats = {uid: beat for uid, beat in found.items() if beat is not None}
        old, self._beats = self._beats, beats
        for uid in self._programs.keys() - beats.keys():
            self._programs.pop(uid, None)
        self._inside.hands.tidy()
        changed = any(self._ask_for_programs(pool, living))
        if changed or any(_is_news(old.get(uid), beat) for uid, beat in beats.items()):
            self._changed()

    def _ask_for_programs(
        self, pool: ThreadPoolExecutor, living: Mapping[str, Pod]
    ) -> Iterator[bool]:
        """Ask again for the programs that somebody asked for; yields whether they changed."""

        def ask(uid: str) -> bool:
            try:
                found = self._inside.programs(living[uid], deadline=time.monotonic() + LIMIT)
            except GascityError:
                return self._programs.pop(uid, None) is not None
            was, self._programs[uid] = self._programs.get(uid), found
            return was != found

        yield from pool.map(ask, [uid for uid in self._programs if uid in living])

    def _take_or_none(self, pod: Pod) -> Beat | None:
        try:
            return self.take(pod, deadline=time.monotonic() + LIMIT)
        except GascityError:
            return None

    def _pass_on(self, pod: Pod, key: str, value: str, deadline: float) -> None:
        """Make what an agent said metadata of its session, and take the file away."""
        if state.meta(pod).get(key) == value:
            self._inside.hand(pod, deadline=deadline).run(
                f"rm -f {entry.HOME}/told/{key}", deadline=deadline
            )
            return
        self._inside.mark(pod, {names.annotation(key): value}, timeout=deadline - time.monotonic())
        self._changed()


def is_to_be_asked(pod: Pod, now: float) -> bool:
    """Tell whether a pod has an agent that can be asked.

    One whose node does not answer is not: everybody else would be asked late.
    """
    is_up = state.is_staged(pod) and state.is_reachable(pod) and not state.is_going(pod)
    return is_up and not state.is_lost(pod, now)


def read(line: str, now: float) -> Beat:
    """Return the beat in a line of tmux, by our clock; an empty one when it says nothing."""
    clock, activity, attached, title = [*line.split("|", 3), "", "", "", ""][:4]
    if not clock.isdigit() or not activity.isdigit():
        return Beat()
    shown = now - (int(clock) - int(activity))
    return Beat(shown, int(attached) if attached.isdigit() else 0, title)


def _is_news(old: Beat | None, new: Beat) -> bool:
    return old is not None and (old.attached, old.title) != (new.attached, new.title)
