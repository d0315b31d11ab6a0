"""What a short command costs, against the floor of importing the command line framework.

Prints one JSON line. Each ratio is to `python -c "import typer"`, measured in turn in the same run,
the best of several each. The promise is a ratio of at most 4.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gascity.testing.eventually import eventually

ROUNDS = 7
PROMISE = 4.0
GC = os.path.join(os.path.dirname(sys.executable), "gc")
FLOOR = [sys.executable, "-c", "import typer"]
CITY = '[session]\nprovider = "subprocess"\n' + "".join(
    f'[[agents]]\nname = "{name}"\nstart_command = "sleep 1000"\n' for name in "abc"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "city.toml").write_text(CITY)
        status = [GC, "-C", folder, "status"]
        measured = best({"floor": FLOOR, "help": [GC, "--help"], "status_alone": status})
        subprocess.run([GC, "-C", folder, "start", "--detach"], check=True, capture_output=True)
        try:
            eventually(lambda: b"3 of 3" in subprocess.check_output(status))
            running = best({"floor": FLOOR, "status": status})
        finally:
            subprocess.run([GC, "-C", folder, "stop"], check=True, capture_output=True)
    ratios = {
        "help": measured["help"] / measured["floor"],
        "status": running["status"] / running["floor"],
        "status_alone": measured["status_alone"] / measured["floor"],
    }
    print(
        json.dumps(
            {
                "bench": "cli",
                "floor_ms": round(measured["floor"] * 1000, 1),
                **{f"{name}_ratio": round(ratio, 2) for name, ratio in ratios.items()},
                "promise": PROMISE,
                "kept": all(ratio <= PROMISE for ratio in ratios.values()),
            }
        )
    )


def best(commands: dict[str, list[str]]) -> dict[str, float]:
    """Return the least seconds of each command, all of them measured in turn."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, words in commands.items():
            began = time.perf_counter()
            subprocess.run(words, check=True, capture_output=True)
            times[name].append(time.perf_counter() - began)
    return {name: min(taken) for name, taken in times.items()}


if __name__ == "__main__":
    main()
