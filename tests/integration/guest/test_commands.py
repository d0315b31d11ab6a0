"""Commands that say too much, take too long, or leave somebody behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integration.guest.daemon import MODULE, Conversation, request, running

from gascity.testing.eventually import eventually

MIB = 1024 * 1024
CUT = "\n... [output truncated]"
TWICE = """\
import os, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
open("pids", "a").write(f"{os.getpid()}\\n")
time.sleep(300)
"""
"""A process that goes away from whoever started it, as daemons do."""


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in {"Z", "X"}


def pids(folder: Path, count: int) -> list[int]:
    """Return the processes that wrote down who they are, once there are that many."""
    noted = folder / "pids"
    lines = eventually(lambda: found if len(found := _lines(noted)) >= count else None)
    return [int(line) for line in lines or ()]


def _lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


@pytest.mark.timeout(300)
def test_two_gigabytes_of_output_are_cut_exactly_and_never_held(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        found = daemon.connect().result("exec", cmd=f"yes | head -c {2 * 1024 * MIB}; echo e >&2")

        assert found == {"exit_code": 0, "stdout": "y\n" * (MIB // 2) + CUT, "stderr": "e\n"}
        assert daemon.rss() < 60 * MIB


def test_a_line_of_64_megabytes_is_refused_and_never_held(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        most = []
        for _ in range(4):
            talk = daemon.connect()
            for _ in range(64):
                talk.send(b"x" * MIB)
            assert talk.answer()["error"]["code"] == -32600
            most.append(daemon.rss())

        assert most[-1] < 60 * MIB
        assert most[-1] - most[0] < 2 * MIB


def test_the_limit_of_the_output_can_be_chosen(tmp_path: Path) -> None:
    with running(tmp_path, "--max-output", "5") as daemon:
        found = daemon.connect().result("exec", cmd="printf 12345; printf 123456 >&2")

        assert (found["stdout"], found["stderr"]) == ("12345", "12345" + CUT)


def test_a_grandchild_that_holds_the_output_is_neither_waited_for_nor_hurt(tmp_path: Path) -> None:
    writes = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; echo ok > done"
    with running(tmp_path, "--workdir", str(tmp_path)) as daemon:
        os.mkfifo(tmp_path / "go")

        found = daemon.connect().result("exec", cmd=f"(cat go; {writes}) & echo hi")

        assert found["stdout"] == "hi\n"
        (tmp_path / "go").write_text("")
        eventually((tmp_path / "done").exists)


def test_a_grandchild_that_never_stops_talking_does_not_delay_the_answer(tmp_path: Path) -> None:
    with running(tmp_path, "--workdir", str(tmp_path)) as daemon:
        talk = daemon.connect()

        found = talk.result("exec", cmd="yes & echo $! > pids")

        (yes,) = pids(tmp_path, 1)
        assert not is_gone(yes)
        os.kill(yes, signal.SIGKILL)
        assert found["exit_code"] == 0
        assert talk.ask("ping")["result"]


def test_what_a_pipe_holds_when_the_shell_ends_is_in_the_answer(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        talk = daemon.connect()

        said = [talk.result("exec", cmd="head -c 60000 /dev/zero | tr '\\0' x") for _ in range(20)]

        assert {len(one["stdout"]) for one in said} == {60000}


def test_the_time_limit_ends_whoever_was_started_wherever_they_went(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_text(TWICE)
    note = "echo $$ >> pids; exec sleep 300"
    command = f"""
        sh -c '{note}' &
        setsid sh -c '{note}' &
        setsid setsid sh -c '{note}' &
        {sys.executable} twice.py
        env -i setsid {shutil.which("sh")} -c 'echo $$ >> pids; while :; do read x < hold; done' &
        (trap "" TERM HUP INT; echo $$ >> pids; while :; do read x < hold; done)
    """
    os.mkfifo(tmp_path / "hold")
    noted: list[str] = []
    for limit in ("4", "15", "60"):  # a busy machine needs longer until all of them are there
        (tmp_path / "pids").unlink(missing_ok=True)
        with running(tmp_path, "--workdir", str(tmp_path), "--timeout", limit) as daemon:
            found = daemon.connect().result("exec", cmd=command)

            noted = _lines(tmp_path / "pids")
            assert found["exit_code"] == 124
            assert f"ended after {limit} s" in found["stderr"]
            assert all(is_gone(int(pid)) for pid in noted)
        if len(noted) == 6:
            break
    assert len(noted) == 6


def test_without_a_time_limit_a_command_may_take_long(tmp_path: Path) -> None:
    with running(tmp_path, "--timeout", "0") as daemon:
        assert daemon.connect().result("exec", cmd="sleep 0.2; echo hi")["stdout"] == "hi\n"


def test_a_working_folder_that_went_away_is_named(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path, "--workdir", str(work)) as daemon:
        work.rmdir()
        found = daemon.connect().result("exec", cmd="true")

        said = f"cannot enter '{work}': No such file or directory (os error 2)"
        assert found == {"exit_code": -1, "stdout": "", "stderr": said}


def test_a_stopped_daemon_leaves_no_command_and_no_socket(tmp_path: Path) -> None:
    with running(tmp_path, "--workdir", str(tmp_path)) as daemon:
        talk = daemon.connect()
        talk.send(request("exec", ["setsid sleep 300 & echo $! >> pids; echo $$ >> pids; wait"]))
        found = pids(tmp_path, 2)

        daemon.process.send_signal(signal.SIGTERM)

        assert daemon.process.wait(30) == 0
        assert all(is_gone(pid) for pid in found)
        assert not os.path.exists(daemon.path)
        told = talk.line()  # it may not have come so far
        assert not told or json.loads(told)["result"] == {
            "exit_code": 143,
            "stdout": "",
            "stderr": "ended because the daemon stops\n",
        }


def test_a_system_that_does_not_tell_of_an_end_is_asked(tmp_path: Path) -> None:
    start = "import os, sys; del os.pidfd_open; from gascity.guest.main import main; main()"
    codes = []
    for limit, commands in (
        ("0", ["echo hi; exit 3", "sleep 60 & echo $! > pids", "kill $(cat pids)"]),
        ("1", ["sleep 60"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", start, "--stdio", "--timeout", limit],
            cwd=tmp_path,
            input=b"".join(request("exec", [command]) for command in commands),
            capture_output=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == b""
        codes += [json.loads(line)["result"]["exit_code"] for line in done.stdout.splitlines()]

    assert codes == [3, 0, 0, 124]


def test_a_command_has_the_environment_of_the_daemon_and_no_terminal(tmp_path: Path) -> None:
    with running(tmp_path, env={"COLOUR": "blue"}) as daemon:
        talk = daemon.connect()

        assert talk.result("exec", cmd="echo $COLOUR")["stdout"] == "blue\n"
        assert talk.result("exec", cmd="(: < /dev/tty) 2>/dev/null")["exit_code"] != 0


def test_no_descriptor_of_the_daemon_reaches_a_command(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        listing = daemon.connect().result("exec", cmd="ls /proc/$$/fd")["stdout"]

        assert listing.split() == ["0", "1", "2"]


def test_the_first_process_of_a_system_buries_the_orphans(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    alone = [str(unshare), "--pid", "--fork", "--mount-proc", "--kill-child"]
    if unshare is None or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("this user may not make a process the first of a system")
    command = "(setsid sh -c 'exec sleep 0.01' &); cat /proc/[0-9]*/stat"
    with subprocess.Popen(
        [*alone, *MODULE, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        talk = Conversation(process.stdout.fileno(), process.stdin.fileno())
        try:
            eventually(lambda: no_zombies(talk, command))
            eventually(lambda: no_zombies(talk, "cat /proc/[0-9]*/stat"))
        finally:
            process.stdin.close()


def no_zombies(talk: Conversation, command: str) -> bool:
    lines = talk.result("exec", cmd=command)["stdout"].splitlines()
    assert lines
    return not [line for line in lines if line.rpartition(")")[2].split()[0] == "Z"]


@pytest.mark.parametrize("wanted", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_quiet_daemon(wanted: signal.Signals, tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        daemon.process.send_signal(wanted)

        assert daemon.process.wait(30) == 0
        assert not os.path.exists(daemon.path)
        assert daemon.complaints == ""


def test_a_daemon_that_shall_outlive_its_terminal_does(tmp_path: Path) -> None:
    path = str(tmp_path / "guest.sock")
    words = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *MODULE, "--socket", path]
    with subprocess.Popen(words) as process:
        try:
            eventually(lambda: os.path.exists(path))
            process.send_signal(signal.SIGHUP)
            with socket.socket(socket.AF_UNIX) as sock:
                eventually(lambda: sock.connect_ex(path) == 0)
                sock.sendall(request("ping"))
                assert b"pong" in sock.recv(65536)
        finally:
            process.terminate()
        assert process.wait(30) == 0


def test_exit_codes_are_known_where_whoever_started_it_did_not_care_for_children(
    tmp_path: Path,
) -> None:
    start = "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    start += "from gascity.guest.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start, "--stdio"],
        input=request("exec", ["exit 42"]),
        capture_output=True,
        check=True,
        timeout=60,
    )

    assert json.loads(done.stdout)["result"]["exit_code"] == 42
