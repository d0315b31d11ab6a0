"""The start sequence: its order, its limits, and what is fatal."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from gascity.core.model import CopyEntry, SessionConfig, StartupHints
from gascity.core.observed import READY, Alive, Exited, Life
from gascity.errors import ProviderUnavailable, SessionExists, StartFailed
from gascity.session.local import LocalFolder, run_shell
from gascity.session.readiness import Stand, shows_prompt
from gascity.session.receipts import Delivery, Receipt
from gascity.session.startup import Ran, bring_up


class Stage:
    """A target that lives on a clock of its own: what happens when is told in advance.

    `screens` maps a moment to what is shown from then on; at `dies_at` the program ends.
    """

    def __init__(
        self,
        *,
        failing: Sequence[str] = (),
        screens: dict[float, str] | None = None,
        dies_at: float = float("inf"),
        exists: bool = False,
        dialogs: int = 0,
    ) -> None:
        self.time = 0.0
        self.steps: list[str] = []
        self.meta: dict[str, str] = {}
        self._failing = failing
        self._screens = screens or {}
        self._dies_at = dies_at
        self._exists = exists
        self._dialogs = dialogs

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def bring_up(self, hints: StartupHints, timeout: float = 100.0) -> None:
        self._hints = hints
        config = SessionConfig("agent", "/work", hints=hints)
        bring_up("a", config, self, timeout=timeout, now=self.now, sleep=self.sleep)

    def make_work_dir(self) -> None:
        self.steps.append("folder")

    def place(self, src: str, rel_dst: str, *, overwrite: bool) -> None:
        self.steps.append(f"{'copy' if overwrite else 'overlay'} {src}")
        if src in self._failing:
            raise FileNotFoundError(src)

    def run(self, command: str, *, timeout: float) -> Ran:
        self.steps.append(command)
        return Ran(3, "first\nno luck") if command in self._failing else Ran(0, "")

    def run_script(self, path: str, *, timeout: float) -> Ran:
        return self.run(path, timeout=timeout)

    def create(self, *, timeout: float) -> None:
        if self._exists:
            raise SessionExists("a")
        self.steps.append("create")

    def life(self, *, timeout: float) -> Life:
        return Exited(4) if self.time >= self._dies_at else Alive()

    def peek(self, lines: int, *, timeout: float) -> str:
        return next((s for t, s in sorted(self._screens.items())[::-1] if t <= self.time), "")

    def stand(self, *, timeout: float) -> Stand:
        self._dialogs -= 1
        prefix = self._hints.ready_prompt_prefix
        if not prefix:
            return Stand.UNKNOWN
        ready = self._dialogs < 0 and shows_prompt(self.peek(1, timeout=timeout), prefix)
        return Stand.READY if ready else Stand.NOT_YET

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        self.steps.append(f"nudge {text}")
        return Receipt(Delivery.SUBMITTED)

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        self.meta[key] = value

    def discard(self, *, timeout: float) -> None:
        self.steps.append("discard")


EVERYTHING = StartupHints(
    pre_start=("before",),
    overlay_dir="overlay",
    copy_files=(CopyEntry("file", "there"),),
    session_setup=("setup",),
    session_setup_script="script",
    ready_prompt_prefix="> ",
    nudge="go",
)


def test_the_steps_come_in_their_order() -> None:
    stage = Stage(screens={0.0: "> "})

    stage.bring_up(EVERYTHING)

    assert stage.steps == [
        "folder", "before", "overlay overlay", "copy file", "create", "setup", "script", "nudge go",
    ]  # fmt: skip


def test_without_hints_a_session_is_created_and_that_is_all() -> None:
    stage = Stage(dies_at=0.0)

    stage.bring_up(StartupHints())

    assert stage.steps == ["folder", "create"]
    assert stage.meta == {}
    assert stage.time == 0


@pytest.mark.parametrize("failing", ["before", "overlay", "file"])
def test_what_fails_before_leaves_no_session(failing: str) -> None:
    stage = Stage(failing=[failing])

    with pytest.raises(StartFailed):
        stage.bring_up(EVERYTHING)

    assert "create" not in stage.steps


@pytest.mark.parametrize("failing", ["setup", "script"])
def test_what_fails_after_stops_the_session_and_tells_its_output(failing: str) -> None:
    stage = Stage(failing=[failing])

    with pytest.raises(StartFailed, match="no luck") as caught:
        stage.bring_up(EVERYTHING)

    assert stage.steps[-1] == "discard"
    assert caught.value.output == "first\nno luck"


def test_the_session_of_someone_else_is_not_discarded() -> None:
    stage = Stage(exists=True)

    with pytest.raises(SessionExists):
        stage.bring_up(EVERYTHING)

    assert "discard" not in stage.steps


def test_ready_is_when_the_prompt_shows() -> None:
    stage = Stage(screens={0.0: "loading", 7.0: "hello\n%\N{NO-BREAK SPACE}"})

    stage.bring_up(StartupHints(ready_prompt_prefix="% "))

    assert 7.0 <= stage.time < 7.3
    assert stage.meta == {READY: "yes"}


def test_a_prompt_under_a_dialog_does_not_count() -> None:
    stage = Stage(screens={0.0: "> "}, dialogs=3)

    stage.bring_up(StartupHints(ready_prompt_prefix="> "))

    assert stage.time > 0


def test_a_prompt_that_never_shows_is_noted_and_the_session_kept() -> None:
    stage = Stage(screens={0.0: "still loading"})

    stage.bring_up(StartupHints(ready_prompt_prefix="> ", nudge="go"), timeout=1000)

    assert stage.meta == {READY: "timeout"}
    assert 60 <= stage.time < 61
    assert stage.steps[-1] == "nudge go"


def test_the_time_limit_bounds_the_wait_for_the_prompt() -> None:
    stage = Stage()

    stage.bring_up(StartupHints(ready_prompt_prefix="> "), timeout=10)

    assert stage.time < 10


class Stalled(Stage):
    """One on a machine that stalls, and whose backend needs a second for each answer."""

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.time += 3.0

    def life(self, *, timeout: float) -> Life:
        self._answer(timeout)
        return super().life(timeout=timeout)

    def stand(self, *, timeout: float) -> Stand:
        self._answer(timeout)
        return super().stand(timeout=timeout)

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        self._answer(timeout)
        super().set_meta(key, value, timeout=timeout)

    def _answer(self, timeout: float) -> None:
        if timeout < 1.0:
            raise ProviderUnavailable("it did not answer in time")


def test_a_session_that_is_there_is_started_though_its_time_is_up_when_that_is_seen() -> None:
    stage = Stalled()

    stage.bring_up(StartupHints(ready_prompt_prefix="> "), timeout=10)

    assert stage.meta == {READY: "timeout"}
    assert "discard" not in stage.steps


def test_the_delay_counts_where_there_is_no_prompt() -> None:
    stage = Stage()

    stage.bring_up(StartupHints(ready_delay_ms=2500))

    assert stage.time == pytest.approx(2.5)
    assert stage.meta == {READY: "yes"}


def test_a_program_that_dies_while_starting_is_told_with_its_last_words() -> None:
    stage = Stage(screens={0.0: "cannot log in"}, dies_at=1.0)

    with pytest.raises(StartFailed, match="exited with status 4") as caught:
        stage.bring_up(StartupHints(ready_delay_ms=60_000))

    assert caught.value.output == "cannot log in"
    assert stage.steps[-1] == "discard"
    assert stage.time < 1.3


@pytest.mark.parametrize(
    ("screen", "shown"),
    [
        ("> ", True),
        ("a\n  > x\nb", True),
        ("a > b", False),
        ("", False),
        ("\N{NO-BREAK SPACE}> ", True),
    ],
)
def test_a_prompt_stands_at_the_start_of_a_line(screen: str, shown: bool) -> None:
    assert shows_prompt(screen, "> ") is shown


def test_a_command_runs_in_the_folder_with_exactly_its_environment(tmp_path: Path) -> None:
    ran = run_shell("pwd; env | sort", str(tmp_path), {"A": "1"}, timeout=10)

    assert ran == Ran(0, f"{tmp_path}\nA=1\nPWD={tmp_path}")


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    command = "echo begun; sleep 1000 & sleep 1000"
    for limit in (0.3, 3.0, 30.0):  # a busy machine needs longer until it has begun
        ran = run_shell(command, str(tmp_path), _path(), timeout=limit)
        if ran.output:
            break

    assert ran == Ran(None, "begun")


def test_a_child_in_the_background_does_not_keep_the_start_waiting(tmp_path: Path) -> None:
    ran = run_shell("sleep 1000 & echo $!", str(tmp_path), _path(), timeout=10)
    os.kill(int(ran.output), signal.SIGKILL)

    assert ran.status == 0


@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_a_script_runs_whether_or_not_it_is_executable(tmp_path: Path, mode: int) -> None:
    script = tmp_path / "a script"
    script.write_text("#!/bin/sh\necho ran; exit 5\n")
    script.chmod(mode)

    assert LocalFolder(str(tmp_path), _path()).run_script(str(script), timeout=10) == Ran(5, "ran")


def _path() -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin"}
