"""What `tests/conftest.py` promises: a missing requirement is told, a left process is caught."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"


@pytest.fixture
def place(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makeini("[pytest]\naddopts = -p no:kmock\nmarkers =\n  tmux: x\n  kubernetes: x")
    return pytester


@pytest.fixture
def without_tmux(place: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    place.makepyfile("import pytest\n@pytest.mark.tmux\ndef test_it(): pass")
    monkeypatch.setenv("PATH", str(place.path))
    return place


def test_a_missing_requirement_skips_with_a_reason(without_tmux: pytest.Pytester) -> None:
    result = without_tmux.runpytest_inprocess("-rs")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*there is no tmux on the PATH*"])


def test_a_missing_requirement_fails_when_it_is_required(without_tmux: pytest.Pytester) -> None:
    result = without_tmux.runpytest_inprocess("--require", "tmux,kubernetes")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*tmux is required, but there is no tmux on the PATH*"])


def test_an_unknown_requirement_is_refused(place: pytest.Pytester) -> None:
    result = place.runpytest_inprocess("--require", "docker")

    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_test_that_leaves_a_process_fails(place: pytest.Pytester) -> None:
    place.makepyfile(
        """
        import os, pathlib
        def test_it():
            pid = os.posix_spawnp("sleep", ["sleep", "600"], os.environ)
            pathlib.Path("pid").write_text(str(pid))
        """
    )

    try:
        result = place.runpytest_inprocess()
    finally:
        pid = int((place.path / "pid").read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*these child processes still run: {pid} sleep 600*"])
