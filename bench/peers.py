"""A hundred sleeping programs under `gc` and under other supervisors, side by side in one run.

    python bench/peers.py [COUNT] [supervisord|circus|pm2|gc-tmux|gc-subprocess ...]

Prints one JSON line each: how long it takes until all run, from `kill -9` of one until another
process runs its program (ten times, the process table read every 2 ms), for a status, and to stop
them all; and what the supervisor holds and uses meanwhile. There is no floor: the others are.
supervisord and circus are installed into a cache with pip, pm2 with npm.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

FIRST = 987_000  # program number N is `sleep FIRST+N`
KILLS = 10
LIMIT = 120.0
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "gc-peers")
INTERFACE = "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface"
GC = os.path.join(os.path.dirname(sys.executable), "gc")


class Peer:
    """A supervisor that is set up in a folder for a number of programs."""

    def __init__(self, folder: str, count: int) -> None:
        self.folder = folder
        self.programs = {f"a{n}": f"sleep {FIRST + n}" for n in range(count)}

    def start(self) -> None:
        raise NotImplementedError

    def status(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def pid(self) -> int:
        """Return the process that supervises."""
        raise NotImplementedError

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class Supervisord(Peer):
    """Supervisor, from PyPI."""

    def start(self) -> None:
        at = self.folder
        parts = [
            f"[supervisord]\nnodaemon=true\nlogfile={at}/log\npidfile={at}/pid",
            f"[unix_http_server]\nfile={at}/socket",
            f"[rpcinterface:supervisor]\n{INTERFACE}",
            f"[supervisorctl]\nserverurl=unix://{at}/socket",
        ]
        parts += [
            f"[program:{name}]\ncommand={command}\nautorestart=true\nstartsecs=0"
            for name, command in self.programs.items()
        ]
        self.config = self.write("config", "\n".join(parts))
        self.daemon = background(installed("supervisord"), "-c", self.config)

    def status(self) -> None:
        quiet(installed("supervisorctl"), "-c", self.config, "status")

    def stop(self) -> None:
        self.daemon.terminate()
        self.daemon.wait()

    def pid(self) -> int:
        return self.daemon.pid


class Circus(Supervisord):
    """Circus, from PyPI."""

    def start(self) -> None:
        ends = {"endpoint": "e", "pubsub_endpoint": "p", "stats_endpoint": "s"}
        parts = ["[circus]", "check_delay = 1"]
        parts += [f"{key} = ipc://{self.folder}/{name}" for key, name in ends.items()]
        parts += [f"[watcher:{name}]\ncmd = {text}" for name, text in self.programs.items()]
        self.daemon = background(installed("circusd"), self.write("config", "\n".join(parts)))

    def status(self) -> None:
        quiet(installed("circusctl"), "--endpoint", f"ipc://{self.folder}/e", "status")


class Pm2(Peer):
    """pm2, from npm."""

    def start(self) -> None:
        sleep = shutil.which("sleep")
        apps = [
            {"name": name, "script": sleep, "args": text.split()[1], "interpreter": "none"}
            for name, text in self.programs.items()
        ]
        self._run("start", self.write("apps.json", json.dumps({"apps": apps})))

    def status(self) -> None:
        self._run("ls")

    def stop(self) -> None:
        self._run("kill")

    def pid(self) -> int:
        with open(f"{self.folder}/home/pm2.pid", encoding="utf-8") as file:
            return int(file.read())

    def _run(self, *words: str) -> None:
        program = f"{CACHE}/npm/node_modules/.bin/pm2"
        if not os.path.exists(program):
            quiet(
                "npm", "install", "--silent", "--ignore-scripts", "--prefix", f"{CACHE}/npm", "pm2"
            )
        quiet(program, *words, env={**os.environ, "PM2_HOME": f"{self.folder}/home"})


class Gc(Peer):
    """This program, with agents in tmux."""

    provider = "tmux"

    def start(self) -> None:
        parts = [f'[workspace]\nname = "peers"\n[session]\nprovider = "{self.provider}"']
        parts += [
            f'[[agents]]\nname = "{name}"\nstart_command = "{text}"'
            for name, text in self.programs.items()
        ]
        self.write("city.toml", "\n".join(parts))
        quiet(GC, "-C", self.folder, "start", "--detach")

    def status(self) -> None:
        quiet(GC, "-C", self.folder, "status")

    def stop(self) -> None:
        quiet(GC, "-C", self.folder, "stop")

    def pid(self) -> int:
        words = [GC, "-C", self.folder, "status", "--json"]
        told = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        return int(told["controller"]["pid"])


class GcSubprocess(Gc):
    """This program, with agents that have no terminal."""

    provider = "subprocess"


PEERS: dict[str, type[Peer]] = {
    "supervisord": Supervisord,
    "circus": Circus,
    "pm2": Pm2,
    "gc-tmux": Gc,
    "gc-subprocess": GcSubprocess,
}


def main(words: Sequence[str]) -> int:
    count = int(words[0]) if words else 100
    for name in words[1:] or PEERS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            print(json.dumps(measure(name, PEERS[name](folder, count), count)), flush=True)
    return 0


def measure(name: str, peer: Peer, count: int) -> dict[str, object]:
    began = time.perf_counter()
    try:
        peer.start()
        until(lambda: len(table()) == count)
        started = time.perf_counter() - began
        time.sleep(3)  # it settles
        heals = [heal(FIRST + number) for number in range(min(KILLS, count))]
        statuses = [seconds(peer.status) for _ in range(3)]
        megabytes, percent = cost(peer.pid())
        began = time.perf_counter()
    finally:
        peer.stop()
        until(lambda: not table())
    return {
        "bench": "peers",
        "peer": name,
        "programs": count,
        "start_all_s": round(started, 2),
        "heal_p50_ms": round(statistics.median(heals) * 1000),
        "heal_max_ms": round(max(heals) * 1000),
        "status_ms": round(min(statuses) * 1000),
        "rss_mb": round(megabytes, 1),
        "cpu_percent": round(percent, 2),
        "stop_all_s": round(time.perf_counter() - began, 2),
    }


def heal(number: int) -> float:
    """Kill a program; return the seconds until another process runs it."""
    old = table()[number]
    began = time.perf_counter()
    os.kill(old, signal.SIGKILL)
    until(lambda: table().get(number, old) != old)
    return time.perf_counter() - began


def table() -> dict[int, int]:
    """Return the pids of our programs by their number, from the process table."""
    found: dict[int, int] = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                name, word, *_ = file.read().split(b"\0")
            if name.endswith(b"sleep") and int(word) >= FIRST:
                found[int(word)] = int(pid)
    return found


def cost(pid: int, span: float = 5.0) -> tuple[float, float]:
    """Return the megabytes a process holds, and how much of a processor it uses while idle."""
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        megabytes = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    before = used(pid)
    time.sleep(span)  # what is measured is this span
    return megabytes, (used(pid) - before) / span * 100


def used(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        ticks = file.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def until(check: Callable[[], bool]) -> None:
    deadline = time.perf_counter() + LIMIT
    while not check():
        if time.perf_counter() > deadline:
            raise TimeoutError("it did not come to that")
        time.sleep(0.002)  # the pace of a look


def installed(program: str) -> str:
    """Return a program of the other supervisors that are written in Python."""
    if not os.path.exists(f"{CACHE}/venv/bin/{program}"):
        quiet(sys.executable, "-m", "venv", f"{CACHE}/venv")
        quiet(f"{CACHE}/venv/bin/pip", "install", "-q", "setuptools<81", "supervisor", "circus")
    return f"{CACHE}/venv/bin/{program}"


def background(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def quiet(*words: str, env: dict[str, str] | None = None) -> None:
    subprocess.run(
        words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
