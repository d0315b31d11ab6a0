"""Starting the agent of a run, by its guard.

The agent gets exactly the arguments, variables, folder and files of the request, a session of its
own, and the signals as they are at the start of the world, whatever the runner does about them. It
is killed by the kernel when its guard dies. All texts are bytes: nothing is decoded on the way.

Part of the guard: see there what may be imported.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # importing it from typing would take as long as all the rest
if TYPE_CHECKING:
    import signal as signals
else:
    import _signal as signals

__all__ = ["Refused", "Wanted", "become_reaper", "prctl", "signals", "start"]

LOOSEST = 0o022  # the umask of an agent forbids this and what that of the runner forbids
_DEATHSIG = 1  # PR_SET_PDEATHSIG
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_PASSED = b"fd:"  # begins what stands for a file that the guard has open, by its number
_OPENED = (
    ("stdin", os.O_RDONLY),
    ("stdout", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
    ("stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND),
)


class Wanted:
    """A request: what is to be started, and how long it may take to end."""

    def __init__(self, body: bytes) -> None:
        self.cwd, stdin, stdout, stderr, grace, count, *words = body.split(b"\0")
        self.files = (stdin or b"/dev/null", stdout, stderr)
        self.grace = float(grace)
        self.argv = words[: int(count)]
        pairs = [word.partition(b"=") for word in words[int(count) :]]
        self.env = {name: value for name, _, value in pairs}


class Refused(Exception):
    """The agent was not started, and why.

    `stage` is stdin, stdout or stderr when that file cannot be opened, chdir when the working
    folder cannot be entered, missing when there is no such program, interpreter when what its
    first line names is not there, exec when it cannot be run, and fork when nothing can.
    """

    def __init__(self, stage: str, number: int) -> None:
        super().__init__(stage, number)
        self.stage, self.number = stage, number


def become_reaper() -> None:
    """Make whoever is orphaned below this process its child, where the kernel can do that."""
    prctl(_SUBREAPER, 1)


def prctl(option: int, value: int) -> None:
    """Tell the kernel something about this process; elsewhere than on Linux this does nothing.

    There the process group of the agent is all that can be ended, and an agent outlives its guard.
    """
    if sys.platform != "linux":
        return
    try:
        import _ctypes  # noqa: PLC0415  only a wrap needs it  ctypes without its types: a fifth of the time
    except ImportError:
        return  # this Python was built without it
    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # the stub says str
    _ctypes.call_function(function, (option, value, 0, 0, 0))


def start(wanted: Wanted) -> int:
    """Return the pid of the agent, which runs its program by now. Raises Refused.

    To be called with all signals blocked: none may be heard by the child in place of the guard.
    """
    files = [
        _open(name, path, flags) for (name, flags), path in zip(_OPENED, wanted.files, strict=True)
    ]
    guard = os.getpid()
    try:
        reading, telling = os.pipe()
        pid = os.fork()
    except OSError as problem:
        raise Refused("fork", problem.errno or errno.EIO) from None
    if pid == 0:
        try:
            _become(wanted, files, guard)
        except Refused as problem:
            os.write(telling, b"%s %d" % (problem.stage.encode(), problem.number))
        finally:
            os._exit(127)
    for descriptor in {*files, telling}:
        os.close(descriptor)
    said = os.read(reading, 100)  # ends when the program runs: its descriptor closes by itself
    os.close(reading)
    if said:
        os.waitpid(pid, 0)
        stage, _, number = said.decode().partition(" ")
        raise Refused(stage, int(number))
    return pid


def _open(stage: str, path: bytes, flags: int) -> int:
    try:
        if path.startswith(_PASSED):
            passed = int(path.removeprefix(_PASSED))
            os.set_inheritable(passed, False)  # noqa: FBT003  so it is called
            return passed
        return os.open(path, flags | os.O_NOCTTY, 0o600)
    except OSError as problem:
        raise Refused(stage, problem.errno or errno.EIO) from None


def _become(wanted: Wanted, files: list[int], guard: int) -> None:
    os.setsid()
    prctl(_DEATHSIG, signals.SIGKILL)
    if os.getppid() != guard:
        return  # it died before the kernel knew
    os.umask(os.umask(LOOSEST) | LOOSEST)
    for number in range(1, signals.NSIG):
        try:
            signals.signal(number, signals.SIG_DFL)
        except (OSError, ValueError):
            continue  # one that has to stay as it is
    signals.pthread_sigmask(signals.SIG_SETMASK, ())
    try:
        os.chdir(wanted.cwd)
    except OSError as problem:
        raise Refused("chdir", problem.errno or errno.EIO) from None
    for number, descriptor in enumerate(files):
        os.dup2(descriptor, number)
    if files[0] == files[1]:
        _own_terminal()
    raise _run(wanted)


def _own_terminal() -> None:
    """Make what it reads from and writes to its terminal, by which it hears of Ctrl-C."""
    import fcntl  # noqa: PLC0415  only a wrap needs it  few need it
    import termios  # noqa: PLC0415  only a wrap needs it

    try:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    except OSError:
        return  # it is none, or that of another session


def _run(wanted: Wanted) -> Refused:
    """Run the program in place of this one; return why not."""
    name = wanted.argv[0]
    is_path = b"/" in name
    path = wanted.env.get(b"PATH", b"")
    folders = path.split(b":") if path and name else []
    why = Refused("missing", errno.ENOENT)
    for place in [name] if is_path else [os.path.join(folder or b".", name) for folder in folders]:
        try:
            os.execve(place, wanted.argv, wanted.env)  # noqa: S606  no shell is wanted
        except OSError as problem:
            number = problem.errno or errno.EIO
        if os.path.isdir(place):
            if is_path:
                return Refused("exec", errno.EISDIR)
        elif not os.path.exists(place):
            why = Refused("missing", number) if is_path else why
        elif number == errno.EACCES:
            why = Refused("exec", number)  # a later folder may have one that can be run
        else:
            return Refused("interpreter" if number == errno.ENOENT else "exec", number)
    return why
