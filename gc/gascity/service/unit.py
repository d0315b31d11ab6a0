r"""The text of a systemd user unit, and what is read from one. Pure.

`KillMode=process` is what it is all about: a stop or a restart of the unit ends the controller
alone, and leaves the agents, their tmux server and their keeper running, which live in the unit's
control group. `OOMPolicy=continue` does the same for an agent that took too much memory.

Each key has its own way of quoting. Where words are split (`ExecStart`, `Environment`), quotes,
backslashes and blanks count; a `%` is doubled everywhere, a `$` only in arguments. A path that is
the rest of a line is taken as it stands, but a backslash at its end would join the next line.
"""

from __future__ import annotations

import re

from gascity.errors import Exit
from gascity.service.declared import ENV_FILE, Service
from gascity.service.signature import without, words

SUFFIX = ".service"
NO_RETRY = (Exit.USAGE, Exit.MISSING, Exit.HELD)  # what the next try would end with, too
_CITY = "# city: "

_TEMPLATE = """\
# `gc service install` renews this file, `gc service uninstall` removes it; one that you edited is
# left alone. Settings of your own are better kept beside it: `systemctl --user edit {name}`.
# city: {root}

[Unit]
Description=gc: city {city} in {shown}
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
ExecStart={start}
ExecReload={reload}
WorkingDirectory={folder}
{environment}
# Variables that the agents need and nobody else should read, one NAME=value a line, mode 0600.
EnvironmentFile=-{env_file}
# The controller alone is stopped and restarted; the agents go on, and it takes them up again.
KillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=5
RestartPreventExitStatus={no_retry}
TimeoutStartSec=90
TimeoutStopSec=30
SyslogIdentifier={identifier}

[Install]
WantedBy=default.target
"""


def unit_text(service: Service) -> str:
    """Return the unit that runs the city's controller."""
    root = service.root
    gc = [_program(service.program), "-C", _argument(root)]
    variables = [f"{key}={value}" for key, value in service.environment.items()]
    body = _TEMPLATE.format(
        name=service.name,
        root=root,
        city=service.city,
        shown=_literal(root) + ("/" if root.endswith(("\\", " ")) else ""),
        start=" ".join([*gc, "start"]),
        reload=" ".join([*gc, "reload"]),
        folder=_literal(root) + ("/." if root.endswith(("\\", " ")) else ""),
        environment="\n".join(f"Environment={_quoted(each)}" for each in variables),
        env_file=_literal(_no_pattern(f"{root.rstrip('/')}/{ENV_FILE}")),
        no_retry=" ".join(str(int(code)) for code in NO_RETRY),
        identifier=f"gc-{service.city}",
    )
    return f"# {words(body)}\n{body}"


def city_of(text: str) -> str | None:
    """Return the folder of the city that a unit is for, or None when `gc` did not write it."""
    for line in text.split("\n"):
        if line.startswith(_CITY):
            return line.removeprefix(_CITY)
    return None


def essence(text: str) -> str:
    """Return a unit without what depends on the shell it was installed from."""
    lines = without(text).split("\n")
    return "\n".join(line for line in lines if not line.startswith("Environment="))


def kill_mode(text: str) -> str:
    """Return the unit's `KillMode`, the last one if there are several; systemd's own if none."""
    found = re.findall(r"^KillMode=[ \t]*(\S+)", text, re.MULTILINE)
    return str(found[-1]) if found else "control-group"


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_literal(escaped)}"'


def _program(path: str) -> str:
    """Return the beginning of a command that runs a program.

    Variables are not replaced in the first word, so a `$` is one; and it may not hold quotes or
    backslashes, however they are written, so a shell gives its place to such a program.
    """
    if not re.search(r"[\"'\\]", path):
        return _quoted(path)
    give_way = _argument('exec "$0" "$@"')
    return f"/bin/sh -c {give_way} {_argument(path)}"


def _argument(text: str) -> str:
    return _quoted(text).replace("$", "$$")


def _no_pattern(path: str) -> str:
    """Take from a path what would make it a pattern for names of files."""
    return re.sub(r"([\\*?\[\]])", r"\\\1", path)
