"""A real city under random faults; `make chaos` does the same for longer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.chaos.drive import drive

SEED = int(os.environ.get("CHAOS_SEED", "0")) or int.from_bytes(os.urandom(4))
FAULTS = int(os.environ.get("CHAOS_FAULTS", "25"))
RELOADS = os.environ.get("CHAOS_RELOADS", "1") == "1"
PATIENCE = 40.0  # seconds; other tests run beside this one. `make chaos` asks for ten


@pytest.mark.tmux
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="the witness reads /proc")
def test_a_city_survives_what_happens_to_it(tmp_path: Path) -> None:
    print(f"CHAOS_SEED={SEED} CHAOS_FAULTS={FAULTS}")  # noqa: T201  shown when it fails

    report = drive(tmp_path / "c", SEED, FAULTS, reloads=RELOADS, patience=PATIENCE)

    assert sum(report.faults.values()) >= FAULTS
