"""What a one-shot backend is given, and how a bad one is refused."""

from __future__ import annotations

import os
import select
import signal
import threading
from dataclasses import replace

import pytest

from gascity.errors import BackendError
from gascity.runs.context import Cancel, RunContext, check

GOOD = RunContext("r1", "p", "t", "", "/work", "/run/out", "/run/err", {"KEY": "secret"})


def test_a_whole_context_is_taken_as_it_is_and_its_prompt_may_be_empty() -> None:
    assert check(GOOD) is GOOD


@pytest.mark.parametrize(
    ("context", "said"),
    [
        (None, "run context is nil"),
        (replace(GOOD, run_id=""), "run id is empty"),
        (replace(GOOD, working_dir=""), "working directory is empty"),
        (replace(GOOD, stdout_path=""), "stdout path is empty"),
        (replace(GOOD, stderr_path=""), "stderr path is empty"),
    ],
)
def test_what_is_missing_is_said_in_the_agreed_words(context: RunContext | None, said: str) -> None:
    with pytest.raises(BackendError) as problem:
        check(context)

    assert problem.value.message == said


def test_a_context_does_not_print_its_environment() -> None:
    assert "secret" not in repr(GOOD)


def test_the_first_reason_to_end_counts() -> None:
    cancel = Cancel()
    cancel.set("timed out")
    cancel.set("interrupted")

    assert cancel.is_set()
    assert cancel.wait(0)
    assert cancel.reason == "timed out"


def test_one_that_nobody_set_is_not_set() -> None:
    cancel = Cancel()

    assert not cancel.is_set()
    assert not cancel.wait(0)
    assert not cancel.wait(-1)
    assert cancel.reason == ""


def test_who_waits_is_woken_from_another_thread() -> None:
    cancel = Cancel()
    thread = threading.Thread(target=cancel.set, args=("interrupted",))
    thread.start()

    assert cancel.wait(20)

    thread.join()


def test_it_can_be_polled_and_stays_told() -> None:
    cancel = Cancel()
    before = select.select([cancel], [], [], 0)[0]
    cancel.set("interrupted")

    assert before == []
    assert select.select([cancel], [], [], 0)[0] == [cancel]
    assert select.select([cancel], [], [], 0)[0] == [cancel]


def test_a_signal_handler_may_set_it_while_its_own_thread_waits() -> None:
    cancel = Cancel()
    was = signal.signal(signal.SIGALRM, lambda _number, _frame: cancel.set("timed out"))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        assert cancel.wait(20)
    finally:
        signal.signal(signal.SIGALRM, was)


def test_it_may_be_told_a_hundred_thousand_times() -> None:
    cancel = Cancel()
    for number in range(100_000):
        cancel.set(str(number))

    assert cancel.reason == "0"


def test_its_descriptors_go_with_it() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        Cancel().set("interrupted")

    assert len(os.listdir("/proc/self/fd")) <= before  # others may have closed theirs
