"""The processes of sessions in the guest, however far they went, and how they are ended.

As on this machine (`session.kin`): what is below a session's root, in the terminal session that the
root leads, or carries the session's mark. The guest only lists and signals; who belongs to whom is
decided here. A process is named by its number and its start, and one with another start is left
alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gascity.errors import ProviderUnavailable
from gascity.session.marks import MARK
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.shell import quote
from gascity_guest.hand import Done, Guest
from gascity_guest.places import Home
from gascity_guest.view import patient

GLANCE = 0.2  # seconds between two looks while killing
WAIT = 5.0  # seconds at most for one question that waits
_TABLE = """head -v -c 4096 /proc/[0-9]*/stat 2>/dev/null
echo '==> /proc/marks/ <=='
head -v -c 4000000 /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | awk -v want={want} '
/^==> \\/proc\\/[0-9]+\\/environ <==$/ {{ split($2, part, "/"); pid = part[3]; next }}
index($0, want) == 1 || /^GC_(AGENT|RUN)=/ {{ print pid, $0 }}'
"""
_SIGNAL = """
for one in {processes}; do
  pid=${{one%:*}} line=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
  set -- ${{line##*) }}
  [ "${{20}}" = "${{one#*:}}" ] || continue
  signal={signal}
  if [ $signal = ASK ]; then
    signal=TERM  # which an interactive shell ignores
    while read -r line; do
      case "$line" in SigIgn:*[4-7c-f]???) signal=HUP ;; esac
    done <"/proc/$pid/status"
  fi
  kill -$signal "$pid" && kill -CONT "$pid"
done 2>/dev/null
turn=0
while [ $turn -lt {turns} ]; do
  left=
  for one in {processes}; do
    line=
    {{ read -r line <"/proc/${{one%:*}}/stat"; }} 2>/dev/null
    case "${{line##*) }}" in ''|Z*) ;; *) left=1; break ;; esac
  done
  [ -n "$left" ] || exit 0
  sleep 0.02
  turn=$((turn + 1))
done
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the guest beyond doubt."""

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class Table:
    """All processes of the guest: of each its parent, its terminal session and its start."""

    rows: Mapping[int, tuple[int, int, str]]
    marks: Mapping[int, str]
    facts: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    def told(self, processes: Sequence[Process]) -> dict[str, str]:
        """Return whose the first of them says that it is: agent and run."""
        return dict(self.facts.get(processes[0].pid, {})) if processes else {}

    def members(self, mark: str, root: int | None) -> list[Process]:
        """Return what belongs to the session with this mark; `root` is its process if it lives."""
        own = {pid for pid, found in self.marks.items() if found.startswith(mark)}
        if root is not None:
            own |= {pid for pid, (_, session, _) in self.rows.items() if root in (pid, session)}
        size = -1
        while size != len(own):
            size = len(own)
            own |= {pid for pid, (parent, *_) in self.rows.items() if parent in own}
        return [Process(pid, self.rows[pid][2]) for pid in sorted(own) if pid in self.rows]


def look(guest: Guest, home: Home, deadline: float) -> Table:
    """Return the processes of the guest. Raises ProviderUnavailable when it does not tell."""
    script = _TABLE.format(want=quote(f"{MARK}={home.path}#"))
    done = patient(lambda: _whole(guest.read(script, deadline=deadline)), deadline)
    try:
        found = read(done.text)
    except ValueError as problem:
        raise ProviderUnavailable(f"the guest's processes are not understood: {problem}") from None
    if not found.rows:
        raise ProviderUnavailable(f"the guest does not tell its processes: {done.complaint}")
    return found


def _whole(done: Done) -> Done:
    """Return a whole table: who is missing in half of one may live."""
    if done.status != 0:
        why = done.complaint.strip() or f"exit code {done.status}"
        raise Lost(f"the guest does not tell its processes: {why}")
    return done


def read(text: str) -> Table:
    """Return the table in what the guest said."""
    told, _, marked = text.partition("==> /proc/marks/ <==\n")
    rows: dict[int, tuple[int, int, str]] = {}
    for section in told.split("==> /proc/")[1:]:
        where, _, content = section.partition(" <==\n")
        pid = where.partition("/")[0]
        # The name may hold anything; it stands in the outermost brackets.
        fields = content.rpartition(")")[2].split()
        if pid.isdigit() and len(fields) >= 20 and fields[0] != "Z":
            rows[int(pid)] = (int(fields[1]), int(fields[3]), fields[19])
    marks: dict[int, str] = {}
    facts: dict[int, dict[str, str]] = {}
    for line in marked.splitlines():
        pid, _, found = line.partition(" ")
        key, _, value = found.partition("=")
        if pid.isdigit() and key == MARK:
            marks[int(pid)] = value
        elif pid.isdigit():
            facts.setdefault(int(pid), {})[key] = value
    return Table(rows, marks, facts)


def end(
    guest: Guest,
    home: Home,
    roots: Mapping[str, int | None],
    *,
    kill_at: float,
    deadline: float,
) -> dict[str, list[int]]:
    """End all processes of sessions; return, of those that have survivors, their pids.

    Asks each process once, waits until `kill_at`, then kills, and looks again until nothing is
    left: programs fork while they end. Returns the moment all is gone.
    """
    asked: set[Process] = set()
    while True:
        table = look(guest, home, deadline)
        living = {name: table.members(home.mark(name), root) for name, root in roots.items()}
        roots = {name: root for name, root in roots.items() if living[name]}
        everyone = [process for name in roots for process in living[name]]
        now = time.monotonic()
        if not everyone:
            return {}
        if now >= deadline:
            return {name: [process.pid for process in living[name]] for name in roots}
        if now < kill_at:
            new = [process for process in everyone if process not in asked]
            asked.update(new)
            if new:
                _signal(guest, "ASK", new, 0.0, deadline)
            _signal(guest, "0", everyone, min(kill_at - now, WAIT), deadline)
        else:
            _signal(guest, "KILL", everyone, GLANCE, deadline)


def _signal(
    guest: Guest, signal: str, processes: Sequence[Process], wait: float, deadline: float
) -> None:
    """Send a signal, and wait for the end of all of them, or as long as they are given."""
    guest.may_act()
    turns = int(wait / 0.02)
    script = _SIGNAL.format(processes=_words(processes), signal=signal, turns=turns)
    guest.run(script, deadline=max(deadline, time.monotonic() + wait + 1.0))


def _words(processes: Iterable[Process]) -> str:
    return " ".join(f"{process.pid}:{process.started}" for process in processes)
