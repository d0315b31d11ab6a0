"""Keys and texts as commands for tmux.

A pane that a person scrolled back in (copy mode) takes every key for itself, so it is brought out
of that first. Text goes through a buffer of its own and is pasted: nothing in it is a key.
"""

from __future__ import annotations

import os
import re

from gascity.errors import NotSupported
from gascity.session.tmux.wire import command

_NAMED = re.compile(
    r"(?:[CMS]-)*(?:Enter|Tab|BTab|Space|Escape|BSpace|Up|Down|Left|Right|Home|End|PageUp|PgUp|PPage"
    r"|PageDown|PgDn|NPage|IC|Insert|DC|Delete|F(?:[1-9]|1[0-2])|[!-~])"
)


def keys_line(pane: str, keys: list[str]) -> str:
    """Return the commands that press keys; raises NotSupported for what is none."""
    presses = []
    for key in keys:
        if len(key) == 1:
            presses.append(command("send-keys", "-t", pane, "-l", "--", key))
        elif _NAMED.fullmatch(key):
            presses.append(command("send-keys", "-t", pane, "--", key))
        else:
            raise NotSupported(
                f"there is no key {key}",
                hint="named keys are Enter, Escape, Up, F1, C-c and the like; or one character",
            )
    return " ; ".join([leave_mode(pane), *presses])


def paste_line(pane: str, text: str, buffer: str) -> str:
    """Return the commands that paste a text, marked as a paste where the program asked for that."""
    return " ; ".join(
        [
            leave_mode(pane),
            command("set-buffer", "-b", buffer, "--", text),
            command("paste-buffer", "-p", "-d", "-b", buffer, "-t", pane),
        ]
    )


def new_buffer() -> str:
    """Return a name that no other buffer has."""
    return f"gc-{os.urandom(8).hex()}"


def leave_mode(pane: str) -> str:
    """Return the command that ends copy mode, and does nothing where there is none."""
    return command("copy-mode", "-q", "-t", pane)
