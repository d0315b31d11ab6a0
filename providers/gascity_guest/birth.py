"""What makes a session in the guest, and what removes it.

tmux does one line without looking at anything else, so nobody ever sees a session half made. The
line goes over as a file that only the guest's user can read: an environment never stands in an
argument list.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gascity.core.model import SessionConfig
from gascity.core.observed import DRAIN, DRAINED, RESTART_REQUESTED
from gascity.errors import StartFailed
from gascity.session.command import SHELL, for_shell
from gascity.session.marks import MARK
from gascity.session.tmux import meta, naming
from gascity.session.tmux.panes import CITY, NAME, OWNER, TOKEN, VERSION, Pane
from gascity.session.tmux.shell import quote
from gascity.session.tmux.wire import command
from gascity_guest.places import Home
from gascity_guest.settings import Settings

LONGEST_WORD = 120_000  # bytes; Linux takes 128 KiB in one argument or variable
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_SHIM = f"""#!/bin/sh
# The gc inside a guest: what an agent can ask and say about itself, through its own tmux.
run=${{GC_RUN:-}} at=${{TMUX_PANE:-}}
asked() {{ [ "$(tmux show-environment -t "$at" {DRAIN} 2>/dev/null)" = "{DRAIN}=$run" ]; }}
tell() {{
  tmux set-environment -t "$at" "$1" "$run" \\; \\
    set-environment -t "$at" {VERSION} "$run-$1" || exit 1
}}
quiet=
case "${{2:-}}" in -q|--quiet) quiet=1;; esac
case "${{1:-}}" in
  drain-check)
    if asked; then [ -n "$quiet" ] || echo drain; exit 0; fi
    [ -n "$quiet" ] || echo "go on"
    exit 1;;
  drain-ack)
    asked || {{ echo "error: $GC_AGENT was not asked to drain" >&2; exit 1; }}
    tell {DRAINED}
    echo "$GC_AGENT: has drained; it is stopped soon";;
  request-restart)
    ! asked || {{ echo "error: $GC_AGENT is asked to drain, so it is not replaced" >&2; exit 1; }}
    tell {RESTART_REQUESTED}
    echo "$GC_AGENT: run $run is to be replaced";;
  *)
    echo "error: inside a guest gc knows drain-check, drain-ack and request-restart" >&2
    exit 2;;
esac
"""
_PREPARE = """(umask 077
mkdir -p {given} {sessions} {programs} || exit 4
[ -e {programs}/gc ] || {{
  cat >{programs}/gc.$$ <<'GC_SHIM'
{shim}GC_SHIM
  chmod 755 {programs}/gc.$$ && mv {programs}/gc.$$ {programs}/gc; }}
) || exit 4
"""
_MAKE = """trap 'rm -f {line}' EXIT
mask=$(umask); umask 077
: >{trace} || exit 4
term=screen-256color
for one in /usr/share/terminfo /lib/terminfo /etc/terminfo /usr/lib/terminfo; do
  [ ! -e "$one/t/tmux-256color" ] || term=tmux-256color
done
set --
for one in PATH HOME USER LOGNAME LANG TZ; do
  eval "value=\\${{$one-}}"
  [ -z "$value" ] || set -- "$@" "$one=$value"
done
umask "$mask"
env -i "$@" tmux -u -S {socket} -f /dev/null start-server \\; \\
  set-option -s exit-empty off \\; set-option -s exit-unattached off \\; \\
  set-option -g update-environment '' \\; set-option -g default-terminal "$term" \\; \\
  set-option -g history-limit {history} \\; set-option -gq remain-on-exit-format '' 2>&1
PATH={path} tmux -u -S {socket} source-file - <{line} 2>&1
"""
_REMOVE = """rm -f {traces}
case "$(tmux -u -S {socket} display-message -p '#{{S:x}}' 2>&1)" in
  ''|*'no server running'*|*'(No such file or directory)'*|*'(Connection refused)'*)
    tmux -u -S {socket} if-shell -F '#{{==:#{{S:x}},}}' kill-server 2>/dev/null
    # Whoever makes a session has left a trace before.
    rmdir {sessions} 2>/dev/null && rm -rf {home} ;;
