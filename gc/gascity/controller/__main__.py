"""A controller in the background: `python -m gascity.controller CITY_FILE READY_FD`.

Until it is ready its errors go to the terminal of whoever started it; then a line is written to
READY_FD (its pid, and where the sessions live), and everything after that goes to
`.gc/controller.log`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from gascity.controller.daemon import run_city
from gascity.controller.opening import where_sessions_live
from gascity.controller.place import Place
from gascity.core.actions import Event
from gascity.core.model import City
from gascity.errors import GascityError, explain


def main() -> int:
    """Run until told to leave; the exit code is that of `gc start`."""
    path, descriptor = Path(sys.argv[1]), int(sys.argv[2])

    def ready(city: City) -> None:
        log = os.open(
            Place(city.root).log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        for stream in (1, 2):
            os.dup2(log, stream)
        if log > 2:  # with a closed stream it may have taken that one's place
            os.close(log)
        os.write(descriptor, f"{os.getpid()} {where_sessions_live(city)}\n".encode())
        os.close(descriptor)

    try:
        run_city(path, report=_log, ready=ready)
    except GascityError as problem:
        sys.stderr.write(explain(problem))
        return problem.exit_code
    return 0


def _log(event: Event) -> None:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S")
    facts = " ".join(part for part in (event.agent, event.run, event.message) if part)
    sys.stderr.write(f"{moment} {event.type} {facts}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # a call that is stuck in a worker must not keep the process alive
