"""What the guest's tmux shows of a city: its sessions, how they are, and their metadata.

There is one tmux server for the city, with a folder of its own. Nothing is kept but the metadata
that belongs to a version of it.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gascity.core.observed import Alive, ProcessId
from gascity.errors import ProviderUnavailable
from gascity.session.tmux import meta, naming, panes, shell
from gascity.session.tmux.panes import Pane
from gascity.session.tmux.problems import Gone, Lost
from gascity.session.tmux.shell import quote
from gascity.session.tmux.wire import Block, command
from gascity_guest.hand import Done, Guest, plain

T = TypeVar("T")
UNSETTLED = 1.0  # seconds for tmux to hear how a program ended
NO_SERVER = 3  # exit code of a piece of shell that finds no server
# What tmux says, in every version, where nobody listens on its socket.
_ABSENT = ("no server running on", "(No such file or directory)", "(Connection refused)")
_NUMBER = re.compile(r"[0-9]{1,18}")
_PANE = re.compile(r"%[0-9]{1,18}")
_OTHER = re.compile(r"[0-9]+:[0-9]+")
# Said by a server without any session; one that an agent or a person ended leaves it like that.
_EMPTY = re.compile(r"([0-9]{1,20}:[0-9]{1,20})\nno current target")
_REFUSED = 1  # exit code of a tmux that says why it does nothing
_WHOLE = "==> /proc/end <=="
_LEAVING = ("lost server", "server exited", "no current target")
_LOOK = """[ ! -d {sessions} ] || ls {sessions}
echo gc-now $(date +%s)
said=$(tmux -u -S {socket} display-message -p '#{{pid}}:#{{start_time}}' \\; {list} 2>&1)
status=$?
case "$status:$said" in 0:*|*:[1-9]*:[1-9]*) ;; *)
  for one in $(grep -lsx 'tmux: server' /proc/[0-9]*/comm); do
    one=${{one%/comm}}
    tr '\\0' '\\n' <"$one/cmdline" | grep -qxF {socket} || continue
    # It lives and cannot be reached; asked like this, a tmux makes its socket again.
    (umask 077; mkdir -p {home}); kill -USR1 "${{one#/proc/}}"; status=99
  done ;;
esac
printf '%s\\n' "$status" "$said"
"""
_LIVES = """kill -CHLD {server}; sleep 0.02
for pid in {pids}; do
  line=; {{ read -r line <"/proc/$pid/stat"; }} 2>/dev/null
  case "${{line##*) }}" in ''|Z*) ;; *) echo "$pid" ;; esac
