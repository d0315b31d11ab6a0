"""What a run leaves behind, whatever became of it: five files, all there and none torn.

`output.md` is the agent's own where it wrote one; else it is the answer that is found in what the
agent printed; else what it printed, as it is. Where there is no room for a copy of that, it is the
same file by another name: a run whose end is not written down would be worse.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from gascity.core.fingerprint import conceal
from gascity.core.oneshot import Format
from gascity.runs.folder import (
    OUTPUT,
    PROMPT,
    STDERR,
    STDOUT,
    RunFolder,
    make_way,
    open_file,
)
from gascity.runs.streams import text_of
from gascity.screens.sequences import without_sequences

_TAIL = 64 * 1024  # bytes of a file that are looked at for its last lines


def complete(folder: RunFolder, form: Format = Format.TEXT) -> None:
    """Make the files that are missing, also where something else has their name. Raises OSError."""
    folder.make()  # an agent may have removed all of it
    for name in (PROMPT, STDOUT, STDERR):
        if not folder.has(name):
            make_way(folder.file(name))
            os.close(os.open(folder.file(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    if not folder.has(OUTPUT):
        try:
            _answer(folder, form)
        except OSError:
            make_way(folder.file(OUTPUT))
            os.link(folder.file(STDOUT), folder.file(OUTPUT))


def last_lines(folder: RunFolder, name: str, count: int, secrets: Sequence[str] = ()) -> str:
    """Return the last lines of a file, as text without these; nothing where there is none."""
    return "\n".join(tail(folder.file(name), _TAIL, secrets).splitlines()[-count:])


def tail(path: str, size: int, secrets: Sequence[str] = ()) -> str:
    """Return about the last `size` bytes of a file, as text without any part of these secrets.

    Nothing in it colours a terminal or moves its cursor. Empty where there is no such file.
    """
    longest = max((len(secret.encode("utf-8", "replace")) for secret in secrets), default=0)
    try:
        with open_file(path) as file:
            before = os.fstat(file.fileno()).st_size - size - longest
            file.seek(max(before, 0))
            text = file.read(size + longest).decode("utf-8", "replace")
    except OSError:
        return ""
    # A secret in two colours is one only without them. At the very beginning may be the rest of
    # one, which is no copy of it.
    return conceal(without_sequences(text), secrets)[longest if before > 0 else 0 :]


def _answer(folder: RunFolder, form: Format) -> None:
    """Write `output.md`, whole or not at all."""
    with folder.writing(OUTPUT) as output:
        parts = text_of(form, folder.file(STDOUT))
        if parts is None:
            with open_file(folder.file(STDOUT)) as printed:
                shutil.copyfileobj(printed, output, 1 << 20)
        else:
            output.writelines(part.encode("utf-8", "replace") for part in parts)
