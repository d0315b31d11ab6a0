"""Where things lie on disk, and the words the provider and the keeper share.

`.gc/subprocess/` holds `keeper.lock`, `keeper.sock`, `keeper.log`, `sessions/NAME/` with
`session.json`, `output.log` and `stdin`, and `previous/NAME` with the output of the incarnation
that the present one replaced.
"""

from __future__ import annotations

import os

KEEPER = "GC_KEEPER"  # in the environment of a keeper: it belongs to no session

UNTIL = "until"  # in the parameters of a call: when its caller gives up, as monotonic time

LOCK = "keeper.lock"
SOCKET = "keeper.sock"
LOG = "keeper.log"
SESSIONS = "sessions"
PREVIOUS = "previous"
RECORD = "session.json"
OUTPUT = "output.log"
INPUT = "stdin"
SCRIPT = "command.sh"

# Why the keeper says no, in the `kind` of an error's data.
EXISTS = "exists"
NOT_FOUND = "not_found"
NOT_STARTED = "not_started"
SURVIVED = "survived"


def home(state_dir: str) -> str:
    """Return the provider's own folder in a city's state folder."""
    return os.path.join(os.path.abspath(state_dir), "subprocess")


def folder(home: str, name: str) -> str:
    """Return the folder of a session."""
    return os.path.join(home, SESSIONS, name)


def previous(home: str, name: str) -> str:
    """Return the file that holds what the last incarnation printed."""
    return os.path.join(home, PREVIOUS, name)


def mark(home: str, name: str, token: str) -> str:
    """Return the mark of one incarnation of a session."""
    return f"{folder(home, name)}#{token}"


def is_name(name: str) -> bool:
    """Tell whether this can be the name of a session, and so of a folder."""
    plain = name.replace("-", "").replace("_", "")
    return 0 < len(name) <= 200 and name.isascii() and (plain == "" or plain.isalnum())
