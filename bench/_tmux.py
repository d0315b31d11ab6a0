"""A city in tmux to measure, and tmux with nothing around it to measure against.

`Bare` and `bare_server` use nothing of gascity: they are the floor.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
from gascity_tmux import layout
from gascity_tmux.provider import Provider

LIMIT = 120.0  # seconds for anything
THREADS = 16
ENV = {"PATH": os.environ["PATH"]}
_NAME = "bench"


class Bare:
    """A control-mode client: writes lines, and reads until each of them is answered."""

    def __init__(self, socket: str, *words: str) -> None:
        self._process = subprocess.Popen(
            ["tmux", "-u", "-f", os.devnull, "-S", socket, "-C", *words],
            env=ENV,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._rest = b""
        try:
            self._read_past(b"%session-changed ")  # what is written earlier may be done too early
        except BaseException:  # Ctrl-C too must leave nothing running
            self.close()
            raise

    def ask(self, *lines: str) -> bytes:
        """Return everything that was said until the last line was answered."""
        os.write(self._input.fileno(), "".join(f"{line}\n" for line in lines).encode())
        return b"".join([self._read_past(b"\n%end ") for _ in lines])

    def close(self) -> None:
        """Hang up."""
        self._process.kill()
        self._process.wait()
        self._input.close()
        self._output.close()

    def _read_past(self, word: bytes) -> bytes:
        """Return what was said up to the line with this word, without the rest of that line."""
        data, searched = self._rest, 0
        deadline = time.monotonic() + LIMIT
        while (found := data.find(word, searched)) < 0 or b"\n" not in data[found + len(word) :]:
            searched = max(len(data) - len(word), 0) if found < 0 else found
            if b"\n%error " in data[searched:]:
                raise RuntimeError(data.decode(errors="replace"))
            if not select.select([self._output], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError("tmux did not answer")
            more = os.read(self._output.fileno(), 1 << 18)
            if not more:
                raise RuntimeError(f"tmux hung up: {data.decode(errors='replace')}")
            data += more
        self._rest = data[data.index(b"\n", found + len(word)) :]  # a word may need its newline
        return data[:found]


@contextlib.contextmanager
def bare_server(folder: str) -> Iterator[Bare]:
    """Yield a client of a server of its own, which ends with the block."""
    client = Bare(os.path.join(folder, "bare"), "new-session", "-s", "hub", "sleep", "1000")
    pid = 0
    try:
        pid = int(client.ask("display-message -p '#{pid}'").splitlines()[-1])
        yield client
    finally:
        client.close()
        end([pid])


@dataclass(frozen=True)
class City:
    """A running city of one provider. `server` is the pid of its tmux server."""

    provider: Provider
    folder: str
    names: Sequence[str]
    config: Callable[[str], SessionConfig]
    server: int

    @property
    def socket(self) -> str:
        return layout.socket_path(_NAME, layout.home(f"{self.folder}/.gc"))

    def start(self, names: Iterable[str]) -> None:
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(self._start, names))

    def _start(self, name: str) -> None:
        self.provider.start(name, self.config(name), timeout=LIMIT)


@contextlib.contextmanager
def city(count: int, config: Callable[[str], SessionConfig]) -> Iterator[City]:
    """Yield a city with that many sessions; nothing of it is left afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        names = [f"s{number}" for number in range(count)]
        provider = Provider(CityContext(_NAME, f"bench {folder}", f"{folder}/.gc", {}))
        made = City(provider, folder, names, config, 0)
        try:
            made.start(names)
            yield City(provider, folder, names, config, _server(folder))
        finally:
            server = _server(folder)
            try:
                provider.stop_all(names, grace=5, timeout=LIMIT)
            finally:
                provider.close()
                end([server])
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(made.socket)


def end(pids: Iterable[int]) -> None:
    """Kill what is left of these and return when it is gone; 0 is nobody."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            if pid:
                descriptor = os.pidfd_open(pid)
                try:
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    select.select([descriptor], [], [], LIMIT)
                finally:
                    os.close(descriptor)


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def milliseconds(taken: float) -> float:
    return round(taken * 1000, 2)


def _server(folder: str) -> int:
    try:
        with open(f"{layout.home(f'{folder}/.gc')}/{layout.SERVER}", encoding="utf-8") as file:
            return int(json.load(file)["pid"])
    except FileNotFoundError:
        return 0
