"""The contract of a session provider: sixteen methods, and two built on them.

Rules for every method: thread-safe; synchronous; ends within `timeout` seconds; a new instance in
another process sees the same sessions. When the backend does not answer, it raises
`ProviderUnavailable`, never a plausible value: "I do not know" must not look like "there is none".
`gascity.testing.conformance` is this page as tests.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Exited, SessionState
from gascity.errors import GascityError
from gascity.screens.screen import Screen
from gascity.session.context import CityContext
from gascity.session.leadership import Leadership
from gascity.session.receipts import Receipt
from gascity.session.terminal import Terminal
from gascity.session.watch import SeenCallback, Ticking, Watch

__all__ = ["CityContext", "SessionProvider"]


class SessionProvider(ABC):
    """Where sessions live."""

    name: str
    is_local: bool = True
    """Whether sessions run on this machine, with its files, its programs and its environment.

    Where they do not, what `observe` says of processes is left out: a pid is one of this machine.
    """
    lasting: frozenset[str] | None = None
    """The settings that stay as they are while a controller runs; None for all of them."""
    ending: float = 10.0
    """How long the end of a session may take beyond its grace, in seconds."""
    parallel: int = 32
    """How many sessions a controller starts here at once, and to how many it does other things."""

    def __init__(self, context: CityContext) -> None:
        self.context = context
        if context.parallel is not None:
            self.parallel = context.parallel

    def use(self, context: CityContext) -> None:
        """Work with other settings and rules from now on: the city was read again."""
        self.context = context

    @classmethod
    def unavailable(cls) -> str:
        """Say in one sentence why this provider cannot work here, or the empty string if it can.

        Called when the config is read and by `gc doctor`; looks, never starts anything.
        """
        return ""

    @classmethod  # noqa: B027  most have none
    def check_settings(cls, settings: Mapping[str, object], folder: str = "") -> None:
        """Raise ConfigError for settings that make no sense; called when the config is read.

        `folder` is the city's, for settings that name a file.
        """

    @classmethod
    def shape(
        cls,
        settings: Mapping[str, object],  # noqa: ARG003  the default has nothing to tell
        folder: str,  # noqa: ARG003  likewise
    ) -> Mapping[str, str]:
        """Return what the settings make of every session, by name: part of its fingerprint.

        A session that was made with other ones has drifted. Raises ConfigError.
        """
        return {}

    @classmethod
    def sources(
        cls,
        settings: Mapping[str, object],  # noqa: ARG003  the default has none
        folder: str,  # noqa: ARG003  likewise
    ) -> tuple[str, ...]:
        """Return the absolute paths of the files that the settings name.

        The city is read again when one of them changes. Raises ConfigError.
        """
        return ()

    @classmethod
    def leadership(cls, context: CityContext) -> Leadership | None:  # noqa: ARG003  most have none
        """Return a claim to lead a city whose controllers run on several machines.

        None where sessions can be reached from one machine alone: there a file lock does. Made
        before any provider, and without touching the city's state.
        """
        return None

    def about(self) -> str:
        """Say in a few words what this works with and where, for `gc doctor`."""
        return "it can work here"

    # --- life

    @abstractmethod
    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up and return when it is ready, following `session.startup`.

        One that lives but never shows its prompt counts as started when the time is up.
        Raises SessionExists when one of that name lives. What is left of one that ended is
        replaced: its metadata, its output and any process it left behind are gone first.
        Raises StartFailed, with the last output, when it cannot be brought up; nothing is left
        running then. Raises StartPending, and leaves the session as it is, where it cannot be
        brought up yet and nothing is wrong with it: the next start, with the same GC_RUN, goes on
        where this one stopped. Of several concurrent starts of one name exactly one succeeds.
        """

    @abstractmethod
    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """End the session with all its processes and forget it; return the moment all is gone.

        Asks first, waits up to `grace` seconds, then forces. No such session: returns at once.
        Raises StopTimedOut when something survives.
        """

    def stop_all(
        self, names: Sequence[str], *, grace: float, timeout: float
    ) -> Mapping[str, GascityError]:
        """Stop several sessions side by side; return why some of them could not be.

        A provider that can do it in fewer steps overrides this.
        """
        failures: dict[str, GascityError] = {}

        def stop(name: str) -> None:
            try:
                self.stop(name, grace=grace, timeout=timeout)
            except GascityError as problem:
                failures[name] = problem

        threads = [threading.Thread(target=stop, args=[name], daemon=True) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failures

    @abstractmethod
    def interrupt(self, name: str, *, timeout: float) -> None:
        """Interrupt what the session does now, as Ctrl-C would. No such session: nothing."""

    # --- questions

    @abstractmethod
    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the session exists and its program lives."""

    @abstractmethod
    def process_alive(self, name: str, names: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of `names` lives in the session's process tree.

        No names: true for a session that runs. No such session: false.
        """

    def processes_alive(
        self, wanted: Mapping[str, Sequence[str]], *, timeout: float
    ) -> Mapping[str, bool]:
        """Answer `process_alive` for several sessions, each with its names.

        Those of which it cannot be told at the moment may be left out, where others can be told of.
        A provider that can tell from one look at the process table overrides this.
        """
        return {
            name: self.process_alive(name, names, timeout=timeout) for name, names in wanted.items()
        }

    # --- talk

    @abstractmethod
    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Give the caller's terminal to the session until it detaches; return an exit code.

        Raises SessionNotFound, or NotSupported where there is no terminal to give.
        """

    @abstractmethod
    def nudge(
        self, name: str, text: str, *, timeout: float, wait: bool = False, raw: bool = False
    ) -> Receipt:
        """Hand `text` to the agent as one message, submit it, and look for proof.

        An agent that cannot take it now (a dialog, a limit, somebody's draft) is not typed at: that
        is `REFUSED`, at once or, with `wait`, when the time is up. Control characters are left out,
        and what the agent would take for a command is made harmless, unless it is `raw`.
        """

    def terminal(self, name: str) -> Terminal | None:  # noqa: ARG002  the default has none
        """Return the session's terminal; None where sessions have none."""
        return None

    def screens(
        self, names: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        """Return what several sessions show; those without a screen are left out.

        So are those that are known to have shown nothing new after `since`, in seconds since the
        epoch. A provider that can tell in fewer steps overrides this.
        """
        del since
        found = {name: self.terminal(name) for name in names}
        return {
            name: terminal.look(timeout=timeout)
            for name, terminal in found.items()
            if terminal is not None
        }

    @abstractmethod
    def send_keys(self, name: str, keys: Sequence[str], *, timeout: float) -> None:
        """Press named keys (`Enter`, `Down`, `C-c`, ...) or single characters, in order.

        No such session: nothing.
        """

    @abstractmethod
    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last `lines` lines the session showed; all that is kept when not positive.

        With `colours` they may hold the escape sequences that make them. Works after the program
        ended, until `stop`. Raises SessionNotFound.
        """

    # --- metadata: lives exactly as long as the session

    @abstractmethod
    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session. Raises SessionNotFound."""

    @abstractmethod
    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value; None when the key or the session is not there."""

    @abstractmethod
    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key. Nothing happens when the key or the session is not there."""

    # --- utilities

    @abstractmethod
    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names that begin with `prefix` of this city's sessions that run."""

    @abstractmethod
    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last showed something, in seconds since the epoch.

        None when there is no such session or the provider cannot tell.
        """

    @abstractmethod
    def clear_scrollback(self, name: str, *, timeout: float) -> None:
        """Forget what the session showed so far. No such session: nothing."""

    @abstractmethod
    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder.

        No such session or no such source: nothing. Never writes outside the work folder.
        """

    # --- ours, with slow but correct defaults

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session of this city, living or ended, in one answer.

        The default asks one question per session and sees only those that run, and only the
        metadata keys the controller knows.
        """
        from gascity.core import observed  # noqa: PLC0415  names used by this default alone

        keys = (
            observed.CITY_ID,
            observed.AGENT,
            observed.CONFIG_HASH,
            observed.CONFIG,
            observed.BEACON,
            observed.RUN,
            observed.STARTING,
            observed.BACKEND,
            observed.PROMPT,
            observed.DRAIN,
            observed.DRAINED,
            observed.RESTART_REQUESTED,
        )
        states: dict[str, SessionState] = {}
        for name in self.list_running("", timeout=timeout):
            found = {key: self.get_meta(name, key, timeout=timeout) for key in keys}
            life = Alive() if self.is_running(name, timeout=timeout) else Exited()
            states[name] = SessionState(
                name=name,
                life=life,
                last_activity=self.last_activity(name, timeout=timeout),
                meta={key: value for key, value in found.items() if value is not None},
            )
        return states

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,  # noqa: ARG002  the default knows nothing to tell
        interval: float = 1.0,
    ) -> Watch:
        """Call `wake` from some thread soon after anything may have changed.

        A provider that is told everything may call `seen` instead, with what `observe` would have
        answered; one that knows for certain that some sessions ended, with those alone. The default
        calls `wake` every `interval` seconds.
        """
        return Ticking(wake, interval)

    keeps_previous_output = False
    """Whether `previous_output` tells anything."""

    def previous_output(self, name: str, lines: int) -> str:  # noqa: ARG002  there is none to ask for
        """Return the last lines of the incarnation that the present one replaced, where kept.

        With `keeps_previous_output` nobody has to read them before a start, while an agent is down.
        """
        return ""

    def close(self) -> None:  # noqa: B027  a provider without connections has nothing to let go
        """Let go of connections. Sessions are not touched."""
