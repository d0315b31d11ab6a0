"""What a short command costs, against the floor of importing the command line framework.

Prints one JSON line. Each ratio is to `python -c "import typer"`, measured in turn in the same run,
the best of several each: `gc --help`, and `gc status` alone, with a small city, and with a hundred
agents, into a pipe and onto a terminal. The promise is a ratio of at most 4.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gascity.testing.eventually import eventually

ROUNDS = 7
MANY = 100
PROMISE = 4.0
LIMIT = 120.0  # seconds for a city to come up
GC = os.path.join(os.path.dirname(sys.executable), "gc")
FLOOR = [sys.executable, "-c", "import typer"]

Run = Callable[[list[str]], None]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone = declare(f"{folder}/alone", 3)
        measured = best({"floor": FLOOR, "help": [GC, "--help"], "status_alone": status(alone)})
        ratios = ratios_of(measured)
        for name, count in (("status", 3), ("status_many", MANY)):
            with running(declare(f"{folder}/{name}", count), count) as city:
                ratios |= ratios_of(best({"floor": FLOOR, name: status(city)}))
                on_terminal = best({"floor": FLOOR, f"{name}_terminal": status(city)}, shown)
                ratios |= ratios_of(on_terminal)
    print(
        json.dumps(
            {
                "bench": "cli",
                "many": MANY,
                "floor_ms": round(measured["floor"] * 1000, 1),
                **{f"{name}_ratio": round(ratio, 2) for name, ratio in ratios.items()},
                "promise": PROMISE,
                "kept": all(ratio <= PROMISE for ratio in ratios.values()),
            }
        )
    )


def declare(folder: str, count: int) -> str:
    """Write a city of sleepers; return its folder."""
    agents = (
        f'[[agents]]\nname = "a-{number}"\nstart_command = "sleep 1000"\n'
        for number in range(count)
    )
    Path(folder).mkdir()
    Path(folder, "city.toml").write_text('[session]\nprovider = "subprocess"\n' + "".join(agents))
    return folder


def status(folder: str) -> list[str]:
    return [GC, "-C", folder, "status"]


@contextlib.contextmanager
def running(folder: str, count: int) -> Iterator[str]:
    """Have a controller keep the city, and all its agents up."""
    subprocess.run([GC, "-C", folder, "start", "--detach"], check=True, capture_output=True)
    try:
        up = f"{count} ready;".encode()
        eventually(lambda: up in subprocess.check_output(status(folder)), within=LIMIT, every=0.2)
        yield folder
    finally:
        subprocess.run([GC, "-C", folder, "stop"], check=True, capture_output=True)


def ratios_of(measured: dict[str, float]) -> dict[str, float]:
    floor = measured["floor"]
    return {name: taken / floor for name, taken in measured.items() if name != "floor"}


def piped(words: list[str]) -> None:
    subprocess.run(words, check=True, capture_output=True)


def shown(words: list[str]) -> None:
    """Run a command on a terminal, and read all that it draws."""
    near, far = pty.openpty()
    process = subprocess.Popen(words, stdin=far, stdout=far, stderr=far)
    os.close(far)
    with contextlib.suppress(OSError):  # how Linux says that nobody has it open any more
        while os.read(near, 65536):
            pass
    os.close(near)
    if process.wait():
        raise RuntimeError(f"{words} ended with {process.returncode}")


def best(commands: dict[str, list[str]], run: Run = piped) -> dict[str, float]:
    """Return the least seconds of each command, all of them measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, words in commands.items():
            began = time.perf_counter()
            run(words)
            times[name].append(time.perf_counter() - began)
    return {name: min(taken) for name, taken in times.items()}


if __name__ == "__main__":
    main()
