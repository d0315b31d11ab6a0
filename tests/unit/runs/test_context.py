"""What a one-shot backend is given, and how a bad one is refused."""

from __future__ import annotations

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
