"""The process that supervises a task which nobody watches: `gc task start --detach` starts it.

It is told on its standard input which task, and which of its descriptors holds that; it says on
another one that it has begun. What it has to complain of goes to `supervisor.log`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from gascity.cli.city import Here
from gascity.cli.supervising import Order, supervise
from gascity.errors import Exit, GascityError, explain
from gascity.runs.places import find_home


def main() -> int:
    """Supervise one task to its end."""
    told: dict[str, Any] = json.load(sys.stdin)  # Any: our own words, from `detach`
    for descriptor in (told["lock"], told["ready"]):
        os.set_inheritable(descriptor, False)
    here = Here(told["folder"], told["given"])
    home = find_home(here.folder)
    place = home.task(told["project"], told["task"])
    order = Order(here, home, place, tuple(told["command"]), told["lock"], told["gc_folder"])
    try:
        order.job()  # what cannot begin is told to who waits
        with contextlib.suppress(BrokenPipeError):  # who waited left
            os.write(told["ready"], b"ready\n")
        os.close(told["ready"])
        info, _ = supervise(order, aloud=False)
    except GascityError as problem:
        sys.stderr.write(explain(problem))
        return Exit.FAILED
    return info.exit_code or Exit.OK


if __name__ == "__main__":
    sys.exit(main())
