"""What it costs to read a screen, against splitting it into rows and comparing those.

    python bench/screens.py

Prints one JSON line per backend, and ends with 1 when a limit is broken. A hundred screens of the
backend, from those in `tests/screens` and each a little different, are read in several rounds;
`ms` is the processor time for one of them, `worst_ms` that of the dearest. The floor is to split
the same text into rows and to compare them with the rows before. `rules_ms` is the time to read and
compile the rules, once in the life of a program.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import gascity.config.screen_schema  # noqa: F401  its import is not what rules cost
from gascity.config.screens import shipped, shipped_names
from gascity.screens.classify import classify
from gascity.screens.rules import Rules
from gascity.screens.screen import Screen

ROOT = Path(os.path.abspath(__file__)).parent.parent
SCREENS = 100
ROUNDS = 10
LIMIT = 5.0  # milliseconds of processor time for one screen


def main() -> int:
    broken = False
    for backend in sorted(shipped_names()):
        result = measured(backend)
        print(json.dumps(result))
        broken = broken or not result["kept"]
    return int(broken)


def measured(backend: str) -> dict[str, object]:
    begin = time.process_time()
    rules = shipped(backend) or Rules()
    rules_ms = (time.process_time() - begin) * 1000
    texts = changed(backend)
    before = Screen.of(texts[0]).rows
    spent = [cost(lambda text: classify(Screen.of(text), rules, 0.0), texts) for _ in range(ROUNDS)]
    floors = [cost(lambda text: Screen.of(text).rows == before, texts) for _ in range(ROUNDS)]
    each = [statistics.median(column) for column in zip(*spent, strict=True)]
    floor = statistics.median(map(statistics.mean, floors))
    ms = statistics.median(map(statistics.mean, spent))
    return {
        "bench": "screens",
        "backend": backend,
        "screens": len(texts),
        "ms": round(ms, 3),
        "worst_ms": round(max(each), 3),
        "floor_ms": round(floor, 3),
        "ratio": round(ms / floor, 1),
        "rules_ms": round(rules_ms, 1),
        "limit_ms": LIMIT,
        "kept": max(each) < LIMIT,
    }


def changed(backend: str) -> Sequence[str]:
    """Return a hundred screens of a backend, none like another."""
    folder = ROOT / "tests" / "screens"
    files = sorted(f for f in folder.rglob("*.txt") if f.parent.name.split("-")[0] == backend)
    texts = [file.read_text("utf-8") for file in files]
    return [f"  {number}\n{texts[number % len(texts)]}" for number in range(SCREENS)]


def cost(act: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    """Return the milliseconds of processor time that each of the texts takes."""
    spent = []
    for text in texts:
        begin = time.process_time()
        act(text)
        spent.append((time.process_time() - begin) * 1000)
    return spent


if __name__ == "__main__":
    sys.exit(main())
