"""Waiting for the world to become so, without a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(check: Callable[[], T], within: float = 10.0, every: float = 0.01) -> T:
    """Return the first truthy answer of `check`, which is asked every `every` seconds.

    Raises AssertionError after `within` seconds, naming the last answer. What `check` raises is
    not caught, but for AssertionError: a check may hold asserts of its own.
    """
    deadline = time.monotonic() + within
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
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within:g} s; the last answer was {said!r}")
        time.sleep(every)  # the one place where tests wait
