"""What one look at all sessions in tmux costs, against tmux's own answer to the same question.

    python bench/observe.py [SESSIONS ...]

Prints one JSON line per number of sessions, and ends with 1 when a limit is broken. The floor is a
bare control-mode client that has tmux list the same fields and the metadata, and reads to the end
of the answer. All sizes run at once and are measured in turn, each with its floor, so that a busy
machine slows all of them. `growth` is the cost of one session against that at the next smaller
size. `first_ms` is the look that reads all metadata; later ones read only what changed, so a ratio
may be below 1. `lean_ratio` is to the same question without metadata, and has no limit.

A look must start no process. Processes that stay are counted below this one and below the tmux
server; those that came and went show in what both have reaped. `forks_on_machine` is everybody's.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys

from gascity.core.model import SessionConfig
from gascity.core.observed import AGENT, BEACON, CITY_ID, CONFIG, CONFIG_HASH, RUN

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _tmux

SIZES = (10, 100, 500)
ROUNDS = 30
WARM_UP = 3
RATIO = 2.5  # times the floor
GROWTH = 1.5  # times the cost of one session at the size before
FIELDS = (
    "pane_id session_id pane_pid pane_dead pane_dead_status pane_dead_signal session_attached"
    " window_activity session_created GC_META_VERSION @gc_token @gc_name pane_title"
    f" {CITY_ID} {AGENT} {CONFIG_HASH} {CONFIG} {RUN} {BEACON}"
).split()
META = 6  # of them, the last
QUESTION, LEAN_QUESTION = (
    f'list-panes -a -F "{"|".join(f"#{{{field}}}" for field in fields)}"'
    for fields in (FIELDS, FIELDS[:-META])
)


def main() -> int:
    sizes = sorted({int(word) for word in sys.argv[1:]}) or SIZES
    with contextlib.ExitStack() as stack:
        subjects = [Subject(stack.enter_context(_tmux.city(size, config)), stack) for size in sizes]
        forks, before_all = forked(), [footprint(subject.city.server) for subject in subjects]
        for _ in range(ROUNDS):
            for subject in subjects:
                subject.measure()
        forks = forked() - forks
        for subject, had in zip(subjects, before_all, strict=True):
            subject.is_still = footprint(subject.city.server) == had
    broken = False
    for before, subject in zip([None, *subjects], subjects, strict=False):
        result = subject.result(before)
        print(json.dumps({**result, "forks_on_machine": forks}))
        broken = broken or not result["kept"]
    return int(broken)


def config(name: str) -> SessionConfig:
    """Return a session with the metadata that a controller gives it."""
    meta = {
        CITY_ID: "0123456789abcdef",
        AGENT: f"rig/{name}",
        CONFIG_HASH: "5f" * 32,
        CONFIG: json.dumps({"command": "claude --resume", "env": "x" * 250}),
        RUN: f"{name}-1",
        BEACON: f"[bench] {name} 2026-01-01T00:00:00",
    }
    return SessionConfig("sleep 1000", "/", _tmux.ENV, meta=meta)


class Subject:
    """One city under measurement, with a bare client on its server."""

    def __init__(self, city: _tmux.City, stack: contextlib.ExitStack) -> None:
        self.city = city
        self._bare = _tmux.Bare(city.socket, "attach-session", "-t", "=gc-control")
        stack.callback(self._bare.close)
        self._first = _tmux.seconds(lambda: look(city))
        check(city, self._bare)
        self._floors: list[float] = []
        self._leans: list[float] = []
        self._taken: list[float] = []
        for _ in range(WARM_UP):
            self.measure()
        self._floors.clear()
        self._leans.clear()
        self._taken.clear()
        self.is_still = False

    def measure(self) -> None:
        self._floors.append(_tmux.seconds(lambda: self._bare.ask(QUESTION)))
        self._leans.append(_tmux.seconds(lambda: self._bare.ask(LEAN_QUESTION)))
        self._taken.append(_tmux.seconds(lambda: look(self.city)))

    @property
    def each(self) -> float:
        """The seconds one session costs."""
        return statistics.median(self._taken) / len(self.city.names)

    def result(self, before: Subject | None) -> dict[str, object]:
        """Return the line to print; `before` is the next smaller city."""
        floor, observe = statistics.median(self._floors), statistics.median(self._taken)
        lean = statistics.median(self._leans)
        growth = self.each / before.each if before is not None else None
        return {
            "bench": "observe",
            "sessions": len(self.city.names),
            "rounds": ROUNDS,
            "observe_ms": _tmux.milliseconds(observe),
            "floor_ms": _tmux.milliseconds(floor),
            "ratio": round(observe / floor, 2),
            "ratio_limit": RATIO,
            "lean_floor_ms": _tmux.milliseconds(lean),
            "lean_ratio": round(observe / lean, 2),
            "per_session_us": round(self.each * 1e6, 1),
            "floor_per_session_us": round(floor / len(self.city.names) * 1e6, 1),
            "growth": None if growth is None else round(growth, 2),
            "growth_limit": GROWTH,
            "starts_no_process": self.is_still,
            "first_ms": _tmux.milliseconds(self._first),
            "kept": observe <= RATIO * floor
            and self.is_still
            and (growth is None or growth <= GROWTH),
        }


def look(city: _tmux.City) -> None:
    city.provider.observe(timeout=_tmux.LIMIT)


def check(city: _tmux.City, bare: _tmux.Bare) -> None:
    """Make sure that both tell everything: what is left out costs nothing."""
    seen = city.provider.observe(timeout=_tmux.LIMIT)
    floor = bare.ask(QUESTION).decode()
    for name in city.names:
        stored = config(name).meta
        if {key: seen[name].meta.get(key) for key in stored} != stored:
            raise RuntimeError(f"the metadata of {name} was not observed")
        if "|".join(stored.values()) not in floor:
            raise RuntimeError(f"the floor does not tell the metadata of {name}")


def footprint(server: int) -> list[tuple[int, list[str]]]:
    """Return, of this process and the server, the page faults of reaped children and the others."""
    found = []
    for pid in (os.getpid(), server):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            reaped = int(file.read().rpartition(")")[2].split()[8])  # cminflt
        children: list[str] = []
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
                children += file.read().split()
        found.append((reaped, sorted(children)))
    return found


def forked() -> int:
    """Return how many processes and threads were started on this machine since it came up."""
    with open("/proc/stat", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("processes "))


if __name__ == "__main__":
    sys.exit(main())
