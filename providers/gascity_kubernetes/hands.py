"""The hands of a city: one in each pod that something is done in, kept for the next time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from gascity.errors import SessionNotFound
from gascity_kubernetes import entry, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.hand import Hand, HandLost, NothingDone
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent
from gascity_kubernetes.state import CONTAINER, Pod

T = TypeVar("T")
SHELL = "/bin/sh"
IDLE = 60.0  # seconds for which a hand that nobody uses is kept


class Hands:
    """Opens hands and keeps them, by the uid of their pod. Thread-safe."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = threading.Lock()
        self._hands: dict[str, Hand] = {}
        self._opening: dict[str, threading.Lock] = {}

    def of(self, pod: Pod, *, deadline: float) -> Hand:
        """Return the hand in a pod, opened where there is none.

        Raises SessionNotFound when the pod has no shell to give, as one that ended, and ApiSilent
        when its first process is not up.
        """
        uid = state.uid(pod)
        with self._lock:
            hand = self._hands.get(uid)
            if hand is not None and not hand.is_lost:
                hand.used_at = time.monotonic()  # it is not let go before it is used
                return hand
            turn = self._opening.setdefault(uid, threading.Lock())
        if not turn.acquire(timeout=max(deadline - time.monotonic(), 0.001)):
            raise ApiSilent("the pod's shell could not be opened in time")
        try:
            with self._lock:
                hand = self._hands.get(uid)
            if hand is None or hand.is_lost:
                hand = self.open(pod, deadline=deadline)
                with self._lock:
                    self._hands[uid] = hand
            return hand
        finally:
            turn.release()

    def do(self, pod: Pod, work: Callable[[Hand], T], *, deadline: float) -> T:
        """Have the hand in a pod do something, or a new one where it was gone already.

        Nothing is done twice: raises HandLost when nobody knows what was done. Else as `of`.
        """
        while True:
            try:
                return work(self.of(pod, deadline=deadline))
            except NothingDone:
                if time.monotonic() >= deadline:
                    raise

    def repeat(self, pod: Pod, work: Callable[[Hand], T], *, deadline: float) -> T:
        """Have something done which may be done twice: once more where nobody knows of the first.

        Raises as `do` does.
        """
        try:
            return self.do(pod, work, deadline=deadline)
        except HandLost:
            return self.do(pod, work, deadline=deadline)

    def open(self, pod: Pod, *, deadline: float) -> Hand:
        """Return a new hand in a pod, which the caller keeps and closes; raises as `of` does."""
        name = str(pod["metadata"]["name"])
        try:
            stream = self._api.open_stream(
                name, CONTAINER, [SHELL], stdin=True, timeout=max(deadline - time.monotonic(), 0.01)
            )
        except (Absent, ApiRefused) as problem:
            raise SessionNotFound(f"nothing can be done in pod {name}: {problem}") from problem
        hand = Hand(stream, self._api.fence)
        # A pod is reached by its name, which may be another's by now.
        found = hand.run(f"cat {entry.TOKEN}", deadline=deadline).text.strip()
        if found != state.token(pod):
            hand.close()
            if not found:  # it says who it is as the first thing it does
                raise ApiSilent(f"the first process of pod {name} is not up")
            raise SessionNotFound(f"pod {name} was replaced by another")
        return hand

    def tidy(self) -> None:
        """Let go of the hands that nobody used for long, as in pods that are no more.

        Whether a pod is still there is not asked: one that begins may not be known yet.
        """
        now = time.monotonic()
        with self._lock:
            idle = [uid for uid, hand in self._hands.items() if hand.is_idle(now - IDLE)]
            gone = [self._hands.pop(uid) for uid in idle]
            self._opening = {
                uid: turn
                for uid, turn in self._opening.items()
                if uid in self._hands or turn.locked()
            }
        for hand in gone:
            hand.close()

    def close(self) -> None:
        """Let go of all."""
        with self._lock:
            gone = list(self._hands.values())
            self._hands.clear()
        for hand in gone:
            hand.close()
