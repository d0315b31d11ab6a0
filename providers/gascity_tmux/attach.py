"""Giving a person's terminal to a session."""

from __future__ import annotations

import os
import subprocess
import sys

from gascity.errors import NotSupported
from gascity.session.tmux.panes import Pane
from gascity_tmux.server import Server


def attach(server: Server, pane: Pane, *, read_only: bool) -> int:
    """Show the session on the caller's terminal until they detach; return tmux's exit code.

    Inside a client of the same server that client is switched to it, and this returns at once.
    """
    if not (os.isatty(0) and os.isatty(1)):
        raise NotSupported(
            "there is no terminal here to give to the session",
            hint="`gc peek --follow NAME` shows what it prints",
        )
    inside = os.environ.get("TMUX", "").partition(",")[0]
    only = ["-r"] if read_only else []
    env = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    if inside and os.path.realpath(inside) == os.path.realpath(server.socket):
        words = ["switch-client", *only, "-t", pane.session]
        _say("switched to it; your prefix key and L goes back")
        return subprocess.run(server.client(*words), check=False).returncode
    nested = ", the prefix key twice because you are inside tmux already" if inside else ""
    _say(f"the prefix key (Ctrl-b unless you changed it) and d detaches{nested}")
    words = ["attach-session", "-E", *only, "-t", pane.session]
    return subprocess.run(server.client(*words), env=env, check=False).returncode


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
