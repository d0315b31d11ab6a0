"""How many members a pool wants, also when the system has no room to ask."""

from __future__ import annotations

import errno
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from gascity.controller.demand import Demand, ask
from gascity.controller.messages import Counted, Message
from gascity.controller.workers import Workers
from gascity.core.model import PoolSpec
from gascity.testing.eventually import eventually


def pool(folder: Path, check: str) -> PoolSpec:
    return PoolSpec("crew", 0, 3, (), check=check, work_dir=str(folder))


@pytest.mark.parametrize(
    ("check", "size"),
    [("echo 2", 2), ("echo 2; exit 1", None), ("echo two", None), ("true", None), ("\0", None)],
)
def test_a_whole_number_of_a_check_that_ends_well_counts(
    tmp_path: Path, check: str, size: int | None
) -> None:
    posted: list[Message] = []
    Demand({}, Workers(), posted.append).ask([pool(tmp_path, check)])

    eventually(lambda: posted)
    assert posted == [Counted("crew", size)]


def test_a_check_that_hangs_is_given_up(tmp_path: Path) -> None:
    assert ask(pool(tmp_path, "sleep 1000 & echo 2; wait"), {}, timeout=0.2)[0] is None


# The check stops who waits for it: neither of them can do anything for longer than it may take.
STANDS_STILL = """
import sys
from gascity.controller.demand import ask
from gascity.core.model import PoolSpec
check = "sleep 0.2; kill -STOP $PPID; sleep 6; kill -CONT $PPID; sleep 0.3; echo 2"
print(ask(PoolSpec("crew", 0, 3, (), check=check, work_dir=sys.argv[1]), {}, timeout=4.0))
"""


def test_a_check_that_stood_still_with_the_machine_may_still_answer(tmp_path: Path) -> None:
    words = [sys.executable, "-c", STANDS_STILL, str(tmp_path)]

    done = subprocess.run(words, capture_output=True, text=True, check=True)

    assert done.stdout == "(2, '')\n"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_a_pool_is_asked_again_once_the_system_has_room(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, problems = tempfile.TemporaryFile, [OSError(code, "no room")]

    def at_first(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  as the real one
        if problems:
            raise problems.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(tempfile, "TemporaryFile", at_first)  # the system's, not ours
    posted: list[Message] = []
    demand = Demand({}, Workers(), posted.append)
    crew = pool(tmp_path, "echo 2")

    demand.ask([crew])
    eventually(lambda: posted == [Counted("crew", None)])
    assert not demand.take("crew", None)
    demand.ask([crew])

    eventually(lambda: posted == [Counted("crew", None), Counted("crew", 2)])
    assert demand.take("crew", 2)
    assert demand.sizes == {"crew": 2}


def test_a_check_that_gives_no_number_is_told_once_for_each_reason(tmp_path: Path) -> None:
    posted: list[Message] = []
    demand = Demand({}, Workers(), posted.append)

    first = demand.complaints(Counted("crew", None, "it ended with 3"))
    again = demand.complaints(Counted("crew", None, "it ended with 3"))
    other = demand.complaints(Counted("crew", None, "it printed 'lots'"))

    assert [alert.key for alert in (*first, *again, *other)] == ["pool:crew", "pool:crew"]
    assert demand.complaints(Counted("crew", 2)) == []
    assert demand.complaints(Counted("crew", None, "it printed 'lots'"))
    assert ask(pool(tmp_path, "echo lots; exit 3"), {}) == (None, "it ended with 3")
    assert ask(pool(tmp_path, "echo lots"), {}) == (None, "it printed 'lots'")
