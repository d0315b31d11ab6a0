"""Whether dialogs are answered right: generated ones, in real terminals, several at a time.

    python bench/dialogs.py [COUNT] [SEED]

Prints one JSON line, and ends with 1 when a wrong option was chosen, when something was said to be
done that was not, or when fewer than 95 % of the clear dialogs were answered. `nothing` counts the
clear ones in which nothing was chosen, `unclear` those that nobody could answer from the screen.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from gascity.core.model import SessionConfig
from gascity.session.dialogs import Answer, answer
from gascity.session.provider import CityContext
from gascity.session.terminal import Terminal
from gascity_tmux import layout
from gascity_tmux.provider import Provider

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _tmux
from tests.zoo.dialog_cases import Case, make_case

ROOT = sys.path[0]
COUNT = 500
SEED = 1
WIDTHS = (40, 52, 60, 80, 100, 120, 160, 200)  # a server for each
AT_ONCE = 12
LIMIT = 60.0
RIGHT = 0.95


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        providers = {width: stack.enter_context(city(folder, width)) for width in WIDTHS}
        threads = stack.enter_context(ThreadPoolExecutor(AT_ONCE))

        def run(number: int) -> str:
            chance = random.Random(seed * 100_000 + number)
            width = chance.choice(WIDTHS)
            case = replace(make_case(chance), columns=width)
            return ask(providers[width], case, f"d{number}", f"{folder}/{number}.log")

        counts = Counter(threads.map(run, range(count)))
    clear = counts["right"] + counts["nothing"]
    line = {
        "bench": "dialogs",
        "count": count,
        "seed": seed,
        **{name: counts[name] for name in ("right", "nothing", "unclear", "wrong")},
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(line))
    return int(counts["wrong"] > 0 or counts["right"] < RIGHT * clear)


def ask(provider: Provider, case: Case, name: str, log: str) -> str:
    """Have one dialog answered, and return what came of it."""
    command = shlex.join([sys.executable, "-S", "-m", "tests.zoo.dialogs", case.spec.json()])
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": ROOT, "ZOO_LOG": log, "LANG": "C.UTF-8"}
    provider.start(name, SessionConfig(f"exec {command}", ROOT, env), timeout=LIMIT)
    try:
        terminal = provider.terminal(name)
        assert terminal is not None
        wait_for(terminal)
        deadline = time.monotonic() + LIMIT
        said = answer(terminal, case.rules, case.rule, case.policy, deadline=deadline)
        time.sleep(case.spec.slow)  # a key may still be on its way
        return verdict(case, said, log)
    finally:
        provider.stop(name, grace=0.0, timeout=LIMIT)


def wait_for(terminal: Terminal) -> None:
    deadline = time.monotonic() + LIMIT
    while "Quick check" not in terminal.look(timeout=LIMIT).text:
        if time.monotonic() > deadline:
            raise TimeoutError("a dialog did not show")
        time.sleep(0.05)  # it is starting


def verdict(case: Case, said: Answer, log: str) -> str:
    with open(log, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    chosen = [int(line["text"]) for line in lines if line["event"] == "chosen"]
    stray = {key for line in lines if line["event"] == "stray" for key in line["text"].split()} - {
        "Up",
        "Down",
    }
    if (chosen and chosen != [case.wanted]) or (said.done and not chosen) or stray:
        print(f"{said.evidence}\n{said.before.text}\n{case}\n{lines}", file=sys.stderr)
        return "wrong"
    if not case.is_clear:
        return "unclear"
    if not said.done:
        print(f"{said.evidence}\n{said.before.text}\n{case}\n{lines}", file=sys.stderr)
    return "right" if said.done else "nothing"


@contextlib.contextmanager
def city(folder: str, width: int) -> Iterator[Provider]:
    """Yield a provider whose terminals are so wide; nothing is left of it afterwards."""
    state = f"{folder}/{width}/.gc"
    os.makedirs(f"{folder}/{width}")
    settings = {"width": width, "height": 60}
    provider = Provider(CityContext("bench", f"dialogs {folder} {width}", state, settings))
    try:
        yield provider
    finally:
        provider.close()
        home = layout.home(state)
        with contextlib.suppress(FileNotFoundError):
            with open(f"{home}/{layout.SERVER}", encoding="utf-8") as file:
                _tmux.end([int(json.load(file)["pid"])])
            os.unlink(layout.socket_path("bench", home))


if __name__ == "__main__":
    sys.exit(main())
