"""The folder of one run, and the folder of all of them.

A file is written beside its place and renamed, so that whoever reads it finds the old one or the
new one. Nothing is forced to the disk: after a loss of power the last records may be missing, which
is what they are worth. Files are for their owner alone.

An agent may have put anything in the place of a file. What is no file is not read, since a pipe
would keep whoever opens it waiting for ever; where something is written, it goes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from gascity.runs.ids import age_of, is_run_id
from gascity.runs.info import Broken, Glance, RunInfo, from_yaml, glance, to_yaml

INFO = "run-info.yaml"
PROMPT = "prompt.md"
LAST_SCREEN = "last-screen.txt"
STDOUT = "agent-stdout.txt"
STDERR = "agent-stderr.txt"
OUTPUT = "output.md"
_LARGEST = 1_000_000  # bytes of a record that are read; more was not written by gc
_HEAD = 1024  # bytes in which its head ends
# Neither through a link nor into a pipe: both are refused.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The files of one run."""

    path: str

    @property
    def run_id(self) -> str:
        """The run it is about."""
        return os.path.basename(self.path)

    def file(self, name: str) -> str:
        """Return the path of one of its files."""
        return os.path.join(self.path, name)

    def exists(self) -> bool:
        """Tell whether it is there."""
        return os.path.isdir(self.path)

    def belongs_to(self) -> tuple[str, str]:
        """Return the project and the task of a one-shot run, by where it lies."""
        task = os.path.dirname(os.path.dirname(self.path))
        return os.path.basename(os.path.dirname(task)), os.path.basename(task)

    def has(self, name: str) -> bool:
        """Tell whether there is such a file."""
        return os.path.isfile(self.file(name))

    def write_info(self, info: RunInfo) -> None:
        """Keep the record. Raises OSError."""
        self.write(INFO, to_yaml(info))

    def write(self, name: str, text: str) -> None:
        """Keep a text as one of its files, whole or not at all. Raises OSError."""
        self.make()
        with self.writing(name) as file:
            file.write(_exact(text))

    def make(self) -> None:
        """Make the folder where it is not there, or closed to its owner. Raises OSError."""
        is_run = is_run_id(self.run_id)  # nothing else can be meant by that name
        if not self.exists():
            with contextlib.suppress(FileNotFoundError):
                if is_run:
                    os.unlink(self.path)
            os.makedirs(self.path, mode=0o700, exist_ok=True)
        elif is_run and not os.access(self.path, os.R_OK | os.W_OK | os.X_OK):
            with contextlib.suppress(OSError):  # who needs it open is told that it is not
                os.chmod(self.path, 0o700)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        """Give a file to write, which is in its place when this ends well. Raises OSError."""
        beside, place = self.file(f".{name}.new"), self.file(name)
        make_way(beside)
        try:
            with open(os.open(beside, _NEW, 0o600), "wb") as file:
                yield file
            if os.path.isdir(place):
                make_way(place)
            os.replace(beside, place)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    def tidy(self) -> None:
        """Remove what was not written to its end. Raises OSError."""
        for name in os.listdir(self.path):
            if name.startswith(".") and name.endswith(".new"):
                make_way(self.file(name))
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.file(name))

    def read_info(self) -> RunInfo | Broken:
        """Return its record, or why there is none that can be read."""
        try:
            return from_yaml(self.run_id, self.read(INFO, _LARGEST))
        except FileNotFoundError:
            return Broken(self.run_id, "nothing was written down of it")
        except OSError as problem:
            return Broken(self.run_id, problem.strerror or str(problem))

    def glance(self) -> Glance | None:
        """Return the head of its record; None when there is none that can be read."""
        with contextlib.suppress(OSError):
            if (head := glance(self.run_id, self.read(INFO, _HEAD))) is not None:
                return head
            info = self.read_info()
            if isinstance(info, RunInfo):
                return Glance(info.run_id, info.kind, info.status, info.agent, info.session)
        return None

    def read(self, name: str, most: int = _LARGEST) -> str:
        """Return the beginning of one of its files. Raises OSError."""
        with open_file(self.file(name)) as file:
            return file.read(most).decode("utf-8", "replace")

    def remove(self) -> None:
        """Forget the run; what cannot be removed stays."""
        shutil.rmtree(self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of a city. `path` need not exist."""

    path: str

    def of(self, run_id: str) -> RunFolder:
        """Return the folder of a run, whether it is there or not."""
        return RunFolder(os.path.join(self.path, run_id))

    def ids(self) -> list[str]:
        """Return the ids of all runs, the newest first. Raises OSError when that cannot be read."""
        try:
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted((name for name in names if is_run_id(name)), key=age_of, reverse=True)


def open_file(path: str) -> BinaryIO:
    """Open a file for reading. Raises OSError also for what is none, and waits for nobody."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # noqa: SIM115  the caller closes it
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no file", path)


def make_way(path: str) -> None:
    """Remove what lies there, unless it is a file. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            shutil.rmtree(path)
        elif not stat.S_ISREG(mode):
            os.unlink(path)


def _exact(text: str) -> bytes:
    """Return the bytes that a text was read from, which may have been any."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # it was never bytes
        return text.encode("utf-8", "replace")
