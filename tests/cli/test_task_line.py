"""Tasks that wait: for other tasks, and for a place."""

from __future__ import annotations

import os
import shutil
import signal
import threading

import pytest
from tests.cli.conftest import MakeCity
from tests.cli.task_desk import HEAD, Desk

from gascity.runs.context import Cancel
from gascity.runs.waiting_line import LeftLine, Line
from gascity.testing.eventually import eventually

SLEEPS = 'echo x >>"$TEST_CITY/log"; sleep 1000'
COUNTED = """mkdir -p "$TEST_CITY/now"; touch "$TEST_CITY/now/$JRUN_TASK_ID"
    echo $JRUN_TASK_ID $(ls "$TEST_CITY/now" | wc -l) >>"$TEST_CITY/log"
    while [ ! -e "$TEST_CITY/go-$JRUN_TASK_ID" ]; do sleep 0.05; done
    rm "$TEST_CITY/now/$JRUN_TASK_ID" """


@pytest.fixture
def desk(make_city: MakeCity) -> Desk:
    return Desk(make_city(HEAD))


@pytest.fixture
def narrow(make_city: MakeCity) -> Desk:
    """Return a city in which one run lives at a time."""
    return Desk(make_city(HEAD + "[runs]\nmax_concurrent = 1\n"))


def test_a_task_waits_until_another_is_done(desk: Desk) -> None:
    go = 'while [ ! -e "$TEST_CITY/go" ]; do sleep 0.05; done; echo first >>"$TEST_CITY/log"'
    desk.detach("first", go)
    desk.detach("second", 'echo second >>"$TEST_CITY/log"', "--depends-on", "first")
    eventually(lambda: desk.info("second")["why"] == "waits for first (running)")

    shown = desk.city.ok("task", "status")
    (desk.city.folder / "go").touch()

    assert "waits for first (running)" in shown
    desk.wait_for("second", "done")
    assert desk.lines() == ["first", "second"]


def test_one_that_failed_keeps_it_waiting_and_that_is_visible(desk: Desk) -> None:
    desk.start("first", "exit 1", "--max-restarts", "0")
    desk.detach("second", "exit 0", "--depends-on", "town/first")
    eventually(lambda: desk.info("second")["why"] == "waits for first (failed)")

    desk.city.gc("task", "start", "--task", "first", "--", "true")

    assert desk.wait_for("second", "done")["depends_on"] == ["town/first"]


def test_one_that_was_killed_keeps_it_waiting(desk: Desk) -> None:
    desk.detach("first", SLEEPS)
    desk.detach("second", "exit 0", "--depends-on", "first")
    os.kill(desk.wait_for("first", "running")["supervisor"], signal.SIGKILL)

    eventually(lambda: desk.info("second")["why"] == "waits for first (failed)")

    assert desk.city.gc("task", "stop", "second").returncode == 0


def test_a_cycle_is_refused_and_named(desk: Desk) -> None:
    desk.start("a", "exit 0")
    desk.start("b", "exit 0", "--depends-on", "a")
    desk.start("c", "exit 0", "--depends-on", "b")

    around = desk.start("a", "exit 0", "--depends-on", "c")
    itself = desk.start("d", "exit 0", "--depends-on", "d")

    assert (around.returncode, itself.returncode) == (2, 2)
    assert around.stderr == "error: dependency cycle: a -> c -> b -> a\n"
    assert itself.stderr == "error: dependency cycle: d -> d\n"
    assert desk.info("a")["depends_on"] == []


def test_an_unknown_dependency_is_named(desk: Desk) -> None:
    done = desk.start("a", "exit 0", "--depends-on", "nobody")

    assert done.returncode == 4
    assert 'unknown dependency "nobody"' in done.stderr


def test_never_more_than_the_limit_and_first_come_first_served(make_city: MakeCity) -> None:
    desk = Desk(make_city(HEAD + "[runs]\nmax_concurrent = 2\n"))
    names = list("abcde")
    for name in names:
        desk.detach(name, COUNTED)
        desk.wait_for(name, "running" if name in "ab" else "queued")
    places = [desk.info(name)["why"] for name in "cde"]
    assert places == [f"stands in line, as number {number}" for number in (1, 2, 3)]
    assert "queued" in desk.city.ok("task", "status", "e")

    desk.wait_for_lines(4)
    for number, name in enumerate(names):
        (desk.city.folder / f"go-{name}").touch()
        desk.wait_for(name, "done")
        desk.wait_for_lines(2 * min(number + 3, 5))

    lines = desk.lines()
    assert set(lines[:4:2]) == {"a", "b"}
    assert lines[4::2] == ["c", "d", "e"]
    assert max(map(int, lines[1::2])) == 2


