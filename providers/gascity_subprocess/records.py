"""What the keeper knows of its sessions, in memory and on disk.

The folder of a session is made before its process, the record after: a folder without one belongs
to a start that was never answered (see `adoption`). Later changes replace the record as a whole, so
a keeper that is killed at any instant leaves one that can be read. The command and the environment
are never written.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator

from gascity_subprocess import layout

_NEW = ".new"
MOST_GONE = 1000  # names of sessions that went, remembered for clients that knew them


class Record:
    """One session. `ended` is set once, when its program is gone.

    `adopted` says that its process is not a child of this keeper: its end is seen, its exit
    status is not, and what it leaves behind goes to init. `number` is that of its last change.
    """

    def __init__(self, name: str, mark: str, work_dir: str, meta: dict[str, str]) -> None:
        self.name = name
        self.mark = mark
        self.work_dir = work_dir
        self.meta = meta
        self.created = time.time()
        self.pid = 0
        self.started = ""
        self.ended: dict[str, object] | None = None
        self.adopted = False
        self.number = 0

    @property
    def alive(self) -> bool:
        """Whether its program runs, as far as the keeper was told."""
        return self.ended is None

    def end(self, code: int | None, signum: int | None) -> None:
        """Note that the program ended, and how; both None when nobody saw it."""
        self.ended = {"code": code, "signal": signum, "at": time.time()}

    def as_dict(self) -> dict[str, object]:
        """Return what is written to disk."""
        return {
            "name": self.name,
            "mark": self.mark,
            "work_dir": self.work_dir,
            "created": self.created,
            "pid": self.pid,
            "started": self.started,
            "ended": self.ended,
            "meta": self.meta,
        }


class Records:
    """All sessions of a city by name; `home` is the provider's folder.

    Changes are numbered, so that a client which knows all up to a number can be told the rest.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._all: dict[str, Record] = {}
        self.number = 0
        self._gone: dict[str, int] = {}
        self._forgotten_up_to = 0
        self._litter: set[str] = set()

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._all.values()))

    def get(self, name: str) -> Record | None:
        """Return the record of that name, if there is one."""
        return self._all.get(name)

    def touch(self, record: Record) -> None:
        """Note that something about the session changed."""
        self.number += 1
        record.number = self.number

    def since(self, number: int) -> tuple[list[Record], list[str]] | None:
        """Return what changed after `number` and the names that went; None when it is too long."""
        if not self._forgotten_up_to <= number <= self.number:
            return None
        changed = [record for record in self._all.values() if record.number > number]
        return changed, [name for name, when in self._gone.items() if when > number]

    def folder(self, record: Record) -> str:
        """Return the folder of a session."""
        return layout.folder(self._home, record.name)

    def make_folder(self, record: Record) -> str:
        """Make a folder for the session, or take the one that was put aside; return its path."""
        path = self.folder(record)
        if path in self._litter:
            self._litter.discard(path)
            remove_folder(path)
        try:
            os.mkdir(path, mode=0o700)
        except FileExistsError:
            if _names(path) != [layout.INPUT]:
                remove_folder(path)
                os.mkdir(path, mode=0o700)
        return path

    def add(self, record: Record) -> None:
        """Take a session up whose process was spawned now; `save` writes it."""
        self._all[record.name] = record
        self._gone.pop(record.name, None)
        self.touch(record)

    def save(self, record: Record, *, first: bool = False) -> None:
        """Write the record; the first time there is none to be replaced.

        The old one is removed before the new one takes its name: renaming over it would make ext4
        write to the disk first, a thousand times slower. `load` knows the moment in between.
        """
        self.touch(record)
        path = os.path.join(self.folder(record), layout.RECORD)
        fresh = path if first else path + _NEW
        body = json.dumps(record.as_dict()).encode()
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            while body:
                body = body[os.write(descriptor, body) :]
        finally:
            os.close(descriptor)
        if not first:
            os.unlink(path)
            os.rename(fresh, path)

    def put_aside(self, record: Record) -> None:
        """Make room for the next incarnation in the folder of one that ended.

        What it printed is kept apart. Its input stays: nobody holds it any more, so it is empty,
        and making files is the slowest part of a restart.
        """
        folder = self.folder(record)
        self._all.pop(record.name, None)
        self.touch(record)
        self._gone[record.name] = record.number
        try:
            os.unlink(os.path.join(folder, layout.RECORD))
            os.rename(os.path.join(folder, layout.OUTPUT), layout.previous(self._home, record.name))
        except OSError:
            remove_folder(folder)  # not as it should be: the next one begins from nothing

    def drop_previous(self, name: str) -> None:
        """Forget what an earlier incarnation printed."""
        try:
            os.unlink(layout.previous(self._home, name))
        except OSError:
            return

    def forget(self, record: Record) -> None:
        """Remove the session's record: its folder is no one's then, and `sweep` takes it away."""
        self._all.pop(record.name, None)
        self.touch(record)
        self._gone[record.name] = record.number
        if len(self._gone) > MOST_GONE:
            self._gone.clear()
            self._forgotten_up_to = self.number
        folder = self.folder(record)
        for name in (layout.RECORD, layout.RECORD + _NEW):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, name))
        self._litter.add(folder)

    def sweep(self) -> None:
        """Remove the folders of sessions that were forgotten; nobody waits for that."""
        while self._litter:
            remove_folder(self._litter.pop())

    def last_activity(self, record: Record) -> float | None:
        """Return when the session last printed something."""
        try:
            return os.stat(os.path.join(self.folder(record), layout.OUTPUT)).st_mtime
        except OSError:
            return None

    def load(self) -> list[str]:
        """Read what an earlier keeper left; return the folders that hold no record."""
        folder = os.path.join(self._home, layout.SESSIONS)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.makedirs(os.path.join(self._home, layout.PREVIOUS), mode=0o700, exist_ok=True)
        unknown = []
        for entry in os.scandir(folder):
            path = os.path.join(entry.path, layout.RECORD)
            record = _read(path, entry.name) or _read(path + _NEW, entry.name)
            if record is None:
                unknown.append(entry.path)
            else:
                record.adopted = True
                self._all[record.name] = record
        return unknown


def remove_folder(path: str) -> None:
    """Remove a session's folder with its files, the record first."""
    for name in (layout.RECORD, *_names(path)):
        try:
            os.unlink(os.path.join(path, name))
        except FileNotFoundError:
            continue
        except OSError:  # a folder, which someone else must have put here
            import shutil  # noqa: PLC0415  never needed in a normal life

            shutil.rmtree(os.path.join(path, name), ignore_errors=True)
    try:
        os.rmdir(path)
    except OSError:
        return


def _names(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _read(path: str, name: str) -> Record | None:
    try:
        with open(path, encoding="utf-8") as file:
            saved = json.load(file)
        if saved["name"] != name:
            return None
        record = Record(name, saved["mark"], saved["work_dir"], dict(saved["meta"]))
        record.created = float(saved["created"])
        record.pid = int(saved["pid"])
        record.started = str(saved["started"])
        record.ended = saved["ended"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record
