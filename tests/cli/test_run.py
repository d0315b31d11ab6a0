"""`gc run` by the real `gc`: what it prints and ends with, and what it leaves whatever happens."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from tests.cli.place import FIVE, LIMIT, Place, names

from gascity.runs.folder import OUTPUT, PROMPT, STDERR, STDOUT
from gascity.testing.eventually import eventually

RUN_ID = re.compile(r"\d{8}-\d{10}-\d+-\d+")
START_STOP = ["RUN_START", "RUN_STOP"]
START_CRASH = ["RUN_START", "RUN_CRASH"]
TREE = 'sleep 1000 & (setsid sleep 1000 &) ; touch "$JRUN_TASK_FOLDER/ready"; wait'
TOWN = '[workspace]\nname = "town"\n'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_answer_is_all_that_is_printed(place: Place) -> None:
    done = place.gc("run", "--", "sh", "-c", r"printf 'a\377\000b'; echo doubt >&2")
    (folder,) = place.folders()

    assert (done.returncode, done.stdout, done.stderr) == (0, b"a\xff\0b", b"")
    assert names(folder) == FIVE
    assert (folder / STDOUT).read_bytes() == (folder / OUTPUT).read_bytes() == b"a\xff\0b"
    assert (folder / STDERR).read_bytes() == b"doubt\n"
    assert RUN_ID.fullmatch(folder.name)
    assert place.messages() == START_STOP
    assert place.marks() == []
    private = (place.home, folder, *folder.iterdir())
    assert not any(path.stat().st_mode & 0o077 for path in private)


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("echo so; echo why >&2; exit 3", 3, "agent exited with code 3: why"),
        ("printf '\\033[31mred\\033[0m\\n' >&2; exit 1", 1, "agent exited with code 1: red"),
        ("kill -9 $$", 137, "agent exited with code 137: ended by SIGKILL"),
        ("kill -TERM $$", 143, "agent exited with code 143: ended by SIGTERM"),
    ],
)
def test_a_failure_is_told_and_leaves_the_same(
    place: Place, script: str, code: int, told: str
) -> None:
    done = place.gc("run", "--", "sh", "-c", script)
    (folder,) = place.folders()
    record = yaml.safe_load((folder / "run-info.yaml").read_text())

    assert done.returncode == code
    assert done.stderr.decode().splitlines() == [
        f"error: run {folder.name} failed: {told}",
        f"hint: `gc runs show {folder.name}` tells more",
    ]
    assert names(folder) == FIVE
    assert (record["status"], record["exit_code"], record["crash"]) == ("failed", code, True)
    assert record["signal"] == (code - 128 if code > 128 else None)
    assert place.messages() == START_CRASH


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        ("nobody-has-this", 127, 'exec: "nobody-has-this": executable file not found in $PATH'),
        ("./plain", 126, "permission denied"),
    ],
)
def test_what_cannot_be_started_leaves_the_same(
    place: Place, command: str, code: int, told: str
) -> None:
    (place.work / "plain").write_text("no program")
    done = place.gc("run", "--json", "--", command)
    document = json.loads(done.stdout)

    assert done.returncode == document["exit_code"] == code
    assert document["end"].startswith("execute agent: start agent process: ")
    assert told in document["end"]
    assert names(document["folder"]) == FIVE
    assert place.messages() == START_CRASH
    assert place.marks() == []


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("--timeout", "timed out after 300ms"),
        ("--idle-timeout", "timed out: it said nothing for 300ms"),
    ],
)
def test_a_limit_ends_the_run_with_all_it_began(place: Place, limit: str, told: str) -> None:
    document = place.run(TREE, limit, "300ms")

    assert (document["exit_code"], document["end"]) == (124, told)
    assert names(document["folder"]) == FIVE
    assert place.living() == []
    assert place.messages() == START_CRASH


@pytest.mark.parametrize(
    ("number", "code", "told"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "stopped")],
)
def test_a_signal_ends_the_run_with_all_it_began(
    place: Place, number: int, code: int, told: str
) -> None:
    with place.popen("run", "--", "sh", "-c", TREE) as process:
        _ready(place)
        process.send_signal(number)
        _, err = process.communicate(timeout=LIMIT)
    (folder,) = place.folders()
    record = yaml.safe_load((folder / "run-info.yaml").read_text())

    assert process.returncode == code
    assert err.decode().splitlines()[0] == f"error: run {folder.name} failed: {told}"
    assert (record["asked"], record["crash"], record["end"]) == (True, False, told)
    assert names(folder) == FIVE
    assert place.living() == []
    assert place.messages() == START_CRASH


def test_a_run_is_shown_followed_and_stopped_by_others(place: Place) -> None:
    with place.popen("run", "--", "sh", "-c", f"echo one; {TREE}") as process:
        _ready(place)
        run = place.folders()[0].name
        shown = place.show(run)
        follow = place.popen("runs", "logs", run, "--follow")
        stopped = place.gc("runs", "stop", run[:-1])
        process.communicate(timeout=LIMIT)
        said, _ = follow.communicate(timeout=LIMIT)

    assert (shown["state"], shown["kind"]) == ("running", "job")
    assert (stopped.returncode, stopped.stdout.decode()) == (0, f"stopped run {run}\n")
    assert (process.returncode, said) == (143, b"one\n")
    assert place.show(run)["state"] == "failed"
    again = place.gc("runs", "stop", run)
    assert (again.returncode, again.stderr.decode()) == (
        5,
        f"error: run {run} does not run: stopped\n",
    )


def test_a_run_that_begins_is_followed(place: Place) -> None:
    with place.popen(
        "run", "--", "sh", "-c", f'rm "$RUN_FOLDER/agent-stdout.txt"; {TREE}'
    ) as process:
        _ready(place)
        folder = place.folders()[0]
        follow = place.popen("runs", "logs", folder.name, "--follow")
        with pytest.raises(subprocess.TimeoutExpired):
            follow.wait(timeout=3)
        (folder / STDOUT).write_text("late")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
        said, _ = follow.communicate(timeout=LIMIT)

    assert said == b"late"


def test_the_record_says_running_when_the_agent_begins(place: Place) -> None:
    document = place.run('cat "$JRUN_RUN_FOLDER/run-info.yaml"; ls -A "$JRUN_RUN_FOLDER"')
    seen, _, listed = (Path(document["output"]).read_text()).partition("agent-std")

    record = yaml.safe_load(seen)
    assert (record["status"], record["run_id"]) == ("running", document["run"])
    assert (record["backend"], record["work_dir"]) == ("command", str(place.work))
    assert (record["exit_code"], record["end_time"]) == (None, "")
    assert "prompt.md" in listed


def test_a_run_is_told_who_it_is(place: Place) -> None:
    forged = {"JRUN_RUN_FOLDER": "/forged", "JRUN_CONDUCTOR_URL": "/forged", "GC_AGENT": "x"}
    document = place.run("env -0", "--project", "p1", "--task", "t-2", env={**forged, "MY": "own"})
    pairs = Path(document["output"]).read_text().rstrip("\0").split("\0")
    env = dict(pair.split("=", 1) for pair in pairs)
    task = place.home / "projects" / "p1" / "t-2"

    assert {name: value for name, value in env.items() if name.startswith("JRUN_")} == {
        "JRUN_PROJECT_ID": "p1",
        "JRUN_TASK_ID": "t-2",
        "JRUN_ID": document["run"],
        "JRUN_PARENT_ID": "",
        "JRUN_RUNS_DIR": str(task / "runs"),
        "JRUN_MESSAGE_BUS": str(place.home / "city.db"),
        "JRUN_TASK_FOLDER": str(task),
        "JRUN_RUN_FOLDER": str(task / "runs" / document["run"]),
    }
    assert (env["TASK_FOLDER"], env["RUN_FOLDER"]) == (str(task), document["folder"])
    assert env["MY"] == "own"
    assert "GC_AGENT" not in env


@pytest.mark.parametrize("prompt", [b"", b"two\r\nlines\n\n", b"\xff\xfe\0 any \xed\xa0\x80", b"-"])
def test_the_prompt_arrives_byte_for_byte(place: Place, prompt: bytes) -> None:
    document = place.run("cat", "--prompt", "-", given=prompt)
    folder = Path(document["folder"])

    assert (folder / STDOUT).read_bytes() == (folder / PROMPT).read_bytes()
    assert (folder / PROMPT).read_bytes().endswith(b"\n---\n" + prompt)
    assert document["folder"].encode() in (folder / PROMPT).read_bytes()


def test_a_prompt_may_come_from_a_file_or_an_argument(place: Place) -> None:
    (place.work / "ask").write_bytes(b"from \xff a file")
    by_file = place.run("cat", "--prompt-file", "ask")
    by_word = place.run("cat", "--prompt", b"a \xff word")

    assert Path(by_file["output"]).read_bytes().endswith(b"\n---\nfrom \xff a file")
    assert Path(by_word["output"]).read_bytes().endswith(b"\n---\na \xff word")


def test_an_answer_of_the_agents_own_is_not_touched(place: Place) -> None:
    done = place.gc("run", "--", "sh", "-c", "echo noise; printf mine >$JRUN_RUN_FOLDER/output.md")

    assert done.stdout == b"mine"


def test_a_terminal_is_shown_nothing_but_the_answer(place: Place) -> None:
    leader, follower = pty.openpty()
    script = "echo to the terminal >/dev/tty; tty; echo loud >&2; echo done >$RUN_FOLDER/output.md"
    with place.popen("run", "--", "sh", "-c", script, out=follower, err=follower) as process:
        os.close(follower)
        process.wait(timeout=LIMIT)
    shown = _drain(leader)

    assert (process.returncode, shown) == (0, b"done\r\n")


def test_a_run_inside_a_run_belongs_to_it(place: Place) -> None:
    document = place.run("gc run --json -- true", "--project", "p", "--task", "t")
    inner = json.loads(Path(document["output"]).read_text())
    shown = place.show(inner["run"])

    assert (inner["project"], inner["task"]) == ("p", "t")
    assert shown["parent_run_id"] == document["run"]
    assert place.messages(inner["run"]) == START_STOP


def test_a_city_is_the_home_and_the_project_of_its_runs(place: Place) -> None:
    place.city(TOWN + '[providers.own.run]\ncommand = "sh own.sh"\n')
    (place.work / "own.sh").write_text("tail -n 1\n")
    done = place.gc("run", "--backend", "own", "--prompt", "hello")
    (folder,) = place.folders()

    assert (done.returncode, done.stdout) == (0, b"hello")
    assert folder.parent == place.work / ".gc/projects/town/adhoc/runs"
    assert not (place.folder / "state").exists()


def test_an_agent_may_remove_its_own_folder(place: Place) -> None:
    document = place.run('rm -r "$JRUN_RUN_FOLDER"')

    assert (document["status"], names(document["folder"])) == ("completed", FIVE)
    assert place.messages() == START_STOP


def test_the_final_state_is_written_once(place: Place) -> None:
    seen: list[str] = []
    until_seen = 'until [ -e "$TASK_FOLDER/seen" ]; do sleep 0.01; done; exit 3'
    with place.popen("run", "--", "sh", "-c", until_seen) as process:
        while process.poll() is None:
            records = place.home.glob("projects/*/*/runs/*/run-info.yaml")
            seen.extend(yaml.safe_load(path.read_text())["status"] for path in records)
            if seen:
                (place.home / "projects" / "default" / "adhoc" / "seen").touch()
            time.sleep(0.001)  # watching a file is all that is done here
        process.communicate()
    seen.append(yaml.safe_load((place.folders()[0] / "run-info.yaml").read_text())["status"])

    assert [state for i, state in enumerate(seen) if not i or seen[i - 1] != state] == [
        "running",
        "failed",
    ]


def test_a_reader_that_leaves_does_not_harm_the_run(place: Place) -> None:
    with place.popen("run", "--", "sh", "-c", "head -c 1000000 /dev/zero") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.wait(timeout=LIMIT)

    assert (process.returncode, err) == (0, b"")
    assert place.messages() == START_STOP


def test_an_old_run_is_shown_and_old_ones_are_let_go(place: Place) -> None:
    old = "20240102-030405678-99"
    folder = place.home / "projects" / "p" / "t" / "runs" / old
    folder.mkdir(parents=True)
    (folder / "run-info.yaml").write_text(f"run_id: {old}\nkind: job\nstatus: completed\n")
    place.run("true")

    assert place.show(old[:12])["state"] == "completed"
    with place.popen("run", "--", "sh", "-c", TREE) as process:
        _ready(place)
        assert place.gc("runs", "prune", "--keep", "0").stdout == b"let 2 runs go\n"
        assert len(place.folders()) == 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
    assert names(place.folders()[0]) == FIVE


def _ready(place: Place) -> None:
    eventually(lambda: list(place.home.glob("projects/*/*/ready")), within=LIMIT)


def _drain(leader: int) -> bytes:
    shown = b""
    while select.select([leader], [], [], 0)[0]:
        try:
            shown += os.read(leader, 4096)
        except OSError:
            break
    os.close(leader)
    return shown
