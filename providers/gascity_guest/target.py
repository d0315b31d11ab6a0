"""One session in the guest while it is being brought up: what `startup` asks for, done there."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable
from functools import partial

from gascity.core.model import SessionConfig
from gascity.core.observed import Exited, Life
from gascity.errors import ProviderError, ProviderUnavailable, StartFailed
from gascity.screens.rules import Rules
from gascity.session import staging
from gascity.session.delivery import Hold
from gascity.session.provider import SessionProvider
from gascity.session.readiness import Stand
from gascity.session.receipts import Receipt
from gascity.session.startup import Ran
from gascity.session.tmux import screen
from gascity.session.tmux.shell import quote
from gascity.session.tmux.standing import Standing
from gascity_guest import birth
from gascity_guest.hand import Guest
from gascity_guest.making import Maker
from gascity_guest.view import View

MOST_OUTPUT = 16 * 1024  # characters of a failed command that go into the error
SPARE = 2.0  # seconds for the guest to tell that time was up
_TIMED_OUT = (124, 137)


class GuestTarget:
    """Brings up one session."""

    def __init__(
        self,
        provider: SessionProvider,
        name: str,
        config: SessionConfig,
        guest: Guest,
        view: View,
        maker: Maker,
        *,
        rules: Rules,
        hold: Hold,
        greet: Callable[..., Receipt],
        deadline: float,
    ) -> None:
        self._provider = provider
        self._name = name
        self._config = config
        self._guest = guest
        self._view = view
        self._maker = maker
        self._greet = greet
        self._deadline = deadline
        self._env = maker.paths.environment(config.env)
        self._work_dir = maker.paths.inside(config.work_dir)
        find = partial(provider.terminal, name)
        self._standing = Standing(self, rules, config.hints, hold, find)

    def make_work_dir(self) -> None:
        """Make the work folder unless it is there."""
        birth.check(self._name, self._env)
        self._guest.may_act()
        prepare = birth.prepare_script(self._guest.home(self._deadline))
        path = quote(self._work_dir)
        script = f"{prepare}mkdir -p {path} && cd {path}"
        done = self._guest.run(script, deadline=self._deadline)
        if done.status != 0:
            raise StartFailed(
                f"the work folder of {self._name} cannot be made in the guest:"
                f" {done.complaint.strip()}",
                hint="`[session.guest] workspace` says where the city's folder stands in it",
            )

    def place(self, src: str, rel_dst: str, *, overwrite: bool) -> None:
        """Copy into the work folder; raises OSError when there is no such source."""
        os.stat(src)
        place(
            self._guest, self._work_dir, src, rel_dst, overwrite=overwrite, deadline=self._deadline
        )

    def run(self, command: str, *, timeout: float) -> Ran:
        """Run a command in a shell of its own, in the work folder, with the agent's environment."""
        deadline = time.monotonic() + timeout
        exports = "".join(f"export {key}={quote(value)}\n" for key, value in self._env.items())
        body = f"cd {quote(self._work_dir)} || exit 4\n{exports}exec /bin/sh -c {quote(command)}"
        path = quote(self._guest.give(os.fsencode(body), deadline=deadline))
        limit = f"timeout -k 1 {max(timeout - SPARE * 0.25, 0.1):.2f}"
        script = (
            f"trap 'rm -f {path}' EXIT\nlimit='{limit}'\n"
            "command -v timeout >/dev/null || limit=\n"
            f"$limit /bin/sh {path} 2>&1"
        )
        try:
            done = self._guest.run(script, deadline=deadline + SPARE)
        except ProviderUnavailable:
            if time.monotonic() < deadline:
                raise
            return Ran(None, "")
        is_over = done.status in _TIMED_OUT and time.monotonic() >= deadline - SPARE
        said = done.text[-MOST_OUTPUT:] + done.complaint  # the daemon's own limit is told there
        return Ran(None if is_over else done.status, said.strip())

    def run_script(self, path: str, *, timeout: float) -> Ran:
        """Run a script: a file of this machine is brought into the guest first."""
        here = os.path.join(self._config.work_dir, path)
        if not os.path.exists(here):
            return self.run(f"sh {quote(path)}", timeout=timeout)
        with open(here, "rb") as file:
            there = quote(self._guest.give(file, deadline=time.monotonic() + timeout))
        how = f"chmod 700 {there} && {there}" if os.access(here, os.X_OK) else f"sh {there}"
        return self.run(f"{how}; status=$?; rm -f {there}; exit $status", timeout=timeout)

    def create(self, *, timeout: float) -> None:
        """Have it made."""
        self._maker.create(self._name, self._config, timeout)

    def life(self, *, timeout: float) -> Life:
        """Tell whether its program runs."""
        found = self._view.find(self._name, time.monotonic() + timeout)
        return Exited() if found is None else found.life

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return the screen at this moment."""
        del lines
        return screen.now(self._view, self._name, time.monotonic() + timeout)

    def stand(self, *, timeout: float) -> Stand:
        """Read the screen, and answer the dialogs on it."""
        return self._standing.stand(timeout=timeout)

    def nudge(self, text: str, *, wait: bool, timeout: float) -> Receipt:
        """Hand over its first message."""
        return self._greet(self._name, text, timeout=timeout, wait=wait)

    def set_meta(self, key: str, value: str, *, timeout: float) -> None:
        """Store a value with the session."""
        self._provider.set_meta(self._name, key, value, timeout=timeout)

    def discard(self, *, timeout: float) -> None:
        """End it."""
        self._provider.stop(self._name, grace=0.0, timeout=timeout)


def place(
    guest: Guest, work: str, src: str, rel_dst: str, *, overwrite: bool, deadline: float
) -> None:
    """Copy a file, or a folder's content, into a work folder of the guest.

    Raises OSError when the source cannot be read, ProviderError when it cannot be placed.
    """
    rel_dst = staging.check(rel_dst, work)
    archive, size, name = staging.pack(src)
    with archive:
        path = quote(guest.give(archive, deadline=deadline))
    words = staging.unpack_words(work, rel_dst, name, size, overwrite=overwrite)
    script = f"trap 'rm -f {path}' EXIT\n{shlex.join(words)} <{path}"
    guest.may_act()
    done = guest.run(script, deadline=deadline)
    if done.status != 0:
        why = done.complaint.strip().splitlines() or [f"exit code {done.status}"]
        raise ProviderError(f"{src} was not copied: {why[-1]}")
