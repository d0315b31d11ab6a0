"""An imitation of Claude Code, as far as its hooks go.

Reads `.claude/settings.local.json` of its folder once, at its start, draws an input box, and runs
the hooks of SessionStart. Then each line of the pipe `events` is one event as JSON: its hooks run
as Claude Code runs them, in a shell, with the event on standard input, and what came of each is
added to `results` as a line. What the hooks of SessionStart print is kept in `context`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

RULE = "─" * 60


def main() -> None:
    try:
        with open(".claude/settings.local.json", encoding="utf-8") as file:
            hooks = json.load(file).get("hooks", {})
    except FileNotFoundError:
        hooks = {}
    with open("words", "w", encoding="utf-8") as file:
        json.dump(sys.argv[1:], file)
    os.mkfifo("events")
    start = {"hook_event_name": "SessionStart", "session_id": "main", "source": "startup"}
    with open("context", "w", encoding="utf-8") as file:
        file.write("".join(done["stdout"] for done in fire(hooks, start)))
    print(f"\x1b[2J\x1b[H\n{RULE}\n❯\u00a0\n{RULE}\n  ? for shortcuts", flush=True)  # noqa: RUF001, T201  as it draws them
    # Also open for writing: the end of one writer is not the end of the pipe, and nothing that the
    # next one writes is lost between two openings.
    with open(os.open("events", os.O_RDWR), encoding="utf-8") as pipe:
        for line in pipe:
            results = fire(hooks, json.loads(line))
            with open("results", "a", encoding="utf-8") as file:
                file.write(json.dumps(results) + "\n")


def fire(
    hooks: dict[str, list[dict[str, list[dict[str, str]]]]], event: dict[str, str]
) -> list[dict[str, Any]]:
    done = []
    for group in hooks.get(event["hook_event_name"], []):
        for hook in group["hooks"]:
            ran = subprocess.run(
                hook["command"],
                shell=True,
                input=json.dumps({**event, "cwd": os.getcwd()}),
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            done.append({"code": ran.returncode, "stdout": ran.stdout, "stderr": ran.stderr})
    return done


if __name__ == "__main__":
    main()
