"""Bringing one session's program to life.

The shell runs the command in a session and process group of its own, with exactly the environment
given plus the keeper's mark, all signals as at the start of the world. Its input is a named pipe
which it holds open for writing too, so it never sees an end; its output is appended to a file.
Neither needs the keeper, so the program lives on without it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping

from gascity.session import command as command_line
from gascity.session.marks import MARK
from gascity_subprocess import layout

LONGEST_WORD = 100_000  # Linux takes 128 KiB in one argument
_SIGNALS = [s for s in signal.valid_signals() if s not in (signal.SIGKILL, signal.SIGSTOP)]


def spawn(folder: str, command: str, work_dir: str, env: Mapping[str, str], mark: str) -> int:
    """Start the command, with its files in the new `folder`, and return its pid.

    Raises OSError when the folder cannot be entered or the program cannot be run, and ValueError
    when a name or a value cannot be passed to a program.
    """
    path, words = _words(folder, command, work_dir, env)
    with contextlib.suppress(FileExistsError):  # that of the incarnation before
        os.mkfifo(os.path.join(folder, layout.INPUT), 0o600)
    os.chdir(work_dir)  # the keeper has one thread, and posix_spawn has no folder to give
    try:
        return os.posix_spawn(
            path,
            words,
            {**env, MARK: mark},
            file_actions=_files(folder),
            setsid=True,
            setsigmask=[],
            setsigdef=_SIGNALS,
        )
    finally:
        os.chdir("/")


def _files(folder: str) -> list[tuple[int, int, str, int, int] | tuple[int, int, int]]:
    stdin, stdout = os.path.join(folder, layout.INPUT), os.path.join(folder, layout.OUTPUT)
    return [
        (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDWR, 0),
        (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]


def _words(
    folder: str, command: str, work_dir: str, env: Mapping[str, str]
) -> tuple[str, list[str]]:
    if len(os.fsencode(command)) <= LONGEST_WORD:
        return command_line.words(command, work_dir, env)
    path = os.path.join(folder, layout.SCRIPT)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb") as file:
        # The shell has the file open by then: the command need not stay on disk.
        file.write(b'/bin/rm -f -- "$0"\n' + os.fsencode(command))
    return command_line.SHELL, [command_line.SHELL, path]
