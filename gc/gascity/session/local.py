"""Commands and files of a start sequence, on this machine.

What `startup.Target` asks of a provider whose sessions run here: tmux and subprocess share it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from gascity import awake
from gascity.session import overlay
from gascity.session.startup import Ran

MOST_OUTPUT = 16 * 1024  # bytes of a failed command that go into the error


class LocalFolder:
    """A work folder on this machine, and the environment of the session that is to live in it."""

    def __init__(self, work_dir: str, env: Mapping[str, str]) -> None:
        self.work_dir = work_dir
        self.env = env

    def make_work_dir(self) -> None:
        """Make the work folder unless it is there."""
        os.makedirs(self.work_dir, exist_ok=True)

    def place(self, src: str, rel_dst: str, *, overwrite: bool) -> None:
        """Copy into the work folder; raises OSError when there is no such source."""
        os.stat(src)
        overlay.place(self.work_dir, src, rel_dst, overwrite=overwrite)

    def run(self, command: str, *, timeout: float) -> Ran:
        """Run a command in a shell in the work folder; end it with its children when time is up."""
        return run_shell(command, self.work_dir, self.env, timeout=timeout)

    def run_script(self, path: str, *, timeout: float) -> Ran:
        """Run a script file: itself if it may be executed, else by the shell."""
        path = os.path.join(self.work_dir, path)
        command = shlex.quote(path) if os.access(path, os.X_OK) else f"sh {shlex.quote(path)}"
        return self.run(command, timeout=timeout)


def run_shell(command: str, work_dir: str, env: Mapping[str, str], *, timeout: float) -> Ran:
    """Run `sh -c command` with exactly this environment, and return its status and last output.

    Does not wait for what it leaves in the background, only for the command itself.
    """
    # A file, not a pipe: a background child that keeps a pipe open would keep us waiting.
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=work_dir,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                status = awake.status_of(process, timeout=timeout)
            finally:
                if process.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - MOST_OUTPUT))
        return Ran(status, output.read().decode(errors="replace").strip())
