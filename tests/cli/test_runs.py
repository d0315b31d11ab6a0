"""`gc runs` over real cities, on tmux and without a terminal."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import LIMIT, City, Inside, MakeCity
from tests.living import lives

from gascity.runs.folder import INFO, LAST_SCREEN, PROMPT, Runs
from gascity.runs.ids import new_run_id
from gascity.runs.info import RunInfo, Status
from gascity.testing.eventually import eventually

SECRET = "opensesame-12345"
HEAD = """\
[workspace]
name = "town"

[session]
provider = "{provider}"

[session.tmux]
socket = "{socket}"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "2s"
restart_delay = "10ms"
"""
WORKER = f"""\
[providers.runner]
command = "sh worker.sh"
prompt_mode = "arg"

[[agents]]
name = "worker"
provider = "runner"
prompt_template = "mind.md"
env = {{ API_KEY = "{SECRET}" }}
"""
SCRIPT = """\
echo "my key is $API_KEY"
touch "$GC_RUN.up"
until test -e "$GC_RUN.end"; do sleep 0.05; done
echo "last words of $GC_RUN"
. "./$GC_RUN.end"
"""
Run = dict[str, Any]  # Any: one run of the document, as JSON gives it


class Runners(City):
    """A city with one agent that ends as a file tells it to."""

    def __init__(self, folder: Path, provider: str) -> None:
        head = HEAD.format(provider=provider, socket=folder.parent / "s")
        folder.mkdir(parents=True)
        (folder / "worker.sh").write_text(SCRIPT)
        (folder / "mind.md").write_text(f"mind {SECRET}\n")
        super().__init__(folder, head + WORKER)

    def has_spoken(self, run: str) -> None:
        """Wait until an incarnation has shown its first words."""
        eventually((self.folder / f"{run}.up").exists, within=LIMIT)
        eventually(lambda: "my key is" in self.gc("peek", "worker").stdout, within=LIMIT)

    def end_it(self, run: str, how: str) -> None:
        """Let an incarnation end with these words of shell."""
        beside = self.folder / f"{run}.new"
        beside.write_text(how)
        beside.rename(self.folder / f"{run}.end")

    def runs(self, *words: str) -> list[Run]:
        found: list[Run] = json.loads(self.ok("runs", "--json", *words))["runs"]
        return found

    def when(self, *states: str) -> list[Run]:
        """Return the runs once they are in these states, the newest first."""

        def there() -> list[Run]:
            found = self.runs()
            assert [run["state"] for run in found] == list(states), found
            return found

        return eventually(there, within=LIMIT)

    def show(self, run: str) -> str:
        return self.ok("runs", "--run", run)


@pytest.fixture(params=["tmux", "subprocess"])
def runners(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Runners]:
    city = Runners(tmp_path / "town", request.param)
    yield city
    city.end()


def test_an_exit_status_a_signal_and_a_stop_are_told(runners: Runners) -> None:
    runners.start()
    (first,) = runners.when("running")
    runners.end_it(first["run_id"], "exit 3")
    second, first = runners.when("running", "failed")
    runners.end_it(second["run_id"], "kill -9 $$")
    third, second, first = runners.when("running", "failed", "failed")
    runners.has_spoken(third["run_id"])
    runners.ok("stop")
    third = runners.when("completed", "failed", "failed")[0]

    assert (first["exit_code"], first["crash"]) == (3, True)
    assert first["end"] == "crashed: exited with status 3"
    assert (second["exit_code"], second["signal"]) == (137, 9)
    assert second["end"] == "crashed: killed by signal 9"
    assert (third["asked"], third["crash"]) == (True, False)
    assert [one["restarts"] for one in (first, second, third)] == [0, 1, 2]
    assert third["previous_run_id"] == second["run_id"]
    for one in (first, second):
        assert f"│ last words of {one['run_id']}" in runners.show(one["run_id"])
    assert "│ my key is" in runners.show(third["run_id"])
    assert "│ [town] worker . " in runners.show(first["run_id"])


def test_no_secret_is_in_a_record(runners: Runners) -> None:
    runners.start()
    (first,) = runners.when("running")
    runners.end_it(first["run_id"], "exit 1")
    second, _ = runners.when("running", "failed")
    runners.has_spoken(second["run_id"])
    runners.ok("stop")
    runners.when("completed", "failed")

    files = [path for path in (runners.state / "runs").rglob("*") if path.is_file()]
    assert {path.name for path in files} == {INFO, PROMPT, LAST_SCREEN}
    assert len(files) == 6
    assert not [path for path in files if SECRET in path.read_text()]
    assert SECRET not in runners.show(first["run_id"])


def test_drift_is_told_in_both_runs(runners: Runners) -> None:
    runners.start()
    (first,) = runners.when("running")

    runners.write("mind something else\n", "mind.md")

    second, first = runners.when("running", "completed")
    assert first["asked"]
    assert first["end"] == f"stopped: {second['why']}"
    assert first["fingerprint"] != second["fingerprint"]


def test_a_killed_controller_leaves_nothing_running_that_is_dead(runners: Runners) -> None:
    controller = runners.start()
    (first,) = runners.when("running")
    eventually(lambda: runners.runs()[0]["pid"], within=LIMIT)
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    (first,) = runners.when("running")

    runners.end_it(first["run_id"], "exit 5")

    (first,) = runners.when("unknown")
    assert first["status"] == "running"
    assert first["end"] == "it does not live any more, and nobody saw how it ended"
    runners.start()
    _, first = runners.when("running", "failed")
    assert (first["exit_code"], first["crash"], first["end_time"]) == (5, True, "")
    assert f"│ last words of {first['run_id']}" in runners.show(first["run_id"])


def test_a_stop_without_a_controller_closes_the_record(runners: Runners) -> None:
    controller = runners.start()
    (first,) = runners.when("running")
    runners.has_spoken(first["run_id"])
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)

    assert runners.gc("stop").returncode == 0

    (first,) = runners.when("completed")
    assert first["end"] == "stopped with `gc stop`, without a controller"
    assert "│ my key is sha256:" in runners.show(first["run_id"])


def test_a_session_that_is_gone_hints_at_its_runs(runners: Runners) -> None:
    runners.start()
    runners.when("running")
    runners.ok("stop", "worker")
    runners.when("completed")

    said = runners.gc("peek", "worker")

    assert said.returncode == 5
    assert "`gc runs worker`" in said.stderr


# --- reading alone: records made by hand


@pytest.fixture
def here(make_city: MakeCity, monkeypatch: pytest.MonkeyPatch) -> City:
    city = make_city()
    monkeypatch.chdir(city.folder)
    return city


def keep(city: City, **facts: Any) -> RunInfo:  # noqa: ANN401  fields of a record
    info = RunInfo(new_run_id(), session="gc-town-a", **{"agent": "a", **facts})
    Runs(str(city.state / "runs")).of(info.run_id).write_info(info)
    return info


def test_a_city_without_runs_says_so(here: City, inside: Inside) -> None:
    assert inside("runs").stdout == "no runs yet\n"
    assert inside("runs", "a").stdout == "no runs of a yet\n"
    assert json.loads(inside("runs", "--json").stdout) == {"runs": []}


def test_the_table_is_sorted_and_can_be_narrowed(here: City, inside: Inside) -> None:
    old = keep(
        here, status=Status.FAILED, start_time="2026-03-01T15:04:05+00:00", duration=65.0, end="x"
    )
    other = keep(here, agent="b", status=Status.COMPLETED)
    new = keep(here, status=Status.COMPLETED, end="stopped: it was idle")

    table = inside("runs").stdout.splitlines()
    assert table[0].split() == ["RUN", "AGENT", "STATE", "STARTED", "LASTED", "END"]
    assert [row.split()[0] for row in table[1:]] == [new.run_id, other.run_id, old.run_id]
    assert table[1].endswith("completed  -                 ?       stopped: it was idle")
    assert " 1m " in table[3]
    narrowed = inside("runs", "a", "-n", "1").stdout.splitlines()
    assert [row.split()[0] for row in narrowed[1:]] == [new.run_id]


def test_any_number_of_runs_may_be_asked_for(here: City, inside: Inside) -> None:
    info = keep(here, status=Status.COMPLETED)

    assert info.run_id in inside("runs", "-n", "9" * 20).stdout


def test_an_agent_that_is_no_longer_declared_has_runs(here: City, inside: Inside) -> None:
    info = keep(here, agent="rigs/former", status=Status.FAILED)

    assert info.run_id in inside("runs", "rigs/former").stdout


def test_a_broken_city_file_hides_no_runs(here: City, inside: Inside) -> None:
    info = keep(here, status=Status.FAILED)
    here.write("nonsense")

    assert info.run_id in inside("runs").stdout
    assert info.run_id in inside("runs", "a").stdout
    assert inside("runs", "nobody").returncode == 4


@pytest.mark.parametrize("words", [["nobody"], ["--run", "1999"], ["a", "--run", "2"]])
def test_no_such_run_or_agent_ends_with_4(here: City, inside: Inside, words: list[str]) -> None:
    said = inside("runs", *words)

    assert said.returncode == 4
    assert said.stderr.startswith("error: there is no ")
    assert "hint: " in said.stderr


def test_the_beginning_of_an_id_will_do_if_it_is_one_runs_alone(here: City, inside: Inside) -> None:
    first, second = keep(here, status=Status.FAILED), keep(here, status=Status.FAILED, end="oops")

    assert "oops" in inside("runs", "--run", second.run_id[:-1] + second.run_id[-1]).stdout
    said = inside("runs", "--run", first.run_id[:8])
    assert said.returncode == 4
    assert "is the beginning of 2 runs" in said.stderr


def test_a_run_of_which_no_process_is_known_is_not_called_running(
    here: City, inside: Inside
) -> None:
    keep(here)

    (run,) = json.loads(inside("runs", "--json").stdout)["runs"]

    assert (run["state"], run["end"]) == ("unknown", "nobody knows whether it lives")


def test_a_recycled_pid_is_not_taken_for_a_run(here: City, inside: Inside) -> None:
    keep(here, pid=os.getpid(), pid_started="another boot")

    (run,) = json.loads(inside("runs", "--json").stdout)["runs"]

    assert run["state"] == "unknown"


def test_a_broken_record_is_told_and_hides_no_other(here: City, inside: Inside) -> None:
    info = keep(here, status=Status.FAILED)
    broken = Runs(str(here.state / "runs")).of(new_run_id())
    broken.write(INFO, "{ \x1b[31m")

    said = inside("runs")

    assert info.run_id in said.stdout
    assert said.stderr.startswith(f"warning: the record in {broken.path} cannot be read: ")
    assert "\x1b" not in said.stderr + said.stdout
    shown = inside("runs", "--run", broken.run_id)
    assert (shown.returncode, "unknown" in shown.stdout) == (0, True)


def test_what_a_record_holds_cannot_play_with_the_terminal(here: City, inside: Inside) -> None:
    info = keep(here, status=Status.FAILED, end="\x1b[2Jgotcha", why="\x07")
    folder = Runs(str(here.state / "runs")).of(info.run_id)
    folder.write(LAST_SCREEN, "\x1b]0;title\x07\n" * 100)
    folder.write(PROMPT, "line\n" * 100)

    said = inside("runs", "--run", info.run_id).stdout + inside("runs").stdout

    assert not {"\x1b", "\x07"} & set(said)
    assert "│ ... 50 lines above" in said
    assert "│ ... 90 more lines" in said


def test_ids_complete(here: City, monkeypatch: pytest.MonkeyPatch) -> None:
    info = keep(here, status=Status.FAILED)

    said = here.gc(
        env={
            "_GC_COMPLETE": "complete_bash",
            "COMP_WORDS": f"gc runs --run {info.run_id[:4]}",
            "COMP_CWORD": "3",
        }
    )

    assert info.run_id in said.stdout
