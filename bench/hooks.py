"""What a hook costs an agent, and how soon its word is known.

Prints one JSON line. `gc hook report` is measured against `python -c pass` in the same run, in
turn, the best of several each: without a controller, with one, and with one that is frozen. The
promise is that an agent waits at most 50 ms for it beyond Python's own start, and that what it says
is known 100 ms after it was told: the time from the report's end to a status that shows it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gascity.asking import Client
from gascity.testing.eventually import eventually

ROUNDS = 15
MOST_WAIT_MS = 50.0
MOST_DELAY_MS = 100.0
GC = os.path.join(os.path.dirname(sys.executable), "gc")
FLOOR = [sys.executable, "-c", "pass"]
SAID = json.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x" * 2000}})
CITY = """\
[session]
provider = "subprocess"
[[agents]]
name = "a"
provider = "claude"
start_command = "sleep 1000"
prompt_mode = "none"
ready_prompt_prefix = ""
ready_delay_ms = 0
process_names = []
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "city.toml").write_text(CITY)
        gc(folder, "start", "--detach")
        try:
            eventually(lambda: agent_of(status(folder))["state"] == "ready", within=30)
            agent = agent_of(status(folder))
            controller = int(status(folder)["controller"]["pid"])
            env = {
                **os.environ,
                "GC_CITY_PATH": folder,
                "GC_SESSION_NAME": agent["session"],
                "GC_RUN": agent["run"],
            }
            waits = {"with": waited(env)}
            delay = known_after(folder, env)
            with frozen(controller):
                waits["frozen"] = waited(env)
        finally:
            gc(folder, "stop")
        waits["without"] = waited(env)
    beyond = {name: (taken - floor) * 1000 for name, (taken, floor) in waits.items()}
    ratios = {name: taken / floor for name, (taken, floor) in waits.items()}
    print(
        json.dumps(
            {
                "bench": "hooks",
                "python_ms": round(min(floor for _, floor in waits.values()) * 1000, 1),
                **{f"{name}_controller_ms": round(took, 1) for name, took in beyond.items()},
                **{f"{name}_controller_ratio": round(ratio, 2) for name, ratio in ratios.items()},
                "known_after_ms": round(delay * 1000, 1),
                "promise": {"wait_ms": MOST_WAIT_MS, "known_ms": MOST_DELAY_MS},
                "kept": max(beyond.values()) <= MOST_WAIT_MS and delay * 1000 <= MOST_DELAY_MS,
            }
        )
    )


def waited(env: dict[str, str]) -> tuple[float, float]:
    """Return the least seconds of a report, and of Python alone."""
    report = [GC, "hook", "report", "claude", "PreToolUse"]
    times: dict[str, list[float]] = {"report": [], "floor": []}
    for _ in range(ROUNDS):
        for name, words in (("floor", FLOOR), ("report", report)):
            began = time.perf_counter()
            subprocess.run(words, env=env, input=SAID, check=True, capture_output=True, text=True)
            times[name].append(time.perf_counter() - began)
    return min(times["report"]), min(times["floor"])


def known_after(folder: str, env: dict[str, str]) -> float:
    """Return how long after a report ended its word was known: the middle of several."""
    client = Client(f"{folder}/.gc/controller.sock")
    taken = []
    for event, state in [("UserPromptSubmit", "working"), ("Stop", "ready")] * 5:
        words = [GC, "hook", "report", "claude", event]
        subprocess.run(words, env=env, input=SAID, check=True, capture_output=True, text=True)
        began = time.perf_counter()
        while agent_of(client.call("status", {}, timeout=5.0))["state"] != state:
            pass
        taken.append(time.perf_counter() - began)
    client.close()
    return sorted(taken)[len(taken) // 2]


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def agent_of(document: object) -> dict[str, str]:
    assert isinstance(document, dict)
    found: dict[str, str] = document["agents"][0]
    return found


def status(folder: str) -> dict[str, dict[str, int]]:
    document: dict[str, dict[str, int]] = json.loads(gc(folder, "status", "--json"))
    return document


def gc(folder: str, *words: str) -> str:
    return subprocess.run(
        [GC, "-C", folder, *words], check=True, capture_output=True, text=True
    ).stdout


if __name__ == "__main__":
    main()
