"""Files of any size and any bytes, in both directions, in pieces through `exec`.

The methods for files take text of a few megabytes. Here bytes travel as base64 with the small
tools that every system has. What arrives is put in its place in one step, or not at all.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO

from gascity import jsonrpc
from gascity.errors import GascityError, RemoteError, Unanswered
from gascity.guest.client import Client, ExecResult

SENT = 72 * 1024  # bytes a piece: as base64, below what Linux takes in one argument
FETCHED = 384 * 1024  # bytes a piece: as base64, below what a guest returns of an output
_LEAST = 1024
_STAT = re.compile(r"[0-9]{1,18} [0-7]{1,5} [0-9]+ -?[0-9]+")
TRUNCATED = "\n... [output truncated]"

_BEGIN = r"""
to={to}
if [ -d "$to" ]; then to=${{to%/}}/{name}; fi
[ ! -d "$to" ] || {{ echo "$to is a folder" >&2; exit 4; }}
[ ! -e "$to" ] || [ -f "$to" ] || {{ echo "$to is no regular file" >&2; exit 4; }}
case "$to" in */*) folder=${{to%/*}} ;; *) folder=. ;; esac
mkdir -p "${{folder:-/}}" && umask 077 && part=$(mktemp "${{folder:-/}}/.gc-part-XXXXXX") || exit 4
printf '%s\n' "$part"
"""
_END = r"""
to={to} part={part}
if [ -d "$to" ]; then to=${{to%/}}/{name}; fi
size=$(wc -c <"$part")
[ "$size" -eq {size} ] || {{ echo "only $size bytes arrived" >&2; exit 4; }}
chmod {mode:o} "$part" && mv -f "$part" "$to"
"""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched: its size in bytes and its permissions."""

    size: int
    mode: int


def send(
    client: Client,
    source: IO[bytes],
    path: str,
    *,
    mode: int = 0o644,
    name: str = "",
    deadline: float | None = None,
) -> int:
    """Put all that can be read into a file of the guest; return how much that was.

    Folders on the way are made; where `path` is a folder, the file is called `name` in it. Raises
    RemoteError when the guest cannot do it, else as the client does, and leaves nothing then.
    """
    names = {"to": _word(path), "name": shlex.quote(name or "unnamed")}
    part = _done(client, _BEGIN.format(**names), deadline).stdout.removesuffix("\n")
    quoted = shlex.quote(part)
    size = 0
    try:
        while piece := source.read(SENT):
            text = base64.b64encode(piece).decode()
            _done(client, f"printf %s {text} | base64 -d >>{quoted}", deadline)
            size += len(piece)
        _done(client, _END.format(**names, part=quoted, size=size, mode=mode & 0o7777), deadline)
    except BaseException:  # an interrupt too: what is raised tells it all
        _forget(client, f"rm -f {quoted}")
        raise
    return size


def send_unseen(
    client: Client, data: bytes, path: str, part: str, *, deadline: float | None = None
) -> None:
    """Put a few bytes into a file that only the guest's user can read, through no argument list.

    They go by way of `part`, which has to be the same file for `write_file` and for a shell.
    Raises RemoteError when the guest cannot do it, else as the client does.
    """
    to, by = _word(path), _word(part)
    text = base64.b64encode(data).decode()
    make = f"umask 077; mkdir -p {_word(os.path.dirname(path) or '.')} && : >{by}"
    try:
        _done(client, make, deadline)
        client.write_file(part, text, timeout=_limit(client, deadline))
        _done(client, f"umask 077; base64 -d <{by} >{to} && rm -f {by}", deadline)
    except BaseException:  # an interrupt too: what is raised tells it all
        _forget(client, f"rm -f {by}")
        raise


def fetch(
    client: Client,
    path: str,
    write: Callable[[bytes], object],
    *,
    deadline: float | None = None,
    largest: int | None = None,
) -> Fetched:
    """Hand all bytes of a regular file of the guest to `write`, in order.

    Raises RemoteError when there is no such file, when it is larger than the `largest` that is
    wanted, or changes meanwhile; else as the client does.
    """
    quoted = _word(path)
    ask = f"[ -f {quoted} ] || {{ echo {quoted} is no file >&2; exit 4; }}; "
    look = f"stat -L -c '%s %a %i %Y' {quoted}"
    before = _done(client, ask + look, deadline).stdout.split()
    if not _STAT.fullmatch(" ".join(before)):
        raise RemoteError(f"the guest does not tell the size of {path}", code=jsonrpc.FAILED)
    size, mode = int(before[0]), int(before[1], 8)
    if largest is not None and size > largest:
        raise RemoteError(f"{path} is larger than {largest} bytes", code=jsonrpc.FAILED)
    done, most = 0, FETCHED
    while done < size:
        count = min(most, size - done)
        said = _done(
            client, f"tail -c +{done + 1} {quoted} | head -c {count} | base64", deadline
        ).stdout
        if said.endswith(TRUNCATED) and most > _LEAST:
            most //= 4  # this guest returns less than others
            continue
        piece = _decoded(said)
        if len(piece) != count:
            raise _changed(path)
        write(piece)
        done += count
    # What the kernel makes up, as in /proc, tells no size.
    more = f"tail -c +{size + 1} {quoted} | head -c 1 | base64; {look}"
    if _done(client, more, deadline).stdout.split() != before:
        raise _changed(path, "has another size than it tells, or ")
    return Fetched(size, mode)


def _word(path: str) -> str:
    """Return a path as one word of a shell, which no tool takes for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def _changed(path: str, other: str = "") -> RemoteError:
    return RemoteError(f"{path} {other}changed while it was read", code=jsonrpc.FAILED)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _done(client: Client, script: str, deadline: float | None) -> ExecResult:
    done = client.exec(script, timeout=_limit(client, deadline))
    if done.exit_code != 0:
        why = done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"]
        raise RemoteError(why[-1], code=jsonrpc.FAILED)
    return done


def _limit(client: Client, deadline: float | None) -> float:
    limit = client.timeout
    if deadline is not None:
        limit = min(limit, deadline - time.monotonic())
        if limit <= 0:
            raise Unanswered(f"the guest at {client.address} was not done in time")
    return limit


def _forget(client: Client, script: str) -> None:
    try:
        client.exec(script, timeout=min(client.timeout, 5.0))
    except GascityError:
        return  # it does not answer: what is raised already says more
