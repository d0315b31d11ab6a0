"""`python -m tests.chaos`: a long run, and one line of JSON about it.

CHAOS_SEED repeats the faults of an earlier run, CHAOS_FAULTS says how many (1000), CHAOS_PATIENCE
in how many seconds all must be well after a few of them (10). With CHAOS_RELOADS=0 the controller
is restarted after each edit of the city file, instead of reading it by itself; CHAOS_KEEP=1 keeps
the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from tests.chaos.drive import drive
from tests.chaos.test_chaos import RELOADS, SEED


def main() -> int:
    """Run, print, and say with the exit code whether all held."""
    faults = int(os.environ.get("CHAOS_FAULTS", "1000"))
    for number in (signal.SIGINT, signal.SIGTERM):  # what is cut off cleans up, too
        signal.signal(number, lambda signum, _: sys.exit(128 + signum))
    patience = float(os.environ.get("CHAOS_PATIENCE", "10"))
    folder = Path(tempfile.mkdtemp(prefix="gc-chaos-"))
    sys.stderr.write(f"CHAOS_SEED={SEED} CHAOS_FAULTS={faults} in {folder}\n")
    try:
        report = drive(folder / "c", SEED, faults, reloads=RELOADS, patience=patience)
    except AssertionError as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    finally:
        if os.environ.get("CHAOS_KEEP", "") != "1":
            shutil.rmtree(folder)
    sys.stdout.write(json.dumps(report.facts()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
