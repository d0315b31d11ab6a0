"""One controller per city, also where nothing can be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gascity.controller.lock import CityLock
from gascity.errors import CityHeld

# The kernel refuses to let this process write a single byte, as it does on a full disk.
HOLDER = """
import resource, sys
from gascity.controller.lock import CityLock
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
CityLock(sys.argv[1]).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_full_disk_does_not_keep_a_controller_from_its_city(tmp_path: Path) -> None:
    path = str(tmp_path / "controller.lock")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        said = holder.stdout.readline()

        with pytest.raises(CityHeld, match="has not said its name"):
            CityLock(path).acquire()
        holder.communicate()

    assert said == "held\n"
    lock = CityLock(path)
    lock.acquire()
    lock.release()
