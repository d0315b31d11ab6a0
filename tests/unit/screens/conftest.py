from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def in_utc() -> Iterator[None]:
    """Let the machine be in UTC: a time without a zone is in the machine's own."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = "UTC"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()
