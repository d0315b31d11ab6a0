"""The start sequence, step by step, and that a start means ready."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from gascity.core.model import StartupHints
from gascity.errors import StartFailed
from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import LASTING, Configure, Contract
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

READY_WHEN_TOLD = f'touch up; until [ -e go ]; do sleep 0.02; done; printf "ready> "; {LASTING}'

# Ends well only when the session's own command has run, and gives up after some seconds.
WAIT_FOR_THE_SESSION = """
turn=0
while [ $turn -lt 200 ]; do
  if [ -e command-ran ]; then echo setup >> order; exit 0; fi
  sleep 0.1
  turn=$((turn + 1))
done
exit 1
"""


class StartupRules(Contract):
    """pre_start, create, session_setup, session_setup_script, readiness, nudge."""

    def test_the_steps_run_in_order_in_the_work_folder(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, tmp_path: Path
    ) -> None:
        setup_script = tmp_path / "setup.sh"
        setup_script.write_text("#!/bin/sh\necho script >> order\n")
        setup_script.chmod(0o755)
        hints = StartupHints(
            pre_start=("echo first >> order", "echo second >> order"),
            session_setup=(WAIT_FOR_THE_SESSION,),
            session_setup_script=str(setup_script),
        )

        provider.start(
            name,
            config(f"echo command >> order; touch command-ran; {LASTING}", hints=hints),
            timeout=self.limit,
        )

        order = (work / "order").read_text().split()
        assert order == ["first", "second", "command", "setup", "script"]

    def test_a_failing_pre_start_fails_the_start_before_anything_runs(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        work: Path,
        witness: Witness,
        token: str,
    ) -> None:
        hints = StartupHints(pre_start=("echo the reason; exit 7", "touch second-ran"))

        with pytest.raises(StartFailed) as caught:
            provider.start(
                name, config(f"touch command-ran; {LASTING}", hints=hints), timeout=self.limit
            )

        assert "the reason" in f"{caught.value} {caught.value.output}"
        assert not (work / "second-ran").exists()
        assert not (work / "command-ran").exists()
        assert witness.living(token) == []
        assert not provider.is_running(name, timeout=self.limit)

    def test_after_a_failed_start_the_name_is_free(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(pre_start=("exit 1",))
        with pytest.raises(StartFailed):
            provider.start(name, config(hints=hints), timeout=self.limit)

        provider.start(name, config(), timeout=self.limit)

        assert provider.is_running(name, timeout=self.limit)

    def test_a_pre_start_that_hangs_fails_the_start_in_time(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(pre_start=("exec sleep 30",))

        begun = time.monotonic()
        with pytest.raises(StartFailed):
            provider.start(name, config(hints=hints), timeout=1.0 + self.birth)

        assert time.monotonic() - begun < 10.0 + self.birth

    def test_start_returns_when_the_prompt_is_there_and_not_before(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        work: Path,
    ) -> None:
        hints = StartupHints(ready_prompt_prefix="ready>")
        problems: list[BaseException] = []
        returned = threading.Event()

        def start() -> None:
            try:
                provider.start(name, config(READY_WHEN_TOLD, hints=hints), timeout=self.limit)
            except BaseException as problem:  # noqa: BLE001  told by the test's own thread
                problems.append(problem)
            returned.set()

        starting = threading.Thread(target=start)
        starting.start()
        try:
            eventually((work / "up").exists)
            too_early = returned.wait(0.3)
        finally:
            (work / "go").touch()
            starting.join()

        assert problems == []
        assert not too_early
        assert "ready>" in provider.peek(name, 5, timeout=self.limit)

    def test_a_slow_start_does_not_hold_up_questions(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        work: Path,
    ) -> None:
        provider.start(f"{name}-other", config(), timeout=self.limit)
        hints = StartupHints(ready_prompt_prefix="ready>")
        starting = threading.Thread(
            target=lambda: provider.start(
                name, config(READY_WHEN_TOLD, hints=hints), timeout=self.limit
            )
        )

        starting.start()
        try:
            eventually((work / "up").exists)
            begun = time.monotonic()
            running = provider.is_running(f"{name}-other", timeout=self.limit)
            states = provider.observe(timeout=self.limit)
            took = time.monotonic() - begun
            still_starting = starting.is_alive()
        finally:
            (work / "go").touch()
            starting.join()

        assert running
        assert f"{name}-other" in states
        assert still_starting
        assert took < 5.0

    def test_a_ready_delay_is_waited_for(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(ready_delay_ms=400)

        begun = time.monotonic()
        provider.start(name, config(hints=hints), timeout=self.limit)

        assert time.monotonic() - begun >= 0.4

    def test_the_first_nudge_arrives(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        hints = StartupHints(ready_prompt_prefix="ready>", nudge="good morning")

        provider.start(
            name, config(f'printf "ready> "; {LASTING}', hints=hints), timeout=self.limit
        )

        eventually(lambda: "got good morning" in provider.peek(name, 0, timeout=self.limit))