done; echo '{whole}'"""


@dataclass(frozen=True, slots=True)
class Look:
    """One look: the agents' panes, the sessions that may be there, by how much its clock is late.

    `server` is None where there is no tmux server.
    """

    panes: Sequence[Pane]
    traces: frozenset[str]
    late: float
    server: ProcessId | None


class View:
    """One city as the guest's tmux tells of it; thread-safe."""

    def __init__(self, guest: Guest, city_mark: str) -> None:
        self._guest = guest
        self._city = city_mark
        self._lock = threading.Lock()
        self._meta: dict[tuple[ProcessId | None, str], tuple[str, Mapping[str, str]]] = {}
        self._unknown: set[panes.Key] = set()  # ended, and tmux will never say how

    def look(self, deadline: float, name: str = "") -> Look:
        """Return what is there, of all sessions or of one.

        tmux learns that a terminal was closed before it learns how its program ended, and may never
        learn that by itself: those in between are asked for again. One that closed its terminal and
        lives on is alive.
        """
        found = self._look(deadline, name)
        until = min(time.monotonic() + UNSETTLED, deadline)
        while unsettled := [
            pane for pane in found.panes if pane.is_unsettled and pane.key not in self._unknown
        ]:
            living = self._living(found, unsettled, deadline)
            again = self._look(deadline, name)
            settled = {pane.key: pane for pane in again.panes if not pane.is_unsettled}
            is_late = time.monotonic() >= until
            if is_late or all(pane.pid in living for pane in unsettled):
                with self._lock:
                    self._unknown |= {pane.key for pane in unsettled if pane.pid not in living}
                settled |= {p.key: replace(p, life=Alive()) for p in unsettled if p.pid in living}
                whole = [settled.get(pane.key, pane) for pane in again.panes]
                return replace(again, panes=whole)
            found = again
        return found

    def find(self, name: str, deadline: float) -> Pane | None:
        """Return the pane of a session, if there is one."""
        if not naming.is_name(name):
            return None
        return panes.by_name(self.look(deadline, name).panes).get(name)

    def metadata(self, found: Collection[Pane], deadline: float) -> Mapping[str, Mapping[str, str]]:
        """Return the metadata of sessions by tmux's number; asks only for what changed.

        A session that was removed since it was found is left out.
        """
        known = {pane.session: self._meta.get(_key(pane), ("", {})) for pane in found}
        changed = [pane for pane in found if known[pane.session][0] != pane.version]
        if changed:
            asked = [command("show-environment", "-t", pane.session) for pane in changed]
            answered = self.ask(*asked, deadline=deadline, of=changed[0])
            for pane, block in zip(changed, answered, strict=True):
                if block.ok:
                    known[pane.session] = (pane.version, meta.read(block))
                else:
                    known.pop(pane.session, None)
            with self._lock:
                for pane in changed:
                    if pane.session in known:
                        self._meta[_key(pane)] = known[pane.session]
        return {session: stored for session, (_, stored) in known.items()}

    def forget_all_but(self, found: Collection[Pane]) -> None:
        """Forget what was kept of sessions that are no more."""
        keys = {_key(pane) for pane in found}
        with self._lock:
            self._meta = {key: kept for key, kept in self._meta.items() if key in keys}
            self._unknown &= {pane.key for pane in found}

    def stored(self, pane: Pane, deadline: float) -> Mapping[str, str]:
        """Return the metadata of one session; none when it was removed since it was found."""
        return self.metadata([pane], deadline).get(pane.session, {})

    def ask(self, *lines: str, deadline: float, of: Pane | None) -> Sequence[Block]:
        """Have tmux answer lines about a pane that was there a moment ago; they change nothing.

        Raises Gone when its server is gone: on the next one its numbers are somebody else's.
        """
        token = os.urandom(8).hex()
        text = shell.questions(lines, token)
        script = f"{self._to_server(of, deadline)} source-file - 2>&1 <<'{token}'\n{text}{token}"
        return self._answered(self._guest.read(script, deadline=deadline), token, len(lines))

    def do(self, line: str, deadline: float, *, of: Pane | None) -> bool:
        """Have tmux do a line about a pane; False when what it is about is no longer there.

        What it says goes over as a file: it may be a message, or a value.
        """
        token = os.urandom(8).hex()
        text = shell.questions([line], token)
        self._guest.may_act()
        path = quote(self._guest.give(os.fsencode(text), deadline=deadline))
        script = (
            f"trap 'rm -f {path}' EXIT\n{self._to_server(of, deadline)} source-file - <{path} 2>&1"
        )
        done = self._guest.run(script, deadline=deadline)
        return all(block.ok for block in self._answered(done, token, 1))

    def input_of(self, tty: str, deadline: float) -> tuple[bool, bool | None]:
        """Tell whether a terminal of the guest hands on whole lines, and holds unread input."""
        if not tty:
            return False, None
        done = self._guest.run(shell.input_script(tty), deadline=deadline)
        return shell.read_input(done.status, done.text)

    def wink(self, tty: str, deadline: float) -> None:
        """Make a terminal of the guest a row smaller for a moment."""
        if tty:
            self._guest.run(shell.wink_script(tty), deadline=deadline)

    def programs(self, roots: Mapping[str, int], deadline: float) -> Mapping[str, set[str]]:
        """Return the names of what runs in the trees of sessions, by their names."""
        script = f"{shell.PROGRAMS}; echo; echo '{_WHOLE}'"
        ask = self._guest.read
        done = patient(lambda: _whole(ask(script, deadline=deadline), _WHOLE), deadline)
        try:
            found = shell.programs_below(list(roots.values()), done.output)
        except ValueError as problem:
            raise ProviderUnavailable(f"the guest does not tell its programs: {problem}") from None
        return {name: found[pid] for name, pid in roots.items()}

    # --- how

    def _to_server(self, of: Pane | None, deadline: float) -> str:
        """Return the beginning of a client, which ends where the pane's server is no more."""
        socket = quote(self._guest.home(deadline).socket)
        tmux = f"tmux -u -S {socket}"
        if of is None or of.server is None:
            return tmux
        same = quote(f"{of.server.pid}:{of.server.started}")
        asked = f"$({tmux} display-message -p '#{{pid}}:#{{start_time}}' 2>&1)"
        return f'server={asked}\n[ "$server" = {same} ] || {{ echo "$server"; exit 3; }}\n{tmux}'

    def _answered(self, done: Done, token: str, count: int) -> list[Block]:
        if f"{token}-{count - 1}-end\n" in done.text:
            return shell.blocks(done.output, token, count)
        said = done.text.strip()
        if _is_absent(said) or (done.status == NO_SERVER and _OTHER.fullmatch(said)):
            raise Gone("the guest's tmux server has ended")
        # Whatever else ended it, a stopping daemon or a full machine, tells nothing of a pane.
        is_refused = done.status == _REFUSED and said
        if not is_refused or any(word in said[-200:] for word in _LEAVING):
            why = plain(said) or done.complaint or f"exit code {done.status}"
            raise Lost(f"the guest's tmux server did not answer: {why}")
        return shell.blocks(done.output, token, count)

    def _living(self, found: Look, unsettled: Sequence[Pane], deadline: float) -> set[int]:
        """Return the processes that live on without their terminal, and have tmux look at all."""
        if found.server is None:
            return set()
        pids = " ".join(str(pane.pid) for pane in unsettled)
        script = _LIVES.format(server=found.server.pid, pids=pids, whole=_WHOLE)
        done = patient(lambda: _whole(self._guest.run(script, deadline=deadline), _WHOLE), deadline)
        return {int(pid) for pid in done.text.split() if _NUMBER.fullmatch(pid)}

    def _look(self, deadline: float, name: str) -> Look:
        return patient(lambda: self._look_once(deadline, name), deadline)

    def _look_once(self, deadline: float, name: str) -> Look:
        home = self._guest.home(deadline)
        asked = _shell_words(panes.list_words(self._city, name))
        script = _LOOK.format(
            sessions=quote(home.sessions),
            socket=quote(home.socket),
            home=quote(home.path),
            list=asked,
        )
        before = time.time()
        text = self._guest.read(script, deadline=deadline).text
        told, is_whole, rest = text.partition("gc-now ")
        now, _, rest = rest.partition("\n")
        status, _, said = rest.partition("\n")
        if not is_whole or not _NUMBER.fullmatch(now) or not _NUMBER.fullmatch(status):
            raise ProviderUnavailable("the guest was asked for its sessions, and said nothing")
        late = before - int(now)
        traces = frozenset(told.split())
        if status == "99":
            raise Lost("the guest's tmux lives, and cannot be reached")
        if empty := _EMPTY.fullmatch(said.strip()):
            status, said = "0", empty[1]
        if status != "0":
            if _is_absent(said):
                return Look((), traces, late, None)
            if any(word in said for word in _LEAVING):
                raise Lost(f"the guest's tmux is leaving: {plain(said)}")
            raise ProviderUnavailable(f"the guest's tmux was asked, and said: {plain(said)}")
        first, _, listed = said.partition("\n")
        pid, _, started = first.partition(":")
        if not _OTHER.fullmatch(first) or not _NUMBER.fullmatch(pid):
            raise ProviderUnavailable(f"the guest's tmux was asked, and said: {plain(said)}")
        server = ProcessId(int(pid), started)
        lines = tuple(line.encode() for line in listed.split("\n") if line)
        found = panes.read([Block(ok=True, lines=lines)], server)
        if not all(_PANE.fullmatch(pane.id) for pane in found):
            raise ProviderUnavailable(f"the guest's tmux was asked, and said: {plain(said)}")
        # Anybody in there can call a pane anything; that is no session of ours.
        ours = [pane for pane in found if naming.is_name(pane.name)]
        return Look(ours, traces, late, server)


def patient(work: Callable[[], T], deadline: float) -> T:
    """Do something that changes nothing again while a server or a connection goes away."""
    while True:
        try:
            return work()
        except Lost:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.02)  # nothing tells when it is gone


def _whole(done: Done, end: str) -> Done:
    """Return what was said to its end; raises Lost for what was cut short."""
    if not done.text.rstrip("\n").endswith(end):
        raise Lost(f"the guest did not say all of it: exit code {done.status}")
    return done


def _is_absent(said: str) -> bool:
    last = said.strip().rpartition("\n")[2]
    return any(word in last for word in _ABSENT)


def _key(pane: Pane) -> tuple[ProcessId | None, str]:
    return pane.server, pane.session


def _shell_words(words: Sequence[str]) -> str:
    return " ".join(quote(word) for word in words)
