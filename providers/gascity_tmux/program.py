"""The tmux program on this machine: where it is, which version, which terminal it can be."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess

from gascity.errors import ProviderUnavailable

OLDEST = (3, 2)


@functools.cache
def version() -> tuple[int, int] | None:
    """Return the version of the tmux on the PATH; None when there is none, or none that runs."""
    program = shutil.which("tmux")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-V"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return read_version(done.stdout)


def read_version(text: str) -> tuple[int, int] | None:
    """Return the version in what `tmux -V` prints: `tmux 3.3a`, `tmux next-3.6`, `tmux master`."""
    word = text.strip().rpartition(" ")[2]
    if word == "master":
        return (99, 0)
    found = re.match(r"(?:next-)?(\d+)\.(\d+)", word)  # `3.3a`, `3.5-rc2`
    return (int(found[1]), int(found[2])) if found else None


def path() -> str:
    """Return where tmux is; raises ProviderUnavailable when it is nowhere."""
    found = shutil.which("tmux")
    if found is None:
        raise ProviderUnavailable("tmux is not on the PATH any more")
    return found


def terminal() -> str:
    """Return the terminal that programs are to see: the better one where it is described."""
    places = ("/usr/share/terminfo", "/lib/terminfo", "/etc/terminfo", "/usr/lib/terminfo")
    known = any(os.path.exists(f"{place}/t/tmux-256color") for place in places)
    return "tmux-256color" if known else "screen-256color"
