"""The guard: the program between a runner and its agent, which ends all that the agent began.

It has a socket to the runner for its input and output; `guarded` is the other end. It takes one
request, has the agent started (`launch`), and tells when it began and how it ended. When the
runner says `stop`, or is no more, all below it is ended; when the agent has ended, what that left
behind. Nobody evades the guard, because it is the reaper of everything below it: where it has no
children, nothing is left.

It has to be up in milliseconds, so it imports only what is cheap: `_signal` is `signal` without
its enums; json, typing or subprocess would each cost more than all of this.

    request   LENGTH, a line end, and so many bytes: cwd, stdin, stdout, stderr, grace, number of
              arguments, the arguments, NAME=value of each variable, with a NUL between any two;
              a file may be fd:N, a descriptor that the guard was given
    command   stop SECONDS
    reports   started PID START      failed STAGE ERRNO      ended CODE [PID of a survivor]...
"""

from __future__ import annotations

import os
import select
import sys
import time

from gascity.runs import launch
from gascity.runs.launch import signals
from gascity.session import procfs

MARK = "GC_RUN_MARK"
SHORT = 2.0  # seconds for what an agent left behind
GIVE_UP = 10.0  # seconds of killing: who survives them cannot be killed by us
GLANCE = 0.01  # seconds between two looks while killing
BEAT, LATE = 0.5, 1.5  # as in `awake`, which is too dear
NEVER = float("inf")
TYPE_CHECKING = False  # as in `launch`
if TYPE_CHECKING:
    from collections.abc import Callable
LINUX = sys.platform == "linux"
_ASKING = (signals.SIGTERM, signals.SIGINT, signals.SIGHUP, signals.SIGQUIT)


def main() -> None:
    """Serve one run."""
    signals.pthread_sigmask(signals.SIG_SETMASK, signals.valid_signals())
    signals.signal(signals.SIGCHLD, signals.SIG_DFL)  # where it is ignored nobody can be waited for
    wanted = _request()
    if wanted is None:
        return
    launch.become_reaper()
    try:
        agent = launch.start(wanted)
    except launch.Refused as problem:
        _tell(f"failed {problem.stage} {problem.number}")
        return
    _tell(f"started {agent} {_started(agent)}")
    guard = Guard(wanted, agent, _heard())
    left = guard.run()
    code = 128 + signals.SIGKILL if guard.code is None else guard.code
    _tell(" ".join(map(str, ["ended", code, *left])))
    os._exit(0)  # the runner waits, and there is nothing to clean up


