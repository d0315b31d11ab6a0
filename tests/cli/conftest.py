"""A city of real processes for one test, and eyes that do not use `gc`.

A city is known by its folder: the path is on the command line or in the environment of every
process that belongs to it, so what is left can be found without asking anybody.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.line import Line

from gascity.cli.app import main
from gascity.testing.eventually import eventually

if TYPE_CHECKING:
    from tests.cli.pod_city import Namespace, PodCity

BIN = os.path.dirname(sys.executable)
GC = os.path.join(BIN, "gc")
LIMIT = 60.0
HEAD = """\
[workspace]
name = "town"

[session]
provider = "subprocess"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "2s"
"""
SLEEPERS = "".join(f'[[agents]]\nname = "{name}"\nstart_command = "sleep 1000"\n' for name in "abc")

Agent = dict[str, Any]  # Any: one agent of the status document, as JSON gives it


class City:
    """A folder with a `city.toml`, and `gc` in it; `limit` is how long anything may take."""

    limit = LIMIT

    def __init__(self, folder: Path, text: str) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write(text)
        self._foreground: list[subprocess.Popen[str]] = []

    @property
    def state(self) -> Path:
        return self.folder / ".gc"

    def write(self, text: str, name: str = "city.toml") -> None:
        """Give a file of the city these words in one step: nobody ever reads half of them."""
        beside = self.folder.with_name(f"{self.folder.name}.new")
        beside.write_text(text, "utf-8")
        beside.rename(self.folder / name)

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: os.environ[key] for key in ("HOME", "LANG", "TMPDIR") if key in os.environ}
        path = f"{BIN}:{os.environ['PATH']}"
        return {**kept, "PATH": path, "TEST_CITY": str(self.folder), **more}

    def gc(
        self, *words: str, text: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `gc` in the city's folder to its end."""
        return subprocess.run(
            [GC, *words],
            input=text,
            cwd=self.folder,
            env=self.environment(**(env or {})),
            capture_output=True,
            text=True,
            timeout=self.limit,
            check=False,
        )

    def ok(self, *words: str, text: str = "") -> str:
        """Run `gc`, which must end well; return what it printed."""
        done = self.gc(*words, text=text)
        assert done.returncode == 0, done.stderr + done.stdout
        assert not done.stderr, done.stderr
        return done.stdout

    def popen(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start `gc`; the fixture sees to its end. Its output is one pipe."""
        process = subprocess.Popen(
            [GC, *words],
            cwd=self.folder,
            env=self.environment(**(env or {})),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._foreground.append(process)
        return process

    def start(self, **env: str) -> int:
        """Start a controller in the background and wait until all agents are up."""
        done = self.gc("start", "--detach", env=env)
        assert done.returncode == 0, done.stderr
        self.wait_until_up()
        return self.controller()

    def status(self) -> dict[str, Any]:  # Any: a JSON document
        document: dict[str, Any] = json.loads(self.ok("status", "--json"))
        return document

    def agents(self) -> dict[str, Agent]:
        return {agent["name"]: agent for agent in self.status()["agents"]}

    def controller(self) -> int:
        return int(self.status()["controller"]["pid"] or 0)

    def pids(self) -> dict[str, int | None]:
        return {name: agent["pid"] for name, agent in self.agents().items()}

    def wait_until_up(self) -> dict[str, int | None]:
        """Wait until every agent is ready; return their pids."""

        def up() -> bool:
            document = self.status()
            assert document["controller"]["running"], document
            states = {agent["name"]: agent["state"] for agent in document["agents"]}
            assert set(states.values()) == {"ready"}, states
            return True

        eventually(up, within=self.limit, every=0.05)
        return self.pids()

    def wait_for(self, name: str, state: str) -> Agent:
        """Wait until an agent is in a state; return how it stands."""

        def there() -> Agent:
            agent = self.agents()[name]
            assert agent["state"] == state, agent
            return agent

        return eventually(there, within=self.limit, every=0.05)

    def living(self) -> dict[int, str]:
        """Return every process of this city, by the marks its folder leaves."""
        mark = re.compile(re.escape(os.fsencode(self.folder)) + rb"(?![\w-])")
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                command = Path("/proc", entry, "cmdline").read_bytes()
                if mark.search(command + Path("/proc", entry, "environ").read_bytes()):
                    found[int(entry)] = command.replace(b"\0", b" ").decode(errors="replace")
        return found

    def end(self) -> None:
        """Stop the city; fail when anything of it is left, and end that."""
        stopped = self.gc("stop") if self.state.exists() else None
        for process in self._foreground:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0 if stopped is None else 5)
            if process.poll() is None:
                process.kill()
            process.communicate()
        try:
            eventually(lambda: not self.living())
        except AssertionError:
            left = self.living()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            pytest.fail(f"gc stop said {stopped} and left {left}")


MakeCity = Callable[..., City]


@pytest.fixture
def make_city(tmp_path: Path) -> Iterator[MakeCity]:
    """Make cities in folders of their own; all of them end with the test."""
    made: list[City] = []

    def make(text: str = HEAD + SLEEPERS, folder: str = "town") -> City:
        made.append(City(tmp_path / folder, text))
        return made[-1]

    yield make
    for city in made:
        city.end()


@pytest.fixture
def city(make_city: MakeCity) -> City:
    """Return a city of three sleepers, not started."""
    return make_city()


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    """Return a namespace of the test's own on the real cluster."""
    from tests.cli.pod_city import Namespace  # it is built on this file

    made = Namespace()
    yield made
    made.remove()


@pytest.fixture
def line() -> Iterator[Line]:
    """Return a line to the real cluster that can be cut; to be asked for before what uses it."""
    line = Line()
    yield line
    line.close()


MakePodCity = Callable[..., "PodCity"]


@pytest.fixture
def make_pod_city(namespace: Namespace, tmp_path: Path) -> Iterator[MakePodCity]:
    """Make cities in the namespace, in folders of their own; all of them end with the test."""
    from tests.cli.pod_city import PodCity  # it is built on this file

    made: list[PodCity] = []

    def make(
        agents: str, folder: str = "town", provider: str = "kubernetes", **settings: object
    ) -> PodCity:
        where = tmp_path / folder
        made.append(PodCity(where, namespace, agents, provider=provider, **settings))
        return made[-1]

    yield make
    for city in made:
        city.end()


@dataclass(frozen=True, slots=True)
class Said:
    """What a command that ran in this process ended with and printed."""

    returncode: int
    stdout: str
    stderr: str


Inside = Callable[..., Said]


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    """Return `gc` within this process: quicker, and an exception that gets out fails the test."""

    def run(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["gc", *words])  # the words of this process
        code = main()
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return run


@pytest.fixture
def outside(inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inside:
    """Return `gc` in a folder that belongs to no city."""
    monkeypatch.chdir(tmp_path)
    return inside


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whoever runs the tests may be an agent: here nobody is."""
    for name in list(os.environ):
        if name.startswith(("JRUN_", "GC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    """Return a running city for tests that only look."""
    talker = '[[agents]]\nname = "talker"\ndir = "rigs"\nprovider = "demo"\n'
    city = City(tmp_path_factory.mktemp("quiet") / "town", HEAD + SLEEPERS + talker)
    city.start()
    yield city
    city.end()


PICKER = """\
import os, time
print("\\x1b]2;picker\\x07\\x1b[2J\\x1b[HPicker 3.4\\n\\nYour token is", os.environ["PICK_TOKEN"])
print("\\nHow shall I sandbox commands in this workspace?\\n")
print("  1. Not at all\\n❯ 2. Yes, use the sandbox\\n  3. No, and ask me each time")
print("\\nEnter to confirm · Esc to cancel", flush=True)
time.sleep(1000)
"""  # noqa: RUF001  the glyph that programs draw
SCREENED = """\
[workspace]
name = "town"

[session]
provider = "tmux"

[session.tmux]
socket = "{socket}"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "2s"

[providers.picker]
command = "python3 picker.py"
prompt_mode = "none"
ready_prompt_prefix = "> "
env = {{ PICK_TOKEN = "opensesame-12345" }}

[[agents]]
name = "worker"
provider = "demo"

[[agents]]
name = "shy"
provider = "demo"
args = []
dialogs = {{ trust = "ask" }}

[[agents]]
name = "pick"
provider = "picker"

[[agents]]
name = "plain"
start_command = "sleep 1000"

[[agents]]
name = "piped"
start_command = "cat"
session = "subprocess"
"""


class ScreenCity(City):
    """A city on tmux: one agent is ready, one asks for trust, one shows what no rule knows."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder.parent / "s"
        super().__init__(folder, SCREENED.format(socket=self.socket))
        (self.folder / "picker.py").write_text(PICKER, "utf-8")

    def press(self, agent: str, *keys: str) -> None:
        """Press keys in an agent's terminal, as a person there would."""
        session = f"gc-town-{agent}"
        subprocess.run(
            ["tmux", "-S", self.socket, "send-keys", "-t", f"={session}:", *keys], check=True
        )

    def up(self) -> None:
        """Start the city and wait until its agents show what they are here for."""
        done = self.gc("start", "--detach")
        assert done.returncode == 0, done.stderr
        shown = {"worker": "> ", "shy": "No, exit", "pick": "Esc to cancel"}

        def all_show() -> bool:
            return all(text in self.gc("peek", name).stdout for name, text in shown.items())

        eventually(all_show, within=LIMIT)


@pytest.fixture
def screen_city(tmp_path: Path) -> Iterator[ScreenCity]:
    """Return a city of its own whose screens can be read and changed, not started."""
    city = ScreenCity(tmp_path / "town")
    yield city
    city.end()


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScreenCity]:
    """Return a running city for tests that leave its screens as they are."""
    city = ScreenCity(tmp_path_factory.mktemp("seen") / "town")
    city.up()
    yield city
    city.end()
