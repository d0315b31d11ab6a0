"""The line of commands that makes a session: all of it at once, or nothing.

tmux does one line without looking at anything else, so nobody ever sees a session half made: not
without its mark and its metadata, and not gone because its command ended before it was told to keep
what is left. The environment goes over the control connection, never through an argument list.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from gascity.core.model import SessionConfig
from gascity.errors import StartFailed
from gascity.session import command as command_line
from gascity.session.marks import MARK
from gascity.session.tmux import meta
from gascity.session.tmux.panes import CITY, NAME, OWNER, TOKEN, VERSION, Pane
from gascity.session.tmux.wire import command
from gascity_tmux import layout
from gascity_tmux.settings import Settings

LONGEST_WORD = 120_000  # bytes; Linux takes 128 KiB in one argument or variable
_SHELL = command_line.SHELL


@dataclass(frozen=True, slots=True)
class Birth:
    """One session to be made. `script` is a file that holds its command, where that is too long."""

    name: str
    config: SessionConfig
    city: str
    city_mark: str
    mark: str
    token: str
    script: str = ""

    @property
    def target(self) -> str:
        """The session, exactly: tmux would else take any whose name begins like it."""
        return f"={layout.session_name(self.name)}:"

    @property
    def pane(self) -> str:
        """Its first pane: a person's hook may have split it by the time it is spoken of."""
        return f"{self.target}^.{{top-left}}"


def check(name: str, config: SessionConfig) -> None:
    """Refuse what no program could be started with; raises StartFailed."""
    if not os.path.isdir(config.work_dir):
        raise StartFailed(f"session {name}: there is no folder {config.work_dir}")
    for key, value in config.env.items():
        if not key or "=" in key or "\0" in key + value:
            raise StartFailed(f"session {name}: {key!r} cannot be a variable")
        if len(os.fsencode(value)) > LONGEST_WORD:
            raise StartFailed(
                f"session {name}: variable {key} is longer than {LONGEST_WORD} bytes, which is more"
                " than a program can be given"
            )


def is_long(text: str) -> bool:
    """Tell whether a command has to be run from a file."""
    return len(os.fsencode(text)) > LONGEST_WORD


def line(birth: Birth, settings: Settings, *, replaced: Pane | None = None) -> str:
    """Return the commands that make the session, in place of one that ended."""
    target = birth.target
    commands = []
    if replaced is not None:
        own = layout.session_name(birth.name)
        aside = command("rename-session", "-t", replaced.session, _aside(birth, replaced))
        commands += [
            replaced.only(aside, in_session=own),
            replaced.only(command("set-option", "-pu", "-t", replaced.id, CITY)),
        ]
    commands += [
        command("set-option", "-g", "default-shell", _shell(birth.config)),
        _new_session(birth, settings),
        # A pane with a pipe is read to its end before it is closed. Without one tmux drops what it
        # has not read yet when it hears that the program ended.
        command("pipe-pane", "-O", "-t", birth.pane, "exec cat >/dev/null"),
        command("set-option", "-p", "-t", birth.pane, CITY, birth.city_mark),
        command("set-option", "-p", "-t", birth.pane, NAME, birth.name),
        command("set-option", "-p", "-t", birth.pane, TOKEN, birth.token),
        command("set-option", "-t", target, OWNER, birth.city_mark),
        command("set-option", "-w", "-t", target, "remain-on-exit", "on"),
        command("set-option", "-w", "-t", target, "window-size", "latest"),
        command("set-option", "-t", target, "destroy-unattached", "off"),
        command("set-option", "-t", target, "default-shell", _shell(birth.config)),
        *(command("set-option", "-t", target, key, value) for key, value in _status(birth).items()),
        *(meta.unset_command(target, key) for key in _env(birth)),
        *(meta.set_command(target, key, value) for key, value in birth.config.meta.items()),
        meta.set_command(target, VERSION, birth.token),
    ]
    return " ; ".join(commands)


def farewell_lines(birth: Birth, replaced: Pane, clients: Sequence[str]) -> list[str]:
    """Return the commands that remove a session that was replaced, each on its own.

    Who looks at it stays and sees the new one, unless they leave this moment.
    """
    switches = [command("switch-client", "-c", one, "-t", birth.target) for one in clients]
    session = command("kill-session", "-t", replaced.session)
    return [
        *switches,
        replaced.only(session, in_session=_aside(birth, replaced)),
        replaced.only(command("kill-pane", "-t", replaced.id)),  # where it is somebody else's
    ]


def _aside(birth: Birth, replaced: Pane) -> str:
    return f"gc-ended-{replaced.session.lstrip('$')}-{birth.token}"


def aside_line(birth: Birth) -> str:
    """Return the command that makes room where an agent's pane was closed and others were kept.

    The session is ours by its mark, and what is left in it is somebody's: it gets another name.
    """
    name = layout.session_name(birth.name)
    rename = command("rename-session", "-t", birth.target, f"{name}-kept-{birth.token}")
    ours = f"#{{==:#{{{OWNER}}},{birth.city_mark}}}"
    return command("if-shell", "-F", "-t", birth.target, ours, rename)


def _new_session(birth: Birth, settings: Settings) -> str:
    env = [word for key, value in _env(birth).items() for word in ("-e", f"{key}={value}")]
    # tmux takes the folder for a format.
    folder = os.path.abspath(birth.config.work_dir).replace("#", "##")
    name = layout.session_name(birth.name)
    size = ["-x", str(settings.width), "-y", str(settings.height)]
    words = ("new-session", "-d", "-E", "-s", name, "-n", "agent", *size, "-c", folder, *env)
    return command(*words, "--", *_words(birth))


def _env(birth: Birth) -> dict[str, str]:
    return {**birth.config.env, MARK: birth.mark}


def _words(birth: Birth) -> list[str]:
    """Return the program and its arguments; never one word, which tmux would give to a shell."""
    if birth.script:
        return [_SHELL, birth.script]
    config = birth.config
    path, words = command_line.words(config.command, config.work_dir, config.env)
    if len(words) == 1:
        return [_SHELL, "-c", f"exec {path}"]
    return [path, *words[1:]]


def _shell(config: SessionConfig) -> str:
    """Return what SHELL is to be in the session: tmux sets it to its own option."""
    wanted = config.env.get("SHELL", "")
    return wanted if os.path.isabs(wanted) and os.access(wanted, os.X_OK) else _SHELL


def _status(birth: Birth) -> dict[str, str]:
    """Return the status line: city, agent, state, and how to leave."""
    city, name = (text.replace("#", "##") for text in (birth.city, _agent(birth)))
    ended = "ended#{?pane_dead_status, (#{pane_dead_status}),}"
    state = f"#{{?pane_dead,{ended},#{{?GC_DRAIN,draining,#{{?GC_STARTING,starting,running}}}}}}"
    right = "#[align=right] #{prefix} d detaches "
    # One option for the whole line: tmux looks at every session whenever one is set.
    line = f"#[align=left] {city} | {name} | {state} {right}"
    return {"status": "on", "status-format[0]": line}


def _agent(birth: Birth) -> str:
    return birth.config.meta.get("GC_AGENT", birth.name)