class Guard:
    """The loop, from the start of the agent to the end of everything."""

    def __init__(self, wanted: launch.Wanted, agent: int, heard: int) -> None:
        self._grace = wanted.grace
        self._mark = os.fsdecode(wanted.env.get(MARK.encode(), b""))
        self._agent = agent
        self._heard = heard
        self._line = b""
        self._asked: set[tuple[int, str | None]] = set()
        self._kill_at = NEVER
        self._looked, self._stood_still = time.monotonic(), 0.0
        self._spares = False
        self.code: int | None = None

    def run(self) -> list[int]:
        """Return when nothing is left, or the pids of those that cannot be killed."""
        poll = select.poll()
        poll.register(0, select.POLLIN)
        poll.register(self._heard, select.POLLIN)
        while (left := self._go_on()) is None:
            for descriptor, _ in poll.poll(self._patience()):
                if descriptor == self._heard:
                    if not set(_ASKING).isdisjoint(os.read(descriptor, 4096)):
                        self._end(self._grace)
                elif not self._listen():
                    poll.unregister(descriptor)
                    self._end(self._grace)
        return left

    def _go_on(self) -> list[int] | None:
        """Do what is due; return who is left when it is over."""
        try:
            return self._end_those_below()
        except OSError:  # too many files are open, or no memory is left: others may be ending
            return None

    def _end_those_below(self) -> list[int] | None:
        self._reap()
        if self.code is not None and self._kill_at == NEVER:
            self._spares = True
            self._end(min(self._grace, SHORT))
        if self._kill_at == NEVER:
            return None
        tops, now = self._tops(), self._now()
        if not tops or now >= self._kill_at + GIVE_UP:
            return tops
        self._to_all(tops, self._ask if now < self._kill_at else _kill)
        return None

    def _patience(self) -> float | None:
        if self._kill_at == NEVER:
            return None
        return 1000 * max(min(self._kill_at - self._now(), BEAT), GLANCE)

    def _end(self, grace: float) -> None:
        """Begin to end what is below: the least patient decides when to kill."""
        self._kill_at = min(self._kill_at, self._now() + grace)

    def _now(self) -> float:
        """Return the time without standstills of the machine: who stands still cannot end."""
        now = time.monotonic()
        late = now - self._looked - BEAT
        if late > LATE:
            self._stood_still += late
        self._looked = now
        return now - self._stood_still

    def _listen(self) -> bool:
        """Do what the runner says; False when there is no runner any more."""
        try:
            said = os.read(0, 4096)
        except OSError:
            return False
        *lines, self._line = (self._line + said).split(b"\n")
        for line in lines:
            if line.startswith(b"stop "):
                self._end(float(line[5:]))
        return bool(said)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._agent and self.code is None:
                code = os.waitstatus_to_exitcode(status)
                self.code = code if code >= 0 else 128 - code

    # --- who is below

    def _tops(self) -> list[int]:
        """Return the children that have to go, those that wait to be reaped among them."""
        if LINUX:
            return [pid for pid in procfs.children(os.getpid()) if not self._is_spared(pid)]
        try:  # nobody is told of more than the agent's own process group
            os.killpg(self._agent, 0)
        except OSError:
            return []
        return [self._agent]

    def _is_spared(self, pid: int) -> bool:
        """Tell whether it is of another run, which the agent began and which is to outlive it."""
        if not self._spares:
            return False
        return procfs.variable(pid, MARK) not in (None, self._mark)

    # --- how they end

    def _to_all(self, tops: list[int], choose: Callable[[int], tuple[int, ...]]) -> None:
        """Send each one who has to go what `choose` says, parents first.

        Who was killed cannot fork any more, so its children are listed once again. Those of one
        that is gone by then have come to us, and are met next time.
        """
        if not LINUX:
            _to_group(self._agent, choose(self._agent))
            return
        known = {os.getpid(), *tops}
        waiting = list(tops)
        while waiting:
            pid = waiting.pop(0)
            listed = procfs.children(pid)
            if _send(pid, known, choose(pid)):
                listed += procfs.children(pid)
            fresh = [one for one in set(listed) - known if not self._is_spared(one)]
            known.update(fresh)
            waiting += fresh

    def _ask(self, pid: int) -> tuple[int, ...]:
        """Ask each one once, by the signal that it hears: an interactive shell ignores SIGTERM."""
        who = (pid, procfs.started(pid) if LINUX else None)
        if who in self._asked:
            return ()
        self._asked.add(who)
        deaf = LINUX and procfs.ignores(pid, signals.SIGTERM)
        return signals.SIGHUP if deaf else signals.SIGTERM, signals.SIGCONT


def _kill(_pid: int) -> tuple[int, ...]:
    return (signals.SIGKILL,)


def _request() -> launch.Wanted | None:
    """Return what the runner wants; None when it was gone before it had said it."""
    parts: list[bytes] = []
    wanted, got = 1, 0
    while got < wanted:
        try:
            part = os.read(0, 1 << 16)
        except OSError:
            return None
        if not part:
            return None
        if not parts:
            head, _, part = part.partition(b"\n")  # it is in one piece: the socket was empty
            wanted = int(head)
        parts.append(part)
        got += len(part)
    return launch.Wanted(b"".join(parts))


def _heard() -> int:
    """Return a descriptor with the numbers of the signals that come from now on."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signals.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (signals.SIGCHLD, *_ASKING):
        signals.signal(number, lambda _number, _frame: None)
    signals.pthread_sigmask(signals.SIG_SETMASK, ())
    return reading


def _tell(report: str) -> None:
    try:
        os.write(1, f"{report}\n".encode())
    except OSError:
        return  # nobody is there to hear it


def _started(pid: int) -> str:
    """Return the start of the agent, which may have ended and is not reaped; `-` if unknown."""
    return (procfs.born(pid) if LINUX else None) or "-"


def _to_group(leader: int, numbers: tuple[int, ...]) -> None:
    try:
        for number in numbers:
            os.killpg(leader, number)
    except OSError:
        return  # it is gone


def _send(pid: int, parents: set[int], numbers: tuple[int, ...]) -> bool:
    """Signal a process, unless its number is by now that of one with another parent."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        descriptor = -1  # it is gone, or the kernel has no such thing
    try:
        if not numbers or procfs.parent(pid) not in parents:
            return False
        for number in numbers:
            if descriptor < 0:
                os.kill(pid, number)
            else:
                signals.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False  # it is gone, or not ours to signal
    finally:
        if descriptor >= 0:
            os.close(descriptor)
