"""What is said of a program that could not be started."""

from __future__ import annotations

import errno

import pytest

from gascity.errors import BackendError
from gascity.runs.refusals import refusal

FILES = {"stdin": "/run/prompt", "stdout": "/run/out", "stderr": "/run/err"}


@pytest.mark.parametrize(
    ("stage", "number", "program", "said", "code"),
    [
        (
            "missing",
            errno.ENOENT,
            "claude",
            'exec: "claude": executable file not found in $PATH',
            127,
        ),
        ("missing", errno.ENOENT, "./x", 'exec: "./x": no such file or directory', 127),
        ("missing", errno.ENOTDIR, "/a/x", 'exec: "/a/x": not a directory', 127),
        ("exec", errno.EACCES, "x", 'exec: "x": permission denied', 126),
        ("exec", errno.ENOEXEC, "x", 'exec: "x": exec format error', 126),
        ("exec", errno.EACCES, 'a"\n\udcff', r'exec: "a\"\n\udcff": permission denied', 126),
        ("chdir", errno.ENOENT, "x", "chdir /work: no such file or directory", 126),
        ("stdin", errno.ENOENT, "x", "open /run/prompt: no such file or directory", 126),
        ("stdout", errno.EACCES, "x", "open /run/out: permission denied", 126),
        ("fork", errno.EAGAIN, "x", "fork: resource temporarily unavailable", 126),
    ],
)
def test_each_stage_has_its_words_and_its_code(
    stage: str, number: int, program: str, said: str, code: int
) -> None:
    problem = refusal(stage, number, program, "/work", FILES)

    assert isinstance(problem, BackendError)
    assert problem.message == f"start agent process: {said}"
    assert problem.code == code
