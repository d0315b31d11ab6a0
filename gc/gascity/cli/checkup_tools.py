"""What `gc doctor` looks at in a city and outside: the programs of the machine.

Each is asked for its version and for nothing else. Nobody is asked over the network, so whether
somebody is logged in to what `gh` talks to is not known here.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess

from gascity.cli.finding import Finding
from gascity.errors import GascityError

PATIENCE = 5.0  # seconds in which a program says its version
OLDEST_GIT = (2, 31)  # the first that tells which worktrees are locked
_OFFLINE = {"GH_NO_UPDATE_NOTIFIER": "1", "GH_TELEMETRY": "0"}  # gh would call home
_LONGEST = 200  # characters shown of what a program said
_DEMO = "demo"  # it comes with gc, and does no work


def tools() -> list[Finding]:
    """Return how it stands with git, and with gh, which nobody has to have."""
    return [_git(), _gh()]


def backends() -> list[Finding]:
    """Return which built-in backends one-shot runs find on the PATH; those without a command not.

    None is needed: `gc run -- COMMAND` does with any program.
    """
    from gascity.config.oneshots import built_in

    commands = {one.name: one.run.command[0] for one in built_in().values() if one.run}
    found = {name: path for name, command in commands.items() if (path := shutil.which(command))}
    findings = [Finding(f"backend {name}", fine=True, says=path) for name, path in found.items()]
    if found.keys() - {_DEMO}:
        return findings
    missing = ", ".join(name for name in commands if name != _DEMO)
    return [*findings, Finding("backends", fine=True, says=f"none of {missing} is on the PATH")]


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        says = "git is not on the PATH; `gc solve` needs it for the worktrees of its agents"
        return Finding("git", fine=False, says=says)
    try:
        version = _version("git", path)
    except GascityError as problem:
        return Finding("git", fine=False, says=problem.message)
    if tuple(map(int, re.findall(r"[0-9]+", version)[:2])) < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        says = f"{version} at {path} is older than {oldest}, which `gc solve` needs for worktrees"
        return Finding("git", fine=False, says=says)
    return Finding("git", fine=True, says=f"{version} at {path}")


def _gh() -> Finding:
    without = "`gc solve` takes an issue as a file"
    path = shutil.which("gh")
    if path is None:
        return Finding("gh", fine=True, says=f"not installed; {without}")
    try:
        version = _version("gh", path)
    except GascityError as problem:
        return Finding("gh", fine=True, says=f"{problem.message}; {without}")
    return Finding("gh", fine=True, says=f"{version} at {path}")


def _version(program: str, path: str) -> str:
    """Return the version that a program says it has. Raises GascityError where it says none."""
    from gascity.cli.overview import one_line

    try:
        code, said = _answer(path)
    except OSError as problem:
        raise GascityError(f"{path} cannot be run: {problem.strerror}") from problem
    except subprocess.TimeoutExpired as problem:
        why = f"`{path} --version` did not end within {problem.timeout:g} s"
        raise GascityError(why) from problem
    words = f": {one_line(said)[:_LONGEST]}" if said.strip() else ""
    if code:
        how = f"ended with {code}" if code > 0 else f"was killed by signal {-code}"
        raise GascityError(f"`{path} --version` {how}{words}")
    found = re.search(rf"^{program} version (\d+\.\d+[\w.+-]*)", said, re.ASCII | re.MULTILINE)
    if found is None:
        raise GascityError(f"`{path} --version` names no version{words}")
    return found[1]


def _answer(path: str) -> tuple[int, str]:
    """Return the exit code of `path --version` and all that it said.

    It is ended, and what it began too, when it takes too long: then it raises TimeoutExpired.
    """
    with subprocess.Popen(
        [path, "--version"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # no file: the disk may be full, which is why a person asks
        stderr=subprocess.STDOUT,
        env={**os.environ, **_OFFLINE},
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said.decode("utf-8", "replace")
