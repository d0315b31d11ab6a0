"""What agents and sessions are called.

An agent is `[dir/]name`. Both parts are components: words joined by single dashes. As no component
holds `--`, turning the `/` into `--` cannot make two agents of one city meet in one session name.
A template of the city's own can; `config` checks for that.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from gascity.core.template import TemplateError, expand

LONGEST_COMPONENT = 64
LONGEST_SESSION = 200  # leaves room for a suffix in a file name of 255 bytes

_COMPONENT = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_SESSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class SessionName:
    """A session name, and why it is not the one the template asked for (empty: it is)."""

    name: str
    warning: str = ""

    def __str__(self) -> str:
        return self.name


def is_component(text: str) -> bool:
    """Tell whether `text` can name a city, a dir or an agent."""
    return len(text) <= LONGEST_COMPONENT and _COMPONENT.fullmatch(text) is not None


def is_session_name(text: str) -> bool:
    """Tell whether `text` is safe as a session name in every provider and on a command line."""
    return len(text) <= LONGEST_SESSION and _SESSION.fullmatch(text) is not None


def qualified(directory: str, name: str) -> str:
    """Return the agent's name: `dir/name`, or the bare name without a dir."""
    return f"{directory}/{name}" if directory else name


def split(agent: str) -> tuple[str, str]:
    """Return the dir (or the empty string) and the bare name of an agent."""
    directory, _, name = agent.rpartition("/")
    return directory, name


def session_prefix(city: str) -> str:
    """Return what the names of a city's sessions begin with, unless it has a template."""
    return f"gc-{city}-"


def session_name(city: str, agent: str, template: str = "") -> SessionName:
    """Return the name of the session that carries `agent`.

    Without a template it is `gc-{city}-{agent}`, with `/` as `--`; distinct agents of one city get
    distinct names. A template that cannot be expanded, or yields a name that is not safe, gives
    the same default name and a warning.
    """
    directory, name = split(agent)
    safe = agent.replace("/", "--")
    default = f"{session_prefix(city)}{safe}"
    if not template:
        return SessionName(default)
    try:
        made = expand(template, {"City": city, "Agent": safe, "Dir": directory, "Name": name})
    except TemplateError as error:
        return SessionName(default, f"session_template is not used: {error}")
    if not is_session_name(made):
        why = "the name it makes is not safe (letters, digits, _ and - only, no - in front)"
        return SessionName(default, f"session_template is not used for {agent}: {why}")
    return SessionName(made)


def city_id(path: str) -> str:
    """Return the mark of the city at the absolute `path`: 16 hex digits, the same every time."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
