"""What tmux knows of a city's sessions, in one answer.

The pane an agent was started in carries who it is as options of its own (`@gc_city`, `@gc_name`,
`@gc_token`): they stay right when a person renames the session, splits it or moves windows about.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass

from gascity.core.observed import Alive, Exited, Life, ProcessId
from gascity.errors import ProviderUnavailable
from gascity.session.tmux.wire import Block, command

CITY, NAME, TOKEN = "@gc_city", "@gc_name", "@gc_token"
OWNER = "@gc_owner"  # of the session: the city that made it
VERSION = "GC_META_VERSION"  # in a session's environment: changes with every change of metadata

_ALIVE = Alive()
Key = tuple[str, int]
_FIELDS = (
    "pane_id",
    "session_id",
    "pane_pid",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "session_attached",
    "window_activity",
    "session_created",
    VERSION,
    TOKEN,
    NAME,
    "pane_title",  # the last, because it may hold anything
)
_FORMAT = "|".join(f"#{{{field}}}" for field in _FIELDS)


@dataclass(frozen=True, slots=True)
class Pane:
    """An agent's pane. `session` is tmux's own number of its session, never used twice.

    The next server counts anew: the numbers mean nothing without the `server` they were seen on.
    """

    id: str
    session: str
    pid: int
    life: Life
    attached: int
    activity: float
    created: float
    version: str
    token: str
    name: str
    title: str
    is_closed: bool = False
    server: ProcessId | None = None

    @property
    def key(self) -> Key:
        """What no other program of this server has."""
        return self.session, self.pid

    @property
    def is_unsettled(self) -> bool:
        """Whether it ended and tmux is not done with that.

        Its terminal is closed and tmux does not know yet how its program ended, or the other way
        round: then tmux has not read yet all that was written.
        """
        return self.life is not _ALIVE and (not self.is_closed or self.life == Exited())

    @property
    def alive(self) -> bool:
        """Whether its program runs."""
        return isinstance(self.life, Alive)

    @property
    def rank(self) -> tuple[bool, int]:
        """Which of several panes of one name counts: the living one, else the latest."""
        return self.alive, int(self.id.lstrip("%"))

    def only(self, *commands: str, in_session: str = "") -> str:
        """Return the command that does these if the pane is still the one that was seen.

        A new server counts anew: what had a number on the last one is somebody else's on this one.
        With `in_session`, only if it is in a session of that name: a person may have moved it.
        """
        same = f"#{{==:#{{{TOKEN}}},{self.token}}}"
        if in_session:
            same = f"#{{&&:{same},#{{==:#{{session_name}},{in_session}}}}}"
        return command("if-shell", "-F", "-t", self.id, same, " ; ".join(commands))


def list_command(city_mark: str, name: str = "", session: str = "") -> str:
    """Return the command that lists the panes of a city, or of one of its sessions.

    `session` is what tmux calls it: looking only there is cheaper than looking everywhere.
    """
    return command(*list_words(city_mark, name, session))


def list_words(city_mark: str, name: str = "", session: str = "") -> list[str]:
    """Return the same command as words, for who hands them to a client one by one."""
    where = ["-s", "-t", f"={session}:"] if session else ["-a"]
    wanted = f"#{{==:#{{{CITY}}},{city_mark}}}"
    if name:
        wanted = f"#{{&&:{wanted},#{{==:#{{{NAME}}},{name}}}}}"
    return ["list-panes", *where, "-f", wanted, "-F", _FORMAT]


def by_name(found: Iterable[Pane]) -> dict[str, Pane]:
    """Return the pane that counts for each name."""
    chosen: dict[str, Pane] = {}
    for pane in found:
        other = chosen.get(pane.name)
        if other is None or pane.rank > other.rank:
            chosen[pane.name] = pane
    return chosen


def read(answered: Iterable[Block], server: ProcessId | None = None) -> list[Pane]:
    """Return the panes in an answer; raises ProviderUnavailable when it is none."""
    block = next(iter(answered), None)
    if block is None or not block.ok:
        said = block.text if block is not None else "nothing"
        raise ProviderUnavailable(f"tmux was asked for its panes and said: {said}")
    return [_pane(line.decode(errors="replace"), server) for line in block.lines]


def _pane(line: str, server: ProcessId | None) -> Pane:
    try:
        (
            pane, session, pid, dead, status, signalled, attached, activity, created, version,
            token, name, title,
        ) = line.split("|", len(_FIELDS) - 1)  # fmt: skip
        life = _ALIVE if dead == "0" and not (status or signalled) else _ended(status, signalled)
        return Pane(
            id=pane,
            session=session,
            pid=int(pid or 0),
            life=life,
            attached=int(attached or 0),
            activity=float(activity or 0),
            created=float(created or 0),
            version=version,
            token=token,
            name=name,
            title=title,
            is_closed=dead == "1",
            server=server,
        )
    except ValueError as problem:
        raise ProviderUnavailable(
            f"tmux described a pane in a way that is not understood: {line}"
        ) from problem


def _ended(status: str, signalled: str) -> Life:
    """Return how a program ended; tmux calls a pane dead when its terminal is closed."""
    if status:
        return Exited(code=int(status))
    return Exited(signal=_number(signalled)) if signalled else Exited()


def _number(name: str) -> int | None:
    if name.isdigit():
        return int(name)
    known = signal.Signals.__members__.get(f"SIG{name.removeprefix('SIG')}")
    return None if known is None else int(known)
