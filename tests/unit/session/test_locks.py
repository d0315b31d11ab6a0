"""One hand at a time on a session, between threads and between processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gascity.errors import Exit
from gascity.session.locks import SessionBusy, session_lock

HOLDER = """
import sys
from gascity.session.locks import session_lock
with session_lock(sys.argv[1], "a", 5):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_lock_keeps_others_out_until_time_is_up(tmp_path: Path) -> None:
    with (
        session_lock(str(tmp_path), "a", 1),
        pytest.raises(SessionBusy, match="session a is busy") as caught,
        session_lock(str(tmp_path), "a", 0.05),
    ):
        pass

    assert caught.value.exit_code is Exit.TIMED_OUT


def test_other_sessions_and_other_purposes_are_free(tmp_path: Path) -> None:
    with (
        session_lock(str(tmp_path), "a", 0),
        session_lock(str(tmp_path), "b", 0),
        session_lock(str(tmp_path), "a", 0, purpose="start"),
    ):
        pass


def test_a_lock_is_free_again_after_its_block_even_if_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), session_lock(str(tmp_path), "a", 0):
        raise ValueError("x")

    with session_lock(str(tmp_path), "a", 0):
        pass


def test_a_waiting_thread_gets_the_lock_when_it_is_let_go(tmp_path: Path) -> None:
    order: list[str] = []

    def wait() -> None:
        with session_lock(str(tmp_path), "a", 10):
            order.append("second")

    with session_lock(str(tmp_path), "a", 0):
        thread = threading.Thread(target=wait)
        thread.start()
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_another_process_is_kept_out_and_its_death_lets_go(tmp_path: Path) -> None:
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(SessionBusy), session_lock(str(tmp_path), "a", 0.05):
            pass
        holder.kill()

    with session_lock(str(tmp_path), "a", 10):
        pass