esac
:"""


@dataclass(frozen=True, slots=True)
class Birth:
    """One session to be made. `script` is a file of the guest that holds a command too long."""

    name: str
    config: SessionConfig
    env: Mapping[str, str]
    work_dir: str
    city: str
    city_mark: str
    mark: str
    token: str
    script: str = ""

    @property
    def target(self) -> str:
        """The session, exactly: tmux would else take any whose name begins like it."""
        return f"={naming.session_name(self.name)}:"

    @property
    def pane(self) -> str:
        """Its first pane."""
        return f"{self.target}^.{{top-left}}"


def check(name: str, env: Mapping[str, str]) -> None:
    """Refuse what no program could be started with; raises StartFailed."""
    for key, value in env.items():
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise StartFailed(f"session {name}: {key!r} cannot be a variable")
        if len(os.fsencode(value)) > LONGEST_WORD:
            raise StartFailed(
                f"session {name}: variable {key} is longer than {LONGEST_WORD} bytes, which is more"
                " than a program can be given"
            )


def is_long(text: str) -> bool:
    """Tell whether a command has to be run from a file."""
    return len(os.fsencode(text)) > LONGEST_WORD


def prepare_script(home: Home) -> str:
    """Return what makes the city's folder in the guest, with the `gc` that agents find."""
    return _PREPARE.format(
        given=quote(home.given),
        sessions=quote(home.sessions),
        programs=quote(home.programs),
        shim=_SHIM,
    )


def make_script(birth: Birth, home: Home, settings: Settings, line: str) -> str:
    """Return what starts the city's tmux unless it runs, and has it read a file of commands."""
    path = quote(birth.env["PATH"]) if birth.env.get("PATH") else f'"$PATH:"{quote(home.programs)}'
    return _MAKE.format(
        line=quote(line),
        trace=quote(f"{home.sessions}/{birth.name}"),
        socket=quote(home.socket),
        history=settings.history,
        path=path,
    )


def remove_script(home: Home, names: list[str]) -> str:
    """Return what forgets sessions that are gone, and ends the tmux that has none any more."""
    return _REMOVE.format(
        traces=" ".join(quote(f"{home.sessions}/{name}") for name in names),
        socket=quote(home.socket),
        sessions=quote(home.sessions),
        home=quote(home.path),
    )


def line(birth: Birth, settings: Settings, *, replaced: Pane | None = None) -> str:
    """Return the commands that make the session, in place of one that ended."""
    target, pane = birth.target, birth.pane
    commands = []
    if replaced is not None:
        commands.append(replaced.only(command("kill-session", "-t", replaced.session)))
    shell = birth.env.get("SHELL", "")
    shell = shell if os.path.isabs(shell) else SHELL
    commands += [
        _new_session(birth, settings),
        # A pane with a pipe is read to its end before it is closed.
        command("pipe-pane", "-O", "-t", pane, "exec cat >/dev/null"),
        command("set-option", "-p", "-t", pane, CITY, birth.city_mark),
        command("set-option", "-p", "-t", pane, NAME, birth.name),
        command("set-option", "-p", "-t", pane, TOKEN, birth.token),
        command("set-option", "-t", target, OWNER, birth.city_mark),
        command("set-option", "-w", "-t", target, "remain-on-exit", "on"),
        command("set-option", "-w", "-t", target, "window-size", "latest"),
        command("set-option", "-t", target, "destroy-unattached", "off"),
        command("set-option", "-t", target, "status-format[0]", _status(birth)),
        *(meta.unset_command(target, key) for key in [*birth.env, MARK]),
        *(meta.set_command(target, key, value) for key, value in birth.config.meta.items()),
        meta.set_command(target, VERSION, birth.token),
    ]
    return " ; ".join([command("set-option", "-g", "default-shell", shell), *commands])


def _new_session(birth: Birth, settings: Settings) -> str:
    env = {**birth.env, MARK: birth.mark}
    given = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
    folder = birth.work_dir.replace("#", "##")  # tmux takes the folder for a format
    name = naming.session_name(birth.name)
    size = ["-x", str(settings.width), "-y", str(settings.height)]
    words = ("new-session", "-d", "-E", "-s", name, "-n", "agent", *size, "-c", folder, *given)
    program = [SHELL, birth.script] if birth.script else [SHELL, "-c", _command(birth)]
    return command(*words, "--", *program)


def _command(birth: Birth) -> str:
    return for_shell(birth.config.command)


def _status(birth: Birth) -> str:
    agent = birth.config.meta.get("GC_AGENT", birth.name)
    city, name = (text.replace("#", "##") for text in (birth.city, agent))
    return f"#[align=left] {city} | {name} #[align=right] #{{prefix}} d detaches "
