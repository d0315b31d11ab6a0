"""Waiting for the world to become so, without a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


LONGEST_STEP = 0.1  # seconds


def eventually(check: Callable[[], T], within: float = 60.0, every: float = 0.01) -> T:
    """Return the first truthy answer of `check`, which is asked every `every` seconds.

    Raises AssertionError after `within` seconds, naming the last answer. A machine that stands
    still for a while takes little of them: each look counts a tenth of a second at most, however
    late it comes. What `check` raises is not caught, but for AssertionError: a check may hold
    asserts of its own.
    """
    spent = 0.0
    before = time.monotonic()
    while True:
        said: object
        try:
            answer = check()
        except AssertionError as problem:
            said = problem
        else:
            if answer:
                return answer
            said = answer
        now = time.monotonic()
        spent += min(now - before, max(every, LONGEST_STEP))
        before = now
        if spent >= within:
            raise AssertionError(f"not within {within:g} s; the last answer was {said!r}")
        time.sleep(every)  # the one place where tests wait
