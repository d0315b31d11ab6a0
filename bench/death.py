"""How soon a controller is woken when an agent in tmux dies, among a hundred that live.

    python bench/death.py

Prints one JSON line, and ends with 1 when the limit is broken. A death is SIGKILL to the session's
process; the time runs until `wake` is called (`wake_*`) and until a look tells that the session
exited (`seen_*`). Between two deaths the session is started again and nothing is said for a while,
so that no wake is taken for another. The floor is the same signal to a bare child that a thread
waits for, in turn with the others.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Exited, SessionState

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _tmux

SESSIONS = 100
DEATHS = 60
QUIET = 0.15  # seconds without a wake before the next death
LIMIT_MS = 50.0  # for the 95th percentile until the wake


def main() -> int:
    floors: list[float] = []
    wakes: list[float] = []
    looks: list[float] = []
    with _tmux.city(SESSIONS, lambda _: SessionConfig("sleep 1000", "/", _tmux.ENV)) as city:
        controller = Controller(city)
        try:
            for number in range(DEATHS):
                floors.append(bare_death())
                woken, seen = controller.death(city.names[number % SESSIONS])
                wakes.append(woken)
                looks.append(seen)
        finally:
            controller.close()
    measured = {
        **spread("wake", wakes),
        **spread("seen", looks),
        **spread("floor", floors),
    }
    kept = measured["wake_p95_ms"] < LIMIT_MS
    result = {
        "bench": "death",
        "sessions": SESSIONS,
        "deaths": DEATHS,
        **measured,
        "ratio": round(statistics.median(wakes) / statistics.median(floors), 2),
        "limit_p95_ms": LIMIT_MS,
        "kept": kept,
    }
    print(json.dumps(result))
    return int(not kept)


class Controller:
    """Looks once after each wake, as the real one does, and remembers when it learnt what."""

    def __init__(self, city: _tmux.City) -> None:
        self._city = city
        self._news = threading.Condition()
        self._wakes: list[float] = []
        self._looked = 0
        self._seen: dict[str, tuple[SessionState, float]] = {}
        self._is_closed = False
        self._look()
        self._watch = city.provider.watch(self._wake)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._look()  # from now on the deaths of those that are there are expected

    def death(self, name: str) -> tuple[float, float]:
        """Kill the session and start it again; return the seconds until the wake and the look."""
        process = self._quiet()[name].process
        if process is None:
            raise RuntimeError(f"{name} does not run")
        with self._news:
            wakes = len(self._wakes)
        began = time.perf_counter()
        os.kill(process.pid, signal.SIGKILL)
        with self._news:
            self._expect(lambda: len(self._wakes) > wakes)
            self._expect(lambda: isinstance(self._seen[name][0].life, Exited))
            took = self._wakes[wakes] - began, self._seen[name][1] - began
        self._city.start([name])
        with self._news:
            self._expect(lambda: isinstance(self._seen[name][0].life, Alive))
        return took

    def close(self) -> None:
        self._watch.close()
        with self._news:
            self._is_closed = True
            self._news.notify_all()
        self._thread.join()

    def _wake(self) -> None:
        with self._news:
            self._wakes.append(time.perf_counter())
            self._news.notify_all()

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._is_closed or len(self._wakes) > self._looked)
                if self._is_closed:
                    return
                self._looked = len(self._wakes)
            self._look()

    def _look(self) -> None:
        states = self._city.provider.observe(timeout=_tmux.LIMIT)
        now = time.perf_counter()
        with self._news:
            self._seen = {name: (state, now) for name, state in states.items()}
            self._news.notify_all()

    def _expect(self, check: Callable[[], bool]) -> None:
        if not self._news.wait_for(check, _tmux.LIMIT):
            raise TimeoutError("the controller was not told")

    def _quiet(self) -> dict[str, SessionState]:
        """Return what was seen last, when nobody has been woken for a while."""
        with self._news:
            count = -1
            while count != len(self._wakes) or self._looked != count:
                count = len(self._wakes)
                self._news.wait_for(functools.partial(self._is_woken_since, count), QUIET)
            return {name: state for name, (state, _) in self._seen.items()}

    def _is_woken_since(self, count: int) -> bool:
        return len(self._wakes) != count


def bare_death() -> float:
    """Return the seconds from the signal until a thread that waits for the child knows."""
    ended: list[float] = []
    pid = os.posix_spawnp("sleep", ["sleep", "1000"], _tmux.ENV)

    def wait() -> None:
        os.waitpid(pid, 0)
        ended.append(time.perf_counter())

    thread = threading.Thread(target=wait)
    try:
        thread.start()
        time.sleep(0.01)  # that it waits
        began = time.perf_counter()
    finally:
        os.kill(pid, signal.SIGKILL)  # nobody else ends it, so the number is still its own
        thread.join()
    return ended[0] - began


def spread(name: str, taken: list[float]) -> dict[str, float]:
    ranked = sorted(taken)
    return {
        f"{name}_p50_ms": _tmux.milliseconds(statistics.median(ranked)),
        f"{name}_p95_ms": _tmux.milliseconds(ranked[-(-len(ranked) * 95 // 100) - 1]),
        f"{name}_max_ms": _tmux.milliseconds(ranked[-1]),
    }


if __name__ == "__main__":
    sys.exit(main())
