"""A journal of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.journal.store import Journal


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "city.db")


@pytest.fixture
def journal(path: str) -> Iterator[Journal]:
    made = Journal(path)
    yield made
    made.close()
