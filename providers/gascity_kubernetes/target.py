"""One session in a pod while it is being brought up: what `startup` asks for, done over exec."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping
from functools import partial

from gascity.core.model import SessionConfig
from gascity.core.observed import Alive, Life
from gascity.errors import ProviderError, ProviderUnavailable, StartFailed
from gascity.screens.rules import Rules
from gascity.session.command import for_shell
from gascity.session.delivery import Hold
from gascity.session.provider import SessionProvider
from gascity.session.readiness import Stand
from gascity.session.receipts import Receipt
from gascity.session.startup import Ran
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.shell import quote
from gascity.session.tmux.standing import Standing
from gascity.session.tmux.wire import command
from gascity_kubernetes import entry, manifest, names, state
from gascity_kubernetes.hand import Hand
from gascity_kubernetes.inside import Inside
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import Pod

MOST_OUTPUT = 16 * 1024  # bytes of a failed command that go into the error
LONGEST_WORD = 120_000  # bytes; Linux takes 128 KiB in one argument or variable
ENDING = 5.0  # seconds for the API to hear of an end
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class PodTarget:
    """Brings up one session; its pod is there already, and waits."""

    def __init__(
        self,
        provider: SessionProvider,
        name: str,
        config: SessionConfig,
        pod: Pod,
        inside: Inside,
        settings: Settings,
        *,
        rules: Rules,
        hold: Hold,
        greet: Callable[..., Receipt],
        city: manifest.City,
        deadline: float,
    ) -> None:
        self._provider = provider
        self._name = name
        self._config = config
        self._pod = pod
        self._inside = inside
        self._settings = settings
        self._greet = greet
        self._deadline = deadline
        self._work_dir = state.work_dir(pod)
        self._env = manifest.environment(config.env, city.path, manifest.place_of(city, settings))
        find = partial(provider.terminal, name)
        self._standing = Standing(self, rules, config.hints, hold, find)

    def make_work_dir(self) -> None:
        """Make the work folder unless it is there."""
        check(self._name, self._env)
        done = self._hand(10.0).run(
            f"mkdir -p {quote(self._work_dir)} 2>&1", deadline=time.monotonic() + 10.0
        )
        if done.status != 0:
            raise StartFailed(f"the work folder of {self._name} cannot be made: {done.text}")

    def place(self, src: str, rel_dst: str, *, overwrite: bool) -> None:
        """Copy into the work folder; raises OSError when there is no such source."""
        os.stat(src)
        left = max(self._deadline - time.monotonic(), 0.01)
        self._inside.place(self._pod, src, rel_dst, overwrite=overwrite, timeout=left)

    def run(self, command_: str, *, timeout: float) -> Ran:
        """Run a command in a shell of its own, in the work folder, with the agent's environment."""
        deadline = time.monotonic() + timeout
        hand = self._inside.open(self._pod, deadline=deadline)
        exports = "".join(f"export {key}={quote(value)}\n" for key, value in self._env.items())
        script = f"{exports}cd {quote(self._work_dir)} && /bin/sh -c {quote(command_)} 2>&1"
        try:
            done = hand.run(script, deadline=deadline)
        except ProviderUnavailable:
            if time.monotonic() < deadline:
                raise
            return Ran(None, "")
        finally:
            hand.close()
        return Ran(done.status, done.output[-MOST_OUTPUT:].decode(errors="replace").strip())

    def run_script(self, path: str, *, timeout: float) -> Ran:
        """Run a script: a file of this machine is brought into the pod first."""
        here = os.path.join(self._config.work_dir, path)
        if not os.path.exists(here):
            return self.run(f"sh {quote(path)}", timeout=timeout)
        setup = f"{entry.HOME}/setup"
        self._inside.place(
            self._pod, here, "script", overwrite=True, timeout=timeout, work_dir=setup
        )
        script = f"{setup}/script"
        how = quote(script) if os.access(here, os.X_OK) else f"sh {quote(script)}"
        return self.run(how, timeout=timeout)

    def create(self, *, timeout: float) -> None:
        """Start the agent in its tmux; from now on the pod ends with it."""
        deadline = time.monotonic() + timeout
        hand = self._hand(timeout)
        text = for_shell(self._config.command)
        words = ["-c", text]
        if len(text.encode(errors="surrogateescape")) > LONGEST_WORD:
            words = [f"{entry.HOME}/command"]
            hand.run(f"printf %s {quote(text)} >{words[0]}", deadline=deadline)
        own = f'"$PATH:{entry.HOME}/bin"'  # the image's, and the gc of the pod
        path = quote(self._env["PATH"]) if self._env.get("PATH") else own
        blocks = hand.ask([self._birth_line(words)], deadline=deadline, path=path)
        if not blocks[0].ok:
            raise StartFailed(f"session {self._name}: tmux refused it: {blocks[0].text}")
        with contextlib.suppress(Lost):  # it may have ended already
            hand.run(f": >{entry.BEGUN}", deadline=deadline)
        began = f"{time.time():.3f}"
        self._inside.mark(self._pod, {names.STAGED: began}, timeout=timeout)

    def life(self, *, timeout: float) -> Life:
        """Tell whether its program runs: tmux knows it before the API does."""
        deadline = time.monotonic() + timeout
        asked = command("display-message", "-p", "-t", entry.PANE, "#{pane_dead}")
        try:
            blocks = self._hand(timeout).ask([asked], deadline=deadline)
            if blocks[0].ok and blocks[0].text == "0":
                return Alive()
        except ProviderError:
            pass  # the pod may be ending
        return self._inside.end_of(self._pod, deadline=min(deadline, time.monotonic() + ENDING))

    def peek(self, lines: int, *, timeout: float) -> str:
        """Return what it shows."""
        return self._provider.peek(self._name, lines, timeout=timeout)

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
        """Leave it: the provider removes the pod of every start that fails."""

    def _hand(self, timeout: float) -> Hand:
        return self._inside.hand(self._pod, deadline=time.monotonic() + timeout)

    def _birth_line(self, words: list[str]) -> str:
        env = [word for key, value in self._env.items() for word in ("-e", f"{key}={value}")]
        size = ["-x", str(self._settings.width), "-y", str(self._settings.height)]
        folder = self._work_dir.replace("#", "##")  # tmux takes the folder for a format
        session = ["-s", entry.SESSION, "-n", "agent", *size, "-c", folder]
        agent = self._config.meta.get("GC_AGENT", self._name).replace("#", "##")
        line = f"#[align=left] {agent} | {self._name} #[align=right] #{{prefix}} d detaches "
        return " ; ".join(
            [
                command("new-session", "-d", "-E", *session, *env, "--", "/bin/sh", *words),
                # A pane with a pipe is read to its end before it is closed.
                command("pipe-pane", "-O", "-t", entry.PANE, "exec cat >/dev/null"),
                command("set-option", "-g", "status-format[0]", line),
            ]
        )


def check(name: str, env: Mapping[str, str]) -> None:
    """Refuse variables that no program in a pod could be given; raises StartFailed."""
    for key, value in env.items():
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise StartFailed(f"session {name}: {key!r} cannot be a variable")
        if len(os.fsencode(value)) > LONGEST_WORD:
            raise StartFailed(
                f"session {name}: variable {key} is longer than {LONGEST_WORD} bytes, which is more"
                " than a program can be given"
            )
