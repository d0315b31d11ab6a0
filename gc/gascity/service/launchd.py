"""Asking the launchd of this user's login."""

from __future__ import annotations

import os
import re

from gascity.errors import GascityError
from gascity.service import plist
from gascity.service.declared import Service
from gascity.service.host import START_TIMEOUT, Ran, Standing, Unmanaged, run

NO_SUCH_SERVICE = 113


class Launchd:
    """`launchctl` for the login of this user, and the folder its agents are kept in."""

    kind = "launchd"
    prefix = plist.PREFIX
    suffix = plist.SUFFIX
    city_of = staticmethod(plist.city_of)
    essence = staticmethod(plist.essence)

    def __init__(self) -> None:
        self.folder = os.path.expanduser("~/Library/LaunchAgents")
        self._domain = f"gui/{os.getuid()}"

    def file_name(self, name: str) -> str:
        """Return what the agent's file is called."""
        return plist.label_of(name) + plist.SUFFIX

    def text(self, service: Service) -> str:
        """Return the agent."""
        return plist.plist_text(service)

    def enable(self, name: str) -> None:
        """Let launchd load the agent at every login, which it does with all of that folder."""
        self._do("enable", self._target(name))

    def start(self, name: str) -> None:
        """Load the agent, which starts it; one that is loaded is started if it does not run."""
        if self._print(name).code == 0:
            self._do("kickstart", self._target(name))
        else:
            self._do("bootstrap", self._domain, os.path.join(self.folder, self.file_name(name)))

    def disable(self, name: str) -> None:
        """Unload the agent, which stops its process. Raises Unmanaged."""
        if self._print(name).code == 0:
            self._do("bootout", self._target(name))

    def forget(self, name: str) -> None:
        """Do nothing: launchd knows a file only while it is there."""

    def standing(self, name: str) -> Standing:
        """Return how the agent stands. Raises Unmanaged."""
        ran = self._print(name)
        state = re.search(r"^\s*state = (.+)$", ran.out, re.MULTILINE)
        pid = re.search(r"^\s*pid = (\d+)$", ran.out, re.MULTILINE)
        says = state[1] if state else "not loaded"
        return Standing(
            enabled=self._is_enabled(name),
            active=says == "running",
            pid=int(pid[1]) if pid else 0,
            says="active" if says == "running" else says,
        )

    def danger(self, name: str, text: str) -> str:
        """Say that the agents would end with the service, if they would."""
        if plist.leaves_agents(text):
            return ""
        return f"{name} has no AbandonProcessGroup: its stop or restart ends the agents"

    def lingers(self) -> bool:
        """Tell that there is nothing to say: an agent of launchd belongs to a login."""
        return True

    def by_hand(self, verb: str, name: str) -> str:
        """Return the command by which a person does it."""
        match verb:
            case "enable" | "go" | "start":
                return f"launchctl bootstrap {self._domain} ~/Library/LaunchAgents/" + (
                    self.file_name(name)
                )
            case "restart":
                return f"launchctl kickstart -k {self._target(name)}"
            case "log":
                return "tail .gc/service.log"
            case _:
                return f"launchctl bootout {self._target(name)}"

    def _target(self, name: str) -> str:
        return f"{self._domain}/{plist.label_of(name)}"

    def _print(self, name: str) -> Ran:
        """Ask about the agent; an answer is that there is none. Raises Unmanaged."""
        ran = run(["launchctl", "print", self._target(name)])
        if ran.code not in {0, NO_SUCH_SERVICE}:
            raise Unmanaged(f"launchd cannot be asked: {ran.complaint}")
        return ran

    def _is_enabled(self, name: str) -> bool:
        listed = run(["launchctl", "print-disabled", self._domain]).out
        label = re.escape(plist.label_of(name))
        return not re.search(rf'"{label}" => (true|disabled)', listed)

    def _do(self, *words: str) -> None:
        ran = run(["launchctl", *words], timeout=START_TIMEOUT)
        if ran.code != 0:
            raise GascityError(f"`launchctl {' '.join(words)}` failed: {ran.complaint}")
