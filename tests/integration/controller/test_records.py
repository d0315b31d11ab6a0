"""The records of runs, as a controller over a fake world leaves them behind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.controller.stage import CITY, QUICK, Bench, Running, agent, risen, up

from gascity.core.actions import EventType
from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import AGENT, CITY_ID, CONFIG_HASH, RUN
from gascity.errors import ProviderUnavailable, StartFailed
from gascity.runs.folder import INFO, LAST_SCREEN, PROMPT, RunFolder, Runs
from gascity.runs.ids import new_run_id
from gascity.runs.info import RunInfo, Status
from gascity.screens.screen import Screen
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider

LIMIT = 60.0
SECRET = "opensesame-12345"


class Shelf:
    """The records of a bench, the newest first."""

    def __init__(self, bench: Bench) -> None:
        self.runs = Runs(str(bench.folder / "runs"))

    def all(self) -> list[RunInfo]:
        found = [self.runs.of(run).read_info() for run in self.runs.ids()]
        return [info for info in found if isinstance(info, RunInfo)]

    def when(self, *statuses: Status) -> list[RunInfo]:
        """Return the records once they have these statuses."""

        def there() -> list[RunInfo]:
            infos = self.all()
            assert [info.status for info in infos] == list(statuses), infos
            return infos

        return eventually(there, within=LIMIT)

    def folder(self, info: RunInfo) -> RunFolder:
        return self.runs.of(info.run_id)

    def screen(self, info: RunInfo) -> str:
        folder = self.folder(info)
        eventually(lambda: folder.has(LAST_SCREEN), within=LIMIT)
        return folder.read(LAST_SCREEN)


@pytest.fixture
def shelf(bench: Bench) -> Shelf:
    return Shelf(bench)


def run_of(running: Running, name: str = "a") -> str:
    return str({one["name"]: one["run"] for one in running.ask("status")["agents"]}[name])


def test_a_run_is_recorded_while_it_lives(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a", prompt="mind the shop", work_dir="/"))
    eventually(up(running, "a"))

    shelf.when(Status.RUNNING)

    (info,) = eventually(lambda: [one for one in shelf.all() if one.pid is not None], within=LIMIT)
    assert info.run_id == run_of(running)
    assert (info.agent, info.session, info.city, info.provider) == ("a", "gc-c-a", "c", "fake")
    assert (info.kind, info.why, info.fingerprint) == ("session", "wanted by the city", "f")
    assert (info.start_time != "", info.end_time, info.restarts) == (True, "", 0)
    prompt = shelf.folder(info).read(PROMPT)
    assert prompt.startswith("[c] a . ")
    assert prompt.endswith("\n\nmind the shop")


def test_a_crash_is_closed_and_the_next_run_knows_it(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    bench.world.show("gc-c-a", "out of memory")

    bench.world.crash("gc-c-a", code=3)

    new, old = shelf.when(Status.RUNNING, Status.FAILED)
    assert (old.crash, old.asked, old.exit_code, old.signal) == (True, False, 3, None)
    assert old.end == "crashed: exited with status 3"
    assert old.duration is not None
    assert (new.previous_run_id, new.restarts) == (old.run_id, 1)
    assert new.why == "it crashed: exited with status 3"
    assert shelf.screen(old) == "out of memory\n"


def test_a_signal_is_told_as_shells_do(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))

    bench.world.crash("gc-c-a", signal=9)

    _, old = shelf.when(Status.RUNNING, Status.FAILED)
    assert (old.exit_code, old.signal) == (137, 9)


def test_the_last_screen_is_kept_where_nothing_is_started_again(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"))
    for _ in range(3):
        eventually(risen(bench, running, "a"))
        run = run_of(running)
        bench.world.show("gc-c-a", f"the end of {run}")
        bench.world.crash("gc-c-a", code=1)
    eventually(lambda: running.states() == {"a": "quarantined"})

    for info in shelf.when(*[Status.FAILED] * 3):
        assert shelf.screen(info) == f"the end of {info.run_id}\n"


def test_a_stop_is_asked_for_and_no_crash(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"), agent("b"))
    eventually(up(running, "a", "b"))
    bench.world.show("gc-c-a", "half way through")
    bench.world.show("gc-c-b", "almost done")

    running.ask("stop_agents", agents=["a"])
    running.ask("stop")
    bench.end()

    one, other = sorted(shelf.when(Status.COMPLETED, Status.COMPLETED), key=lambda i: i.agent)
    assert (one.crash, one.asked, one.exit_code) == (False, True, None)
    assert one.end.startswith("stopped with `gc stop`")
    assert shelf.folder(one).read(LAST_SCREEN) == "half way through\n"
    assert other.end == "stopped: the city is being stopped"
    assert shelf.folder(other).read(LAST_SCREEN) == "almost done\n"


def test_a_replaced_agent_tells_what_changed(bench: Bench, shelf: Shelf) -> None:
    meta = {CITY_ID: CITY, AGENT: "a", CONFIG_HASH: "old", RUN: new_run_id()}
    bench.world.create("gc-c-a", SessionConfig("true", "/", meta=meta))
    bench.world.show("gc-c-a", "as it was")

    bench.run(agent("a"))

    new, old = shelf.when(Status.RUNNING, Status.COMPLETED)
    assert old.run_id == meta[RUN]
    assert old.why == "it was running already"
    assert (old.fingerprint, new.fingerprint) == ("old", "f")
    assert old.end == f"stopped: {new.why}"
    assert "configuration" in new.why
    assert new.previous_run_id == old.run_id
    assert shelf.screen(old) == "as it was\n"


class Stillborn(FakeProvider):
    """Starts nothing."""

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        raise StartFailed("it ended at once", output=f"no such model; key {SECRET}\n")


def test_a_start_that_fails_is_a_run_that_failed(bench: Bench, shelf: Shelf) -> None:
    bench.make = Stillborn
    bench.run(agent("a", env={"API_KEY": SECRET}))

    info = eventually(shelf.all, within=LIMIT)[-1]
    assert (info.status, info.end) == (Status.FAILED, "the start failed: it ended at once")
    assert not info.crash
    assert "no such model" in shelf.screen(info)
    assert SECRET not in shelf.screen(info)


class Mute(FakeProvider):
    """Starts what it is asked to, and does not say so the first time."""

    told = False

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        super().start(name, config, timeout=timeout)
        if not Mute.told:
            Mute.told = True
            raise ProviderUnavailable("it fell silent")


def test_a_start_nobody_answered_for_has_one_record(bench: Bench, shelf: Shelf) -> None:
    Mute.told = False
    bench.make = Mute
    running = bench.run(agent("a"))
    eventually(up(running, "a"), within=LIMIT)

    (info,) = shelf.when(Status.RUNNING)
    assert info.run_id == run_of(running)
    assert info.why == "wanted by the city"


def test_the_last_message_is_told_without_its_words(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))

    for method, number in (("nudge", None), ("queue_nudge", 1)):
        running.ask(method, agents=["a"], text="the word is swordfish")

        def told(number: int | None = number) -> RunInfo:
            (info,) = shelf.when(Status.RUNNING)
            assert info.last_nudge is not None
            assert (info.last_nudge.number, info.last_nudge.outcome) == (number, "submitted")
            return info

        info = eventually(told, within=LIMIT)
        assert "swordfish" not in shelf.folder(info).read(INFO)


def test_no_secret_reaches_a_file(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(
        agent("a", env={"API_KEY": SECRET}, prompt=f"use {SECRET}", work_dir=f"/{SECRET}")
    )
    eventually(up(running, "a"))
    bench.world.show("gc-c-a", f"the key is {SECRET[:8]}\n{SECRET[8:]} and {SECRET}")
    bench.world.crash("gc-c-a", code=1)
    _, old = shelf.when(Status.RUNNING, Status.FAILED)
    assert "the key is" in shelf.screen(old)
    running.ask("stop")
    bench.end()

    written = texts(bench.folder / "runs")
    assert {path.name for path in written} == {INFO, PROMPT, LAST_SCREEN}
    assert not [path for path, text in written.items() if SECRET in text or SECRET[8:] in text]


def texts(folder: Path) -> dict[Path, str]:
    return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_files_are_for_their_owner_alone(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a", prompt="x"))
    eventually(up(running, "a"))
    (info,) = shelf.when(Status.RUNNING)

    folder = shelf.folder(info)
    assert os.stat(folder.path).st_mode & 0o777 == 0o700
    assert {os.stat(folder.file(name)).st_mode & 0o777 for name in (INFO, PROMPT)} == {0o600}


def test_what_a_killed_controller_left_open_is_completed(bench: Bench, shelf: Shelf) -> None:
    left = RunInfo(
        new_run_id(),
        agent="a",
        session="gc-c-a",
        provider="fake",
        start_time="2026-03-01T15:04:05+00:00",
    )
    shelf.folder(left).write_info(left)

    bench.run(agent("a"))

    new, old = shelf.when(Status.RUNNING, Status.FAILED)
    assert (old.end, old.end_time, old.duration) == ("nobody saw how it ended", "", None)
    assert not old.crash
    assert new.previous_run_id == old.run_id


def test_what_is_left_open_stays_so_while_its_provider_is_silent(
    bench: Bench, shelf: Shelf
) -> None:
    left = RunInfo(new_run_id(), agent="a", session="gc-c-a", provider="fake")
    shelf.folder(left).write_info(left)
    bench.world.unreachable = "gone fishing"

    running = bench.run(agent("a"))

    eventually(lambda: running.states() == {"a": "unknown"})
    assert [info.status for info in shelf.all()] == [Status.RUNNING]
    bench.world.unreachable = ""
    shelf.when(Status.RUNNING, Status.FAILED)


def test_an_agent_that_is_taken_up_keeps_its_record(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a", prompt="x"))
    eventually(up(running, "a"))
    (before,) = shelf.when(Status.RUNNING)
    bench.end()

    again = bench.run(agent("a", prompt="x"))
    eventually(up(again, "a"))
    bench.world.crash("gc-c-a", code=7)

    _, after = shelf.when(Status.RUNNING, Status.FAILED)
    assert (after.run_id, after.start_time) == (before.run_id, before.start_time)
    assert (after.exit_code, after.crash) == (7, True)


def test_an_end_that_no_controller_saw_has_no_time(bench: Bench, shelf: Shelf) -> None:
    running = bench.run(agent("a"))
    eventually(up(running, "a"))
    shelf.when(Status.RUNNING)
    bench.end()
    bench.world.crash("gc-c-a", code=5)

    bench.run(agent("a"))

    _, old = shelf.when(Status.RUNNING, Status.FAILED)
    assert (old.exit_code, old.crash, old.end_time, old.duration) == (5, True, "", None)


def test_a_session_that_was_never_declared_is_recorded_to_its_end(
    bench: Bench, shelf: Shelf
) -> None:
    """Nobody decides about an agent whose entry is broken: its end is only seen."""
    meta = {CITY_ID: CITY, AGENT: "lost", CONFIG_HASH: "f", RUN: new_run_id()}
    bench.world.create("gc-c-lost", SessionConfig("true", "/", meta=meta))

    bench.run()

    (info,) = shelf.when(Status.COMPLETED)
    assert (info.agent, info.asked) == ("lost", True)


def test_old_runs_go_and_the_living_one_stays(bench: Bench, shelf: Shelf) -> None:
    bench.daemon = replace(QUICK, keep_runs=2)
    ended = [
        RunInfo(new_run_id(), status=Status.FAILED, agent="a", session="gc-c-a") for _ in range(30)
    ]
    for info in ended:
        shelf.folder(info).write_info(info)
    meta = {CITY_ID: CITY, AGENT: "b", CONFIG_HASH: "f", RUN: new_run_id()}
    bench.world.create("gc-c-b", SessionConfig("true", "/", meta=meta))
    job = RunInfo(new_run_id(), kind="job", status=Status.COMPLETED, agent="a", session="gc-c-a")
    shelf.folder(job).write_info(job)

    running = bench.run(agent("a"), agent("b"))
    eventually(up(running, "a", "b"))

    def pruned() -> bool:
        running.ask("restart", agents=["a"])
        left = {info.run_id for info in shelf.all() if info.agent == "a" and info.kind != "job"}
        assert len(left) <= 3, left
        return True

    eventually(pruned, within=LIMIT)
    kept = shelf.all()
    assert job in kept
    assert meta[RUN] in {info.run_id for info in kept}
    assert ended[0] not in kept


def test_a_broken_record_is_left_alone(bench: Bench, shelf: Shelf) -> None:
    broken = shelf.runs.of(new_run_id())
    broken.write(INFO, "{")

    running = bench.run(agent("a"))

    eventually(up(running, "a"))
    shelf.when(Status.RUNNING)
    assert broken.read(INFO) == "{"


def test_records_that_cannot_be_written_are_told_once_and_written_later(
    bench: Bench, shelf: Shelf
) -> None:
    place = Path(shelf.runs.path)
    place.write_text("in the way")
    running = bench.run(agent("a"), agent("b"))
    eventually(up(running, "a", "b"))
    eventually(lambda: running.told(EventType.RUNS_LOST), within=LIMIT)
    bench.world.crash("gc-c-a", code=2)
    eventually(lambda: bench.world.starts.count("gc-c-a") == 2)

    place.unlink()

    eventually(lambda: len(shelf.all()) == 3, within=LIMIT)
    assert [info.exit_code for info in shelf.all() if info.is_over] == [2]
    assert len(running.told(EventType.RUNS_LOST)) == 1


class Hanging(FakeProvider):
    """Is never done with showing what a session showed."""

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        raise ProviderUnavailable("it hangs")

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        raise ProviderUnavailable("it hangs")


def test_an_agent_whose_screen_is_not_to_be_had_is_recorded_without(
    bench: Bench, shelf: Shelf
) -> None:
    bench.make = Hanging
    running = bench.run(agent("a", hints=StartupHints()))
    eventually(up(running, "a"))
    bench.world.crash("gc-c-a", code=1)
    shelf.when(Status.RUNNING, Status.FAILED)

    running.ask("stop")
    bench.end()

    assert not [one for one in shelf.all() if shelf.folder(one).has(LAST_SCREEN)]
