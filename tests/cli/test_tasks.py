"""Tasks: runs, one after another, until one has done it."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess

import pytest
from tests.cli.conftest import BIN, MakeCity
from tests.cli.task_desk import HEAD, Desk

from gascity.testing.eventually import eventually


@pytest.fixture
def desk(make_city: MakeCity) -> Desk:
    return Desk(make_city(HEAD))


def test_a_failing_task_is_run_again_as_often_as_it_may_be(desk: Desk) -> None:
    done = desk.start("work", "echo tried; exit 3", "--max-restarts", "2")

    assert done.returncode == 3
    assert len(desk.runs("work")) == 3
    info = desk.info("work")
    assert (info["state"], info["attempts"], info["exit_code"]) == ("failed", 3, 3)
    assert "no restart is left" in info["why"]
    assert done.stdout == "tried\n"


def test_a_limit_of_0_is_one_run(desk: Desk) -> None:
    done = desk.start("work", "exit 4", "--max-restarts", "0")

    assert done.returncode == 4
    assert len(desk.runs("work")) == 1


def test_exit_code_0_ends_it(desk: Desk) -> None:
    script = 'echo x >>"$TEST_CITY/log"; test $(wc -l <"$TEST_CITY/log") = 2'

    done = desk.start("work", script)

    assert done.returncode == 0
    assert len(desk.runs("work")) == 2
    assert desk.info("work")["state"] == "done"


def test_each_run_knows_the_one_before_and_is_told_to_go_on(desk: Desk) -> None:
    desk.start("work", "exit 1", "--max-restarts", "2", "--prompt", "mend the roof")

    first, second, third = desk.runs("work")
    assert first["previous_run_id"] == ""
    assert second["previous_run_id"] == first["run_id"]
    assert third["previous_run_id"] == second["run_id"]
    assert [one["restarts"] for one in (first, second, third)] == [0, 1, 2]
    prompts = [
        (desk.folder("work") / "runs" / one["run_id"] / "prompt.md").read_text("utf-8")
        for one in (first, second)
    ]
    assert prompts[0].endswith("\n---\nmend the roof")
    assert prompts[1].endswith("\n---\nContinue working on the following:\n\nmend the roof")
    assert (desk.folder("work") / "TASK.md").read_text("utf-8") == "mend the roof"


def test_done_ends_a_task_whose_run_fails(desk: Desk) -> None:
    done = desk.start("work", 'touch "$TASK_FOLDER/DONE"; exit 1', "--max-restarts", "0")

    assert done.returncode == 0
    assert len(desk.runs("work")) == 1
    assert desk.info("work")["why"] == "it says DONE"


def test_it_is_not_done_before_a_run_that_it_began(desk: Desk) -> None:
    """The inner run outlives the one that began it: it has no mark of it."""
    inner = """cat >/dev/null; echo inner >>"$TEST_CITY/log"
        while [ ! -e "$TEST_CITY/go" ]; do sleep 0.05; done"""
    (desk.city.folder / "inner.sh").write_text(inner, "utf-8")
    script = """env GC_RUN_MARK=another setsid gc run -- sh "$TEST_CITY/inner.sh" >/dev/null 2>&1 &
        while [ ! -e "$TEST_CITY/log" ]; do sleep 0.05; done
        touch "$TASK_FOLDER/DONE"; exit 1"""

    desk.detach("work", script)

    eventually(lambda: "waits for the runs" in desk.info("work")["why"], within=desk.city.limit)
    assert desk.info("work")["state"] == "waiting"
    (desk.city.folder / "go").touch()
    assert desk.wait_for("work", "done")["attempts"] == 1
    assert [one["status"] for one in desk.runs("work")] == ["failed", "completed"]


def test_until_done_goes_on_after_exit_code_0(desk: Desk) -> None:
    script = """echo x >>"$TEST_CITY/log"
        if [ $(wc -l <"$TEST_CITY/log") = 3 ]; then touch "$TASK_FOLDER/DONE"; fi"""

    done = desk.start("work", script, "--until-done")

    assert done.returncode == 0
    assert len(desk.runs("work")) == 3


def test_without_done_until_done_fails(desk: Desk) -> None:
    done = desk.start("work", "exit 0", "--until-done", "--max-restarts", "1")

    assert done.returncode == 1
    assert len(desk.runs("work")) == 2
    assert "ended without DONE" in desk.info("work")["why"]


def test_an_old_done_does_not_end_a_task_that_is_started_anew(desk: Desk) -> None:
    desk.start("work", 'touch "$TASK_FOLDER/DONE"')
    done = desk.start("work", "exit 5", "--max-restarts", "0")

    assert done.returncode == 5
    assert len(desk.runs("work")) == 2


def test_when_its_time_is_over_all_of_it_ends(desk: Desk) -> None:
    script = 'sleep 1000 & setsid sleep 1000 & echo up >>"$TEST_CITY/log"; echo said; wait'

    done = desk.start("work", script, "--timeout", "10s")

    assert done.returncode == 124
    assert desk.lines() == ["up"]
    info = desk.info("work")
    assert (info["state"], info["why"]) == ("failed", "timed out after 10s")
    eventually(lambda: not desk.city.living())
    (run,) = desk.runs("work")
    folder = desk.folder("work") / "runs" / run["run_id"]
    assert (folder / "agent-stdout.txt").read_text("utf-8") == "said\n"


def test_the_time_of_a_task_counts_over_its_runs(desk: Desk) -> None:
    done = desk.start("work", "exit 1", "--timeout", "1s", "--max-restarts", "1000000")

    assert done.returncode == 124
    assert desk.info("work")["why"] == "timed out after 1s"


def test_a_run_that_says_nothing_is_ended_and_the_task_goes_on(desk: Desk) -> None:
    script = 'if [ -e "$TEST_CITY/log" ]; then exit 0; fi; echo x >>"$TEST_CITY/log"; sleep 1000'

    done = desk.start("work", script, "--idle-timeout", "300ms")

    assert done.returncode == 0
    *silent, last = [one["exit_code"] for one in desk.runs("work")]
    assert (set(silent), last) == ({124}, 0)  # a busy machine may take too long to begin, too


def test_a_detached_task_outlives_its_terminal_and_says_how_it_ends(desk: Desk) -> None:
    script = 'echo x >>"$TEST_CITY/log"; while [ ! -e "$TEST_CITY/go" ]; do sleep 0.05; done'
    shell = subprocess.Popen(
        ["sh", "-c", 'gc task start --task work --detach -- sh -c "$0"; sleep 1000', script],
        cwd=desk.city.folder,
        env=desk.city.environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    desk.wait_for_lines(1)
    os.killpg(shell.pid, signal.SIGHUP)
    shell.wait()
    os.kill(desk.info("work")["supervisor"], 0)

    (desk.city.folder / "go").touch()

    assert desk.wait_for("work", "done")["exit_code"] == 0


def test_a_detached_task_outlives_the_run_that_began_it(desk: Desk) -> None:
    inner = 'echo x >>"$TEST_CITY/log"; while [ ! -e "$TEST_CITY/go" ]; do sleep 0.05; done'
    (desk.city.folder / "inner.sh").write_text(inner, "utf-8")
    begin = 'gc task start --task inner --detach -- sh "$TEST_CITY/inner.sh"'

    done = desk.start("outer", begin)

    assert done.returncode == 0, done.stderr
    desk.wait_for_lines(1)
    assert desk.wait_for("inner", "running")["attempts"] == 1
    (desk.city.folder / "go").touch()
    desk.wait_for("inner", "done")
    (run,) = desk.runs("inner")
    assert run["parent_run_id"] == desk.runs("outer")[0]["run_id"]


def test_what_cannot_begin_is_told_before_anything_is_detached(desk: Desk) -> None:
    done = desk.city.gc("task", "start", "--task", "work", "--detach", "--prompt", "x")

    assert done.returncode == 2
    assert "nobody says who does it" in done.stderr
    assert not desk.folder("work").exists()


def test_the_turns_of_a_task_are_on_the_bus(desk: Desk) -> None:
    desk.start("work", "exit 1", "--max-restarts", "1")

    said = desk.city.ok("bus", "read", "--type", "INFO", "--task", "work")
    assert "task work: run 1 begins" in said
    assert "restart 1 of 1 comes in 0s" in said
    assert "task work has failed: no restart is left" in said


def test_the_record_is_for_its_owner_and_has_no_secret(desk: Desk) -> None:
    words = desk.words("work", "exit 1 # sesame-open", "--max-restarts", "0")
    desk.city.gc(*words, env={"DOOR_TOKEN": "sesame-open"})

    path = desk.folder("work") / "task-info.yaml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.city.state.stat().st_mode) == 0o700
    assert "sesame" not in path.read_text("utf-8")
    resumed = desk.city.gc("task", "resume", "work")
    assert resumed.returncode == 2
    assert "held a secret" in resumed.stderr


def test_a_broken_record_is_one_sentence_and_hides_no_other(desk: Desk) -> None:
    desk.start("good", "exit 0")
    desk.start("bad", "exit 0")
    (desk.folder("bad") / "task-info.yaml").write_text("state: [", "utf-8")

    one = desk.city.gc("task", "status", "bad")
    both = desk.city.gc("task", "status")

    assert one.returncode == 1
    assert one.stderr.startswith("error: the record of task town/bad cannot be read: ")
    assert len(one.stderr.splitlines()) == 1
    assert "town/good" in both.stdout
    assert "town/bad" in both.stderr


@pytest.mark.parametrize(
    "line", ["delay: .nan", "delay: .inf", "timeout: -1", "supervisor: 99999999999999999999"]
)
def test_a_number_that_cannot_be_is_one_sentence(desk: Desk, line: str) -> None:
    desk.start("bad", "exit 1", "--max-restarts", "0")
    path = desk.folder("bad") / "task-info.yaml"
    key, _, _ = line.partition(":")
    rest = [one for one in path.read_text("utf-8").splitlines() if not one.startswith(f"{key}:")]
    path.write_text("\n".join([*rest, line]), "utf-8")

    for word in ("status", "resume", "stop"):
        done = desk.city.gc("task", word, "bad")
        assert done.returncode == 1
        assert done.stderr.startswith(f"error: the record of task town/bad cannot be read: {key} ")


def test_status_as_json(desk: Desk) -> None:
    desk.start("work", "exit 0")

    (listed,) = json.loads(desk.city.ok("task", "status", "--json"))["tasks"]
    assert listed == json.loads(desk.city.ok("task", "status", "work", "--json"))
    assert (listed["task"], listed["state"], listed["attempts"]) == ("work", "done", 1)


def test_an_unknown_task_is_named(desk: Desk) -> None:
    done = desk.city.gc("task", "status", "nowhere")

    assert done.returncode == 4
    assert 'there is no task "nowhere"' in done.stderr


def test_names_are_completed(desk: Desk) -> None:
    desk.start("roof", "exit 0")
    env = {
        **desk.city.environment(),
        "_GC_COMPLETE": "complete_bash",
        "COMP_WORDS": "gc task status ro",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [f"{BIN}/gc"], cwd=desk.city.folder, env=env, capture_output=True, text=True, check=False
    )

    assert done.stdout.split() == ["roof"]
