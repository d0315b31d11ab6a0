"""The session provider `subprocess`: programs without a terminal, kept by a process of their own.

Everything about life and metadata is asked of the keeper; output and input are files, read and
written here once the keeper said that the session is there.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND, Alive, SessionState
from gascity.errors import (
    GascityError,
    NotSupported,
    ProviderError,
    RemoteError,
    SessionExists,
    SessionNotFound,
    StartFailed,
    StopTimedOut,
)
from gascity.session import overlay, processes
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.receipts import Delivery, Receipt
from gascity.session.watch import SeenCallback, Watch
from gascity_subprocess import keys, layout, output, pipe, states
from gascity_subprocess.asking import NOTHING, Keeper
from gascity_subprocess.mirror import Mirror
from gascity_subprocess.watching import KeeperWatch

_ERRORS: Mapping[str, Callable[[str], ProviderError]] = {
    layout.EXISTS: SessionExists,
    layout.NOT_FOUND: SessionNotFound,
    layout.NOT_STARTED: StartFailed,
    layout.SURVIVED: StopTimedOut,
}


def _patience(grace: float, timeout: float) -> dict[str, float]:
    """The keeper must be done, and its answer here, before the caller's time is up."""
    limit = timeout - min(0.5, timeout * 0.1)
    return {"grace": min(grace, limit * 0.75), "timeout": limit}


