"""Who gives issues to agents, for one test."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.solve.workshop import Workshop


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of these need git."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.git)


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)
