"""Changing a user's file so that it can be given back.

Before a file is changed, what it was is written down in the city's `.gc/hooks/`, with a hash of
what it becomes and the sessions that asked for it. When the last of them is gone, a file that is
still as it was left becomes what it was, byte for byte; one that somebody changed since loses our
hooks and nothing else. A process that dies in between leaves one of the two, never a half.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from gascity.errors import GascityError
from gascity.hooks.hooked import Hooked, Untouchable

LARGEST = 8 * 1024 * 1024
PATIENCE = 10.0  # seconds for somebody else who changes the same file
_NEW_FILE = 0o600


@dataclass(frozen=True, slots=True)
class Record:
    """What was done to one file. `path` is how it was named, `target` where that leads.

    `original` is what was in it, None where it was not there; where `known` is False nobody knows.
    `written` is the SHA-256 of what it became. `made_folder` is the folder that was made for it.
    """

    backend: str
    path: str
    target: str
    original: bytes | None
    known: bool
    written: str
    made_folder: str
    sessions: tuple[str, ...]


def install(folder: str, hooks: Hooked, path: str, session: str, gc: str) -> bool:
    """Put our hooks into a file for a session; tell whether the file is another than before.

    `folder` is where records are kept, `gc` the program that the hooks call. Raises Untouchable.
    """
    parent = os.path.dirname(path)
    made = "" if os.path.isdir(parent) else parent
    try:
        os.makedirs(parent, exist_ok=True)
        target = os.path.realpath(path)
        with _locked(os.path.dirname(target)), _naming(path):
            return _install(folder, hooks, path, target, session, gc, made)
    except OSError as problem:
        raise _unusable(path, problem) from problem


def uninstall(folder: str, record: Record, hooks: Hooked, session: str = "") -> bool:
    """Take a session's hooks out of a file, or all of them; tell whether they are out now.

    They stay in for as long as another session wants them. Raises Untouchable.
    """
    try:
        with _locked(os.path.dirname(record.target)), _naming(record.path):
            found = _load(_place(folder, record.target))
            if found is None:
                return True
            left = tuple(name for name in found.sessions if session and name != session)
            if left:
                _save(folder, replace(found, sessions=left))
                return False
            _restore(found, hooks)
    except FileNotFoundError:
        pass  # its folder is gone, and the file with it
    except OSError as problem:
        raise _unusable(record.path, problem) from problem
    with contextlib.suppress(OSError):
        os.unlink(_place(folder, record.target))
    if record.made_folder:
        with contextlib.suppress(OSError):  # somebody else's files are in it
            os.rmdir(record.made_folder)
    return True


def is_unrecorded(folder: str, hooks: Hooked, path: str) -> bool:
    """Tell whether a file has hooks of ours and nothing is written down about it.

    Of a file that cannot be read that is not said.
    """
    target = os.path.realpath(path)
    if _load(_place(folder, target)) is not None:
        return False
    try:
        content = content_of(target)
        return content is not None and hooks.stripped(content) != content
    except (GascityError, OSError):
        return False


def clean(hooks: Hooked, path: str) -> None:
    """Take our hooks out of a file of which nothing is written down. Raises Untouchable."""
    target = os.path.realpath(path)
    try:
        with _locked(os.path.dirname(target)), _naming(path):
            content = content_of(target)
            becomes = None if content is None else hooks.stripped(content)
            if becomes is not None and becomes != content:
                _write(target, becomes)
    except OSError as problem:
        raise _unusable(path, problem) from problem


def records(folder: str) -> list[Record]:
    """Return what is written down, by path."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    found = [_load(os.path.join(folder, name)) for name in names if name.endswith(".json")]
    return sorted((one for one in found if one is not None), key=lambda one: one.path)


def content_of(path: str) -> bytes | None:
    """Return what is in a file, None where there is none. Raises Untouchable or OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Untouchable("it is no regular file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise Untouchable("it is too large")
    return content


def _install(
    folder: str, hooks: Hooked, path: str, target: str, session: str, gc: str, made: str
) -> bool:
    content = content_of(target)
    becomes = hooks.merged(content, gc)
    before = _load(_place(folder, target))
    if before is not None and content is not None and _hash(content) == before.written:
        original, known = before.original, before.known
    elif content is None or hooks.stripped(content) == content:
        original, known = content, True
    else:
        original, known = None, False  # ours are in it already, among what somebody wrote
    sessions = before.sessions if before is not None else ()
    record = Record(
        hooks.name,
        path,
        target,
        original,
        known,
        _hash(becomes),
        before.made_folder if before is not None and before.made_folder else made,
        tuple(sorted({*sessions, session})),
    )
    if record != before:
        _save(folder, record)
    if becomes == content:
        return False
    _write(target, becomes)
    return True


def _restore(record: Record, hooks: Hooked) -> None:
    content = content_of(record.target)
    if content is None:
        return
    was_absent = record.known and record.original is None
    if record.known and _hash(content) == record.written:
        becomes = hooks.empty if record.original is None else record.original
    else:
        becomes = hooks.stripped(content)
    if was_absent and becomes == hooks.empty:
        os.unlink(record.target)
    elif becomes != content:
        _write(record.target, becomes)


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Hold a folder of files to be changed: nobody else of ours changes one meanwhile."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + PATIENCE
        while not _taken(descriptor):
            if time.monotonic() >= until:
                raise Untouchable(f"somebody else holds {folder}", hint="try it again")
            time.sleep(0.01)  # flock cannot wait with a limit
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _naming(path: str) -> Iterator[None]:
    """Say of which file it is that it cannot be changed."""
    try:
        yield
    except Untouchable as problem:
        hint = problem.hint or "mend the file, or do without hooks"
        raise Untouchable(f"{path} is left as it is: {problem.message}", hint=hint) from None


def _unusable(path: str, problem: OSError) -> GascityError:
    if problem.errno == errno.ELOOP:
        return Untouchable(f"{path} is left as it is: its links lead nowhere")
    return Untouchable(f"{path} cannot be changed: {problem.strerror or problem}")


def _write(path: str, content: bytes) -> None:
    """Put other content into a file, all of it at once; who owns it and who may read it stays."""
    mode, owner = _NEW_FILE, None
    with contextlib.suppress(FileNotFoundError):
        was = os.stat(path)
        mode, owner = stat.S_IMODE(was.st_mode), (was.st_uid, was.st_gid)
    descriptor, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".gc-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made = os.stat(name)
        if owner is not None and owner != (made.st_uid, made.st_gid):
            os.chown(name, *owner)
        os.chmod(name, mode)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _place(folder: str, target: str) -> str:
    return os.path.join(folder, hashlib.sha256(os.fsencode(target)).hexdigest()[:16] + ".json")


def _save(folder: str, record: Record) -> None:
    original = None if record.original is None else base64.b64encode(record.original).decode()
    os.makedirs(folder, mode=0o700, exist_ok=True)
    document = {**asdict(record), "original": original, "sessions": list(record.sessions)}
    _write(_place(folder, record.target), json.dumps(document, indent=2).encode() + b"\n")


def _load(path: str) -> Record | None:
    """Return a record; None where there is none that can be read."""
    try:
        with open(path, "rb") as file:
            given = json.load(file)
        original = given.pop("original")
        given["sessions"] = tuple(given["sessions"])
        return Record(original=None if original is None else base64.b64decode(original), **given)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
