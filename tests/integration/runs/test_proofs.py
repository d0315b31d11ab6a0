"""Many runs at once, runners killed at any instant, and tokens that stay where they belong."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml
from tests.cli.place import arguments, environments
from tests.integration.runs.office import FIVE, Office

from gascity.runs.info import Status
from gascity.runs.reconcile import settle

PROCESSES, EACH = 20, 10
KILLS, AT_ONCE = 100, 10
LONGEST = 0.5  # seconds; ten at once take about as long
WORK = """
import sys
from pathlib import Path
from tests.integration.runs.office import Office
for _ in range(int(sys.argv[2])):
    Office(Path(sys.argv[1])).run("echo hello; exit 0")
"""
GATED = """
import sys
from pathlib import Path
from tests.integration.runs.office import Office
office = Office(Path(sys.argv[1]))
office.job("x")
import yaml  # what takes long is done before
print("here", flush=True)
sys.stdin.readline()
office.run(sys.argv[2])
"""
TOKENS = (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "PERPLEXITY_API_KEY",
    "XAI_API_KEY",
)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


class _Reader(threading.Thread):
    """Reads every record again and again; what it cannot read, or finds torn, it keeps."""

    def __init__(self, office: Office) -> None:
        super().__init__()
        self.over = threading.Event()
        self.torn: list[str] = []
        self.reads = 0
        self._projects = Path(office.home.projects)

    def run(self) -> None:
        while not self.over.wait(0.01):
            for path in self._projects.glob("*/*/runs/*/run-info.yaml"):
                text = path.read_text()
                self.reads += 1
                if not text.startswith("version: 1\n") or "\ncommand: " not in text:
                    self.torn.append(text)


def test_two_hundred_runs_of_twenty_processes(office: Office) -> None:
    reader = _Reader(office)
    reader.start()
    argv = [sys.executable, "-c", WORK, str(office.folder), str(EACH)]
    processes = [subprocess.Popen(argv) for _ in range(PROCESSES)]
    codes = [process.wait(timeout=120) for process in processes]
    reader.over.set()
    reader.join()
    folders = list(office.home.runs())
    said: dict[str, list[str]] = {}
    for entry in office.messages():
        said.setdefault(entry.run, []).append(entry.type)

    assert codes == [0] * PROCESSES
    assert len({folder.run_id for folder in folders}) == len(folders) == PROCESSES * EACH
    assert all(sorted(os.listdir(folder.path)) == FIVE for folder in folders)
    assert all(folder.read("output.md") == "hello\n" for folder in folders)
    assert Counter(info.status for info in office.infos()) == {Status.COMPLETED: PROCESSES * EACH}
    assert said == {folder.run_id: ["RUN_START", "RUN_STOP"] for folder in folders}
    assert (reader.torn, reader.reads > 0) == ([], True)
    assert office.marks() == []


def test_a_runner_killed_at_any_instant(office: Office) -> None:
    chance = random.Random(1)
    script = "echo $JRUN_ID; sleep 0.1 & (setsid sleep 0.3 &); sleep 0.2; echo done"
    for _ in range(KILLS // AT_ONCE):
        runners = _at_the_gate(office, script)
        began = time.monotonic()
        for runner in runners:
            assert runner.stdin is not None
            runner.stdin.write(b"go\n")
            runner.stdin.flush()
        for runner, moment in zip(runners, sorted(_moments(chance)), strict=True):
            time.sleep(max(began + moment - time.monotonic(), 0.0))  # the instant of the kill
            runner.send_signal(signal.SIGKILL)
        for runner in runners:
            runner.communicate()
        settle(office.home)
        _check_all(office)
    states = Counter(info.status for info in office.infos())

    assert states[Status.FAILED] > KILLS / 4, states


def _at_the_gate(office: Office, script: str) -> list[subprocess.Popen[bytes]]:
    """Return runners that begin at a word: what Python takes to start is not what is tested."""
    argv = [sys.executable, "-c", GATED, str(office.folder), script]
    pipe = subprocess.PIPE
    runners = [subprocess.Popen(argv, stdin=pipe, stdout=pipe) for _ in range(AT_ONCE)]
    for runner in runners:
        assert runner.stdout is not None
        assert runner.stdout.readline() == b"here\n"
    return runners


def _moments(chance: random.Random) -> list[float]:
    return [chance.uniform(0.0, LONGEST) for _ in range(AT_ONCE)]


def _check_all(office: Office) -> None:
    """Check that the records are true: nothing runs, and all is told once and in order."""
    mark = f"GC_RUN_MARK={office.home.path}:".encode()
    assert [pid for pid, env in environments() if mark in env] == []
    assert [name for name in office.marks() if not name.startswith(".new-")] == []
    said: dict[str, list[str]] = {}
    for entry in office.messages():
        said.setdefault(entry.run, []).append(entry.type)
    for folder, info in zip(office.home.runs(), office.infos(), strict=True):
        assert sorted(os.listdir(folder.path)) == FIVE
        end = "RUN_STOP" if info.status is Status.COMPLETED else "RUN_CRASH"
        assert info.is_over
        assert said.pop(info.run_id) == ["RUN_START", end]
        if info.status is Status.COMPLETED:
            assert folder.read("output.md") == f"{info.run_id}\ndone\n"
    assert said == {}


@pytest.mark.parametrize("backend", ["claude", "codex", "gemini"])
def test_a_token_is_in_one_environment_and_nowhere_else(tmp_path: Path, backend: str) -> None:
    tokens = {name: f"sk-{name.lower()}-{os.urandom(8).hex()}" for name in TOKENS}
    work = tmp_path / "work"
    work.mkdir()
    (work / "city.toml").write_text(
        f'[workspace]\nname = "town"\n\n[providers.{backend}.run]\n'
        'command = "sh agent.sh"\nargs = []\nformat = "text"\n'
    )
    (work / "agent.sh").write_text("touch up; until test -e go; do sleep 0.01; done; exit 5\n")
    gc = Path(sys.executable).with_name("gc")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **tokens}
    with subprocess.Popen(
        [gc, "run", "--backend", backend, "--prompt", "x"],
        cwd=work,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as runner:
        while not (work / "up").exists():
            assert runner.poll() is None
            time.sleep(0.01)  # it is being started
        seen = {
            (name, pid == runner.pid)
            for pid, text in environments()
            for name, token in tokens.items()
            if token.encode() in text and f"{work}/.gc:".encode() in text
        }
        shown = [pid for pid, text in arguments() if b"sk-" in text and _any(tokens, text)]
        (work / "go").touch()
        out, err = runner.communicate(timeout=60)
    folder = next((work / ".gc/projects/town/adhoc/runs").iterdir())
    record = yaml.safe_load((folder / "run-info.yaml").read_text())

    assert runner.returncode == record["exit_code"] == 5
    own = {"claude": TOKENS[0], "codex": TOKENS[1], "gemini": TOKENS[2]}[backend]
    assert seen == {(own, False)}
    assert shown == []
    assert not _any(tokens, out + err)
    kept = [path for path in (work / ".gc").rglob("*") if path.is_file()]
    assert [path for path in kept if _any(tokens, path.read_bytes())] == []


def _any(tokens: dict[str, str], text: bytes) -> bool:
    return any(token.encode() in text for token in tokens.values())
