"""The city under test: its folder, its controller, its disk, its frozen processes and its people.

Everything that is started here is known by its id and ended by it in `close`, whatever happened.
"""

from __future__ import annotations

import contextlib
import os
import pty
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.declared import FIRST, NAMES, POOL, Declared, pool_of
from tests.chaos.sight import (
    Foreign,
    Process,
    Sleeper,
    living,
    named_in_environment,
    process,
)

from gascity.testing.eventually import eventually

GC = os.path.join(os.path.dirname(sys.executable), "gc")
LIMIT = 60.0  # seconds for any command
DISK = 48  # megabytes
FILLER = "filler"


class Person:
    """Somebody who looks at a session, at a terminal of their own."""

    def __init__(self, socket: str, agent: str) -> None:
        self.agent = agent
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            ["tmux", "-S", socket, "attach-session", "-t", f"=gc-chaos-{agent}"],
            env={"PATH": os.environ["PATH"], "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def leave(self) -> None:
        """Close the terminal."""
        self.process.kill()
        self.process.wait()
        self._reader.join(5.0)
        os.close(self._master)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # nobody has the other end open any more
            while os.read(self._master, 65536):
                continue


@dataclass
class World:
    """One city with all that goes on around it."""

    folder: Path
    reloads: bool = False
    key: int = field(default_factory=lambda: 100_000 + secrets.randbelow(900_000))
    file: Declared = FIRST
    broken: bool = False
    wanted: int = 1
    held: set[str] = field(default_factory=set)
    uncertain: set[str] = field(default_factory=set)
    excused: set[str] = field(default_factory=set)
    killed: set[Process] = field(default_factory=set)
    killed_servers: set[int] = field(default_factory=set)
    foreign: dict[str, Foreign] = field(default_factory=dict)
    frozen: dict[Process, float] = field(default_factory=dict)
    people: list[Person] = field(default_factory=list)
    controller: subprocess.Popen[bytes] | None = None
    lives: int = 0
    disk_is_full: bool = False
    has_disk: bool = False
    faults: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    # --- the city

    def open(self) -> None:
        """Make the folder and start the controller."""
        self.state.mkdir(parents=True)
        self.has_disk = self._mount()
        self.want(self.wanted)
        self.write(self.file)
        self.start()

    @property
    def state(self) -> Path:
        return self.folder / ".gc"

    @property
    def socket(self) -> str:
        return str(self.folder / "s")

    @property
    def database(self) -> Path:
        return self.state / "city.db"

    def write(self, declared: Declared) -> None:
        """Write a good city file, in one go, as an editor does."""
        self._replace("city.toml", declared.text(self.socket, self.key))
        self.file = declared
        self.broken = False

    def spoil(self, text: str) -> None:
        """Write a city file that nobody can read."""
        self._replace("city.toml", text)
        self.broken = True

    def want(self, size: int) -> None:
        """Have the pool's check say how many there should be."""
        self._replace("wanted", f"{size}\n")
        self.wanted = size

    def _replace(self, name: str, text: str) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_text(text, "utf-8")
        fresh.replace(self.folder / name)

    def expected(self) -> set[str]:
        """Return the agents that should run, without the pool's."""
        squatted = {one.agent for one in self.foreign.values()}
        return set(self.file.agents) - {POOL} - self.held - squatted

    def may_have_ended(self, one: Sleeper) -> bool:
        """Tell whether there is a reason for the end of a program: ours, or a person's wish."""
        return (
            one.process in self.killed
            or pool_of(one.agent) in self.excused
            or one.parent in self.killed_servers
            or one.parent == 1  # first seen when its server was gone already
        )

    def spare(self) -> list[str]:
        """Return the names that no agent has now."""
        return [name for name in NAMES if name not in self.file.agents]

    # --- the controller

    def start(self) -> None:
        """Start a controller; it has a file of its own to talk to."""
        if self.broken:
            self.write(self.file)  # none starts with a broken file: a person mends it first
        self.check_last_words()
        self.lives += 1
        with self.output.open("wb") as said:
            self.controller = subprocess.Popen(
                [GC, "start"],
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> Path:
        """What the present controller prints."""
        return self.folder / f"controller-{self.lives}.out"

    def check_last_words(self) -> None:
        """A controller may leave because its disk is full, but never without a sentence."""
        said = self.output.read_text("utf-8", errors="replace") if self.lives else ""
        assert "Traceback" not in said, said

    def controller_runs(self) -> bool:
        return self.controller is not None and self.controller.poll() is None

    def end_controller(self, signum: int) -> None:
        """Signal the controller, which may be frozen, and wait for its end."""
        if self.controller is None:
            return
        self.thaw(self.controller.pid)
        self.controller.send_signal(signum)
        self.controller.wait(LIMIT)

    def gc(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a `gc` command to its end; it never shows a traceback."""
        done = subprocess.run(
            [GC, *words],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert "Traceback" not in done.stderr, f"gc {' '.join(words)} said {done.stderr}"
        return done

    def environment(self) -> dict[str, str]:
        path = f"{os.path.dirname(GC)}:{os.environ['PATH']}"
        kept = {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
        return {"PATH": path, "HOME": str(self.folder), "TERM": "xterm", **kept}

    # --- what is below it

    def tmux(self, *words: str) -> str | None:
        """Run tmux by hand on the city's socket; None when it ends badly."""
        done = subprocess.run(
            ["tmux", "-N", "-S", self.socket, *words],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return done.stdout.rstrip("\n") if done.returncode == 0 else None

    def server(self) -> Process | None:
        """Return the tmux server, asked by hand; None when there is none."""
        said = self.tmux("display-message", "-p", "#{pid}")
        return process(int(said)) if said and said.isdigit() else None

    def freeze(self, who: Process, seconds: float) -> None:
        """Have a process do nothing for a while."""
        self.frozen[who] = time.monotonic() + seconds
        who.signal(signal.SIGSTOP)

    def thaw(self, pid: int | None = None, *, due: bool = False) -> None:
        """Let frozen processes go on: one of them, all of them, or those whose time is over."""
        now = time.monotonic()
        for who, until in list(self.frozen.items()):
            if pid in (None, who.pid) and (not due or until <= now):
                del self.frozen[who]
                who.signal(signal.SIGCONT)

    def fill_disk(self) -> None:
        """Leave not one byte free where the city keeps its state."""
        self.disk_is_full = True
        with (self.state / FILLER).open("ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size) == size:
                        continue

    def empty_disk(self) -> None:
        (self.state / FILLER).unlink(missing_ok=True)
        self.disk_is_full = False

    def _mount(self) -> bool:
        """Put the city's state on a small disk of its own, where that is allowed."""
        words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}m,mode=700", "chaos", str(self.state)]
        with contextlib.suppress(OSError):
            return subprocess.run(words, capture_output=True, check=False).returncode == 0
        return False

    # --- the story

    def note(self, text: str) -> None:
        """Write down what was done, with the time."""
        line = f"{time.monotonic() - self.began:8.3f}  {text}"
        self.faults.append(line)
        with (self.folder / "faults.log").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    # --- the end

    def leftovers(self) -> dict[int, str]:
        """Return every process of the city and around it, but for foreign sessions'."""
        foreign = {one.process.pid for one in self.foreign.values()}
        mark = os.fsencode(self.folder)
        found = named_in_environment(mark)
        found |= {one.pid: one.argument for one in living(self.key)}
        return {pid: words for pid, words in found.items() if pid not in foreign}

    def close(self) -> None:
        """End all that is left, by id."""
        self.thaw()
        for person in self.people:
            person.leave()
        if self.controller is not None and self.controller.poll() is None:
            self.controller.kill()
            self.controller.wait()
        end([*self.leftovers(), *(one.process.pid for one in self.foreign.values())])
        eventually(lambda: not self._end_stragglers())
        if self.has_disk:
            words: Sequence[str] = ["umount", str(self.state)]
            eventually(
                lambda: subprocess.run(words, capture_output=True, check=False).returncode == 0
            )

    def _end_stragglers(self) -> dict[int, str]:
        left = self.leftovers()
        end(list(left))
        return left


def end(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
