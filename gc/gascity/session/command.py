"""How a command line is run: by the shell, unless that would do nothing but wait.

`sh -c 'agent --flag'` leaves a shell waiting beside the agent, which costs memory and turns "killed
by signal 9" into "exited with 137". Where the command is one plain program the shell is told to
`exec` it; where it also has plain arguments and is found on the PATH, no shell is needed at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# What the shell itself does, or what begins something longer: never a program to be replaced by.
SHELL = "/bin/sh"
_OWN_WORDS = """
    . : [ [[ { ! alias bg bind break builtin caller case cd chdir command compgen complete
    compopt continue coproc declare dirs disown do done echo elif else enable esac eval exec
    exit export false fc fg fi for function getopts hash help history if in jobs kill let
    local logout mapfile popd printf pushd pwd read readarray readonly return select set
    shift shopt source suspend test then time times trap true type typeset ulimit umask
    unalias unset until wait while
"""
_OWN = frozenset(_OWN_WORDS.split())
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-")
_PLAIN = _WORD | frozenset(",:=@%^ ")  # arguments the shell would hand on as they are
_LONGER = frozenset(";&|()<>`\n\\")  # outside of quotes: more than one plain program


def words(command: str, work_dir: str, env: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the file to run and its arguments, the first being its own name."""
    if _PLAIN.issuperset(command) and for_shell(command) != command:
        found = command.split()
        path = _on_path(found[0], work_dir, env.get("PATH", ""))
        if path:
            return path, found
    return SHELL, [SHELL, "-c", for_shell(command)]


def _on_path(program: str, work_dir: str, folders: str) -> str:
    """Return the file that the shell would run, or nothing when only the shell can tell."""
    if "/" in program:
        return ""
    for folder in folders.split(os.pathsep):
        path = os.path.join(work_dir, folder, program)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path if _is_binary(path) else ""
    return ""


def _is_binary(path: str) -> bool:
    """Tell whether the kernel can run it; a script without `#!` takes a shell."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def for_shell(command: str) -> str:
    """Return the command to hand to `sh -c`: the same, with `exec` where that changes nothing."""
    first = command.split(maxsplit=1)[:1]
    if not first or first[0] in _OWN or not _WORD.issuperset(first[0]):
        return command
    return command if _is_longer(command) else f"exec {command}"


def _is_longer(command: str) -> bool:
    """Tell whether something outside of quotes, or a `$(` anywhere, could make it more."""
    quote = ""
    for char in command:
        if quote:
            if char == quote:
                quote = ""
            elif quote == '"' and char in "`\\":
                return True
        elif char in "'\"":
            quote = char
        elif char in _LONGER:
            return True
    return quote != ""