def test_a_killed_holder_frees_its_place_at_once(narrow: Desk) -> None:
    narrow.detach("first", SLEEPS)
    holder = narrow.wait_for("first", "running")["supervisor"]
    narrow.wait_for_lines(1)
    run = narrow.city.popen("run", "--", "sh", "-c", "echo had it")
    narrow.detach("second", "exit 0")
    narrow.wait_for("second", "queued")

    os.kill(holder, signal.SIGKILL)

    assert run.wait(timeout=narrow.city.limit) == 0
    narrow.wait_for("second", "done")


def test_a_queued_task_can_be_stopped(narrow: Desk) -> None:
    narrow.detach("first", SLEEPS)
    narrow.wait_for("first", "running")
    narrow.detach("second", SLEEPS)
    narrow.wait_for("second", "queued")

    assert narrow.city.gc("task", "stop", "second").returncode == 0
    assert narrow.info("second")["attempts"] == 0
    assert narrow.city.gc("task", "stop", "first").returncode == 0


def test_a_run_that_waits_in_line_can_be_interrupted(narrow: Desk) -> None:
    narrow.detach("first", SLEEPS)
    narrow.wait_for_lines(1)
    run = narrow.city.popen("run", "--", "sh", "-c", "echo never >>$TEST_CITY/log")
    line = narrow.city.state / "projects" / ".line"
    eventually(lambda: len([one for one in line.iterdir() if one.name.isdecimal()]) == 2)

    run.send_signal(signal.SIGINT)

    assert run.wait(timeout=narrow.city.limit) == 130
    assert narrow.lines() == ["x"]
    assert narrow.city.gc("task", "stop", "first").returncode == 0


def test_a_run_inside_a_run_shares_its_place(narrow: Desk) -> None:
    done = narrow.start("outer", "gc run -- sh -c 'echo inner'")

    assert (done.returncode, done.stdout) == (0, "inner\n")


def test_runs_inside_a_wrapped_command_wait_for_a_place(narrow: Desk) -> None:
    """A wrapped command has none that they could share."""
    script = """echo x >>"$TEST_CITY/log"; mkdir "$TEST_CITY/alone" || exit 9
        sleep 0.3; rmdir "$TEST_CITY/alone" """
    (narrow.city.folder / "inner.sh").write_text(script, "utf-8")
    begin = 'gc run -- sh "$TEST_CITY/inner.sh"'

    done = narrow.city.gc("wrap", "--", "sh", "-c", f"{begin} & {begin}; code=$?; wait; exit $code")

    assert (done.returncode, narrow.lines()) == (0, ["x", "x"])
    assert {one["exit_code"] for one in narrow.runs("adhoc")} == {0}


def test_a_wrapped_command_inside_a_run_shares_its_place(narrow: Desk) -> None:
    done = narrow.start("outer", "gc wrap -- sh -c 'gc run -- echo inner'")

    assert (done.returncode, done.stdout) == (0, "inner\n")


def test_who_waits_hears_of_another_limit(narrow: Desk) -> None:
    narrow.detach("first", SLEEPS)
    narrow.wait_for("first", "running")
    narrow.detach("second", SLEEPS)
    narrow.wait_for("second", "queued")
    narrow.detach("third", SLEEPS)
    narrow.wait_for("third", "queued")

    narrow.city.write(HEAD + "[runs]\nmax_concurrent = 'a mistake'\n")
    narrow.city.write(HEAD + "[runs]\nmax_concurrent = 2\n")

    narrow.wait_for("second", "running")
    eventually(lambda: narrow.info("third")["why"] == "stands in line, as number 1")
    for name in ("third", "second", "first"):
        assert narrow.city.gc("task", "stop", name).returncode == 0


def test_a_line_that_somebody_threw_away_breaks_nobody(narrow: Desk) -> None:
    narrow.detach("first", SLEEPS)
    narrow.wait_for("first", "running")
    narrow.detach("second", "exit 0")
    narrow.wait_for("second", "queued")

    shutil.rmtree(narrow.city.state / "projects" / ".line")

    narrow.wait_for("second", "done")
    assert narrow.city.gc("task", "stop", "first").returncode == 0


def test_many_at_once_are_never_more_than_the_places(tmp_path: object) -> None:
    line = Line(str(tmp_path), 3)
    lock = threading.Lock()
    inside: list[int] = []
    most = [0]
    three = threading.Barrier(3)  # as many as there are places, and none waits for a fourth

    def work(number: int) -> None:
        with line.place(Cancel()):
            with lock:
                inside.append(number)
                most[0] = max(most[0], len(inside))
            three.wait(60)
            Cancel().wait(0.02)
            with lock:
                inside.remove(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most[0] == 3


def test_a_lost_counter_gives_no_number_twice(tmp_path: object) -> None:
    line = Line(str(tmp_path), 1)
    with line.place(Cancel()):
        (counter,) = [one for one in os.scandir(f"{tmp_path}/.line") if one.name == ".next"]
        os.unlink(counter.path)
        cancel = Cancel()
        with pytest.raises(LeftLine), line.place(cancel, lambda _: cancel.set("enough")):
            raise AssertionError("there was no place")