class Provider(SessionProvider):
    """Sessions as child processes of one keeper per city."""

    name = "subprocess"
    keeps_previous_output = True

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        self._keeper = Keeper(layout.home(context.state_dir))
        self._mirror = Mirror(self._keeper.home)

    @classmethod
    def unavailable(cls) -> str:
        """Say why this cannot work here; it works wherever there are Unix processes."""
        return "" if os.name == "posix" else f"there are no Unix processes on {sys.platform}"

    def close(self) -> None:
        """Hang up on the keeper. Sessions are not touched."""
        self._keeper.close()

    # --- life

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up; see the contract."""
        # Who only looks, as `gc status` does, needs none of this.
        from gascity.session.startup import bring_up  # noqa: PLC0415
        from gascity.session.target import LocalTarget  # noqa: PLC0415

        if not layout.is_name(name):
            raise StartFailed(f"{name!r} cannot be the name of a session")
        deadline = time.monotonic() + timeout
        target = LocalTarget(self, name, config, create=self._create)
        hints = config.hints
        with contextlib.ExitStack() as held:
            if hints.pre_start or hints.overlay_dir or hints.copy_files:
                # These touch the work folder, which a living session of that name may own.
                self._hold(held, name)
                if self.is_running(name, timeout=timeout):
                    raise SessionExists(f"session {name} exists already")
            bring_up(name, config, target, timeout=deadline - time.monotonic())

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """End the session with all its processes; see the contract."""
        self._ask("stop", {"name": name, **_patience(grace, timeout)}, timeout=timeout)

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several in one call to the keeper."""
        params = {"names": list(names), **_patience(grace, timeout)}
        return states.survivors(self._ask("stop_all", params, timeout=timeout))

    def interrupt(self, name: str, *, timeout: float) -> None:
        """Send SIGINT to the process group of the session's program."""
        self._ask("interrupt", {"name": name}, timeout=timeout)

    # --- questions

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session in one round trip that carries only what changed."""
        return self._mirror.look(lambda params: self._ask("observe", params, timeout=timeout))

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,
    ) -> Watch:
        """Call `wake` within milliseconds of a change, and when the keeper itself goes away.

        `interval` bounds only how long a keeper that comes up elsewhere goes unnoticed.
        """
        return KeeperWatch(self._keeper, self._mirror, wake, seen, interval)

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""
        kept = self._find(name, timeout=timeout)
        return kept is not None and kept.alive

    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of `names` lives in the session's process tree."""
        kept = self._find(name, timeout=timeout)
        if kept is None or not kept.alive:
            return False
        return not names or processes.matches(names, processes.names_in_tree(kept.pid))

    def processes_alive(
        self, wanted: Mapping[str, Sequence[str]], *, timeout: float
    ) -> Mapping[str, bool]:
        """Answer for several sessions from one pass over the process table."""
        roots = {
            name: state.process.pid
            for name, state in self.observe(timeout=timeout).items()
            if name in wanted and isinstance(state.life, Alive) and state.process is not None
        }
        return processes.alive_in_trees(wanted, roots)

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names of the sessions that run."""
        return sorted(
            name
            for name, state in self.observe(timeout=timeout).items()
            if isinstance(state.life, Alive) and name.startswith(prefix)
        )

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last printed something."""
        kept = self._find(name, timeout=timeout)
        return None if kept is None else kept.last_activity

    # --- talk

    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Raise NotSupported: there is no terminal to give."""
        del read_only
        if self._find(name, timeout=5.0) is None:
            raise SessionNotFound(f"there is no session {name}")
        raise NotSupported(
            f"session {name} has no terminal",
            hint="`gc peek --follow NAME` shows what it prints; the tmux provider has a terminal",
        )

    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        """Write the text as one message to the session's input; see `pipe.deliver`."""
        del wait  # it waits for room in the input anyway
        begun = time.monotonic()
        deadline = begun + timeout
        kept = self._find(name, timeout=timeout)
        if kept is None or not kept.alive:
            return Receipt(Delivery.ABSENT)
        talk = self.context.screens.of(kept.meta.get(BACKEND, "")).talk
        words = pipe.spoken(text, talk, raw=raw)
        try:
            with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
                receipt = pipe.deliver(self._file(name, layout.INPUT), words, deadline=deadline)
        except SessionBusy as problem:
            return Receipt(Delivery.REFUSED, problem.message)
        return replace(receipt, elapsed=time.monotonic() - begun)

    def send_keys(self, name: str, keys_: Sequence[str], *, timeout: float) -> None:
        """Write keys to the session's input; `C-c` interrupts instead."""
        deadline = time.monotonic() + timeout
        typed = [(key, b"" if key == keys.INTERRUPT else keys.bytes_of(key)) for key in keys_]
        kept = self._find(name, timeout=timeout)
        if kept is None or not kept.alive:
            return
        with session_lock(self.context.state_dir, name, deadline - time.monotonic()):
            for key, data in typed:
                if key == keys.INTERRUPT:
                    self.interrupt(name, timeout=deadline - time.monotonic())
                elif not pipe.put(self._file(name, layout.INPUT), data, deadline=deadline):
                    raise ProviderError(
                        f"session {name} does not read its input: {key} was not sent"
                    )

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last lines the session printed, as it printed them, also after it ended."""
        del colours
        if self._find(name, timeout=timeout) is not None:
            with contextlib.suppress(FileNotFoundError):
                return output.tail(self._file(name, layout.OUTPUT), lines)
        raise SessionNotFound(f"there is no session {name}")

    def previous_output(self, name: str, lines: int) -> str:
        """Return the last lines of the incarnation before; it is a file, so nobody is asked."""
        if not layout.is_name(name):
            return ""
        with contextlib.suppress(OSError):
            return output.tail(layout.previous(self._keeper.home, name), lines)
        return ""

    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        """Empty the session's output file."""
        if self._find(name, timeout=timeout) is not None:
            with contextlib.suppress(FileNotFoundError):
                output.clear(self._file(name, layout.OUTPUT))

    # --- metadata

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session, in its record on disk."""
        params = {"name": name, "key": key, "value": value}
        if self._ask("set_meta", params, timeout=timeout) is NOTHING:
            raise SessionNotFound(f"there is no session {name}")

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value."""
        kept = self._find(name, timeout=timeout)
        return None if kept is None else kept.meta.get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._ask("remove_meta", {"name": name, "key": key}, timeout=timeout)

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder, over what is there."""
        kept = self._find(name, timeout=timeout)
        if kept is None or not os.path.exists(src):
            return
        try:
            overlay.place(kept.work_dir, src, rel_dst, overwrite=True)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    # --- how

    def _create(self, name: str, config: SessionConfig, timeout: float) -> None:
        params = {
            "name": name,
            "mark": layout.mark(self._keeper.home, name, secrets.token_hex(8)),
            "command": config.command,
            "work_dir": os.path.abspath(config.work_dir),
            "env": dict(config.env),
            "meta": dict(config.meta),
        }
        self._ask("start", params, timeout=timeout, launch=True)

    def _find(self, name: str, *, timeout: float) -> states.Kept | None:
        return states.kept(self._ask("get", {"name": name}, timeout=timeout))

    def _ask(
        self, method: str, params: Mapping[str, object], *, timeout: float, launch: bool = False
    ) -> object:
        try:
            return self._keeper.ask(method, params, timeout=timeout, launch=launch)
        except RemoteError as problem:
            kind = _ERRORS.get(str(problem.data.get("kind")), ProviderError)
            raise kind(problem.message) from problem

    def _file(self, name: str, file: str) -> str:
        return os.path.join(layout.folder(self._keeper.home, name), file)

    def _hold(self, held: contextlib.ExitStack, name: str) -> None:
        try:
            lock = session_lock(self.context.state_dir, name, AT_ONCE, purpose="start")
            held.enter_context(lock)
        except SessionBusy as problem:
            raise SessionExists(f"session {name} is being started by someone else") from problem
