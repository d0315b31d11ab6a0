"""Asking the systemd of this user."""

from __future__ import annotations

import contextlib
import os

from gascity.errors import GascityError
from gascity.service import unit
from gascity.service.declared import Service
from gascity.service.host import START_TIMEOUT, TIMEOUT, Ran, Standing, Unmanaged, run

GOOD_MODE = "process"
_ASKED = "LoadState,UnitFileState,ActiveState,SubState,MainPID,KillMode,Result"
_WANTS = "default.target.wants"


class Systemd:
    """`systemctl --user`, and the folder its units are kept in."""

    kind = "systemd"
    prefix = ""
    suffix = unit.SUFFIX
    city_of = staticmethod(unit.city_of)
    essence = staticmethod(unit.essence)

    def __init__(self) -> None:
        home = os.environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(home):  # a relative one is to be ignored, says the standard
            home = os.path.expanduser("~/.config")
        self.folder = os.path.join(home, "systemd", "user")

    def file_name(self, name: str) -> str:
        """Return what the unit's file is called."""
        return name + unit.SUFFIX

    def text(self, service: Service) -> str:
        """Return the unit."""
        return unit.unit_text(service)

    def enable(self, name: str) -> None:
        """Have the unit read, and started at every login. Raises Unmanaged."""
        self._reach()
        self._do("daemon-reload")
        self._do("enable", self.file_name(name))

    def start(self, name: str) -> None:
        """Start the unit and wait until it is ready. Raises Unmanaged."""
        self._reach()
        ran = _systemctl("start", self.file_name(name), timeout=START_TIMEOUT)
        if ran.code != 0:
            raise GascityError(
                f"{name} did not start: {ran.complaint}",
                hint=f"`{self.by_hand('log', name)}` shows what it said",
            )

    def disable(self, name: str) -> None:
        """Stop the unit's main process, and do not start it again. Raises Unmanaged."""
        self._reach()
        self._do("disable", "--now", self.file_name(name))

    def forget(self, name: str) -> None:
        """Remove the link that starts the unit, and have systemd forget it. Raises Unmanaged."""
        with contextlib.suppress(OSError):
            link = os.path.join(self.folder, _WANTS, self.file_name(name))
            if os.path.islink(link):
                os.unlink(link)
        self._reach()
        self._do("daemon-reload")
        _systemctl("reset-failed", self.file_name(name))  # fails where there is nothing to forget

    def standing(self, name: str) -> Standing:
        """Return how the unit stands. Raises Unmanaged."""
        facts = self._facts(name)
        active = facts.get("ActiveState", "unknown")
        words = active
        if active == "failed":
            words = f"failed ({facts.get('Result', 'nobody knows why')})"
        elif active not in {"active", "inactive"}:
            words = f"{active} ({facts.get('SubState', '')})"
        pid = facts.get("MainPID", "")
        return Standing(
            enabled=facts.get("UnitFileState", "").startswith("enabled"),
            active=active in {"active", "reloading"},
            pid=int(pid) if pid.isdigit() else 0,
            says=words,
        )

    def danger(self, name: str, text: str) -> str:
        """Say which `KillMode` the unit has, if a stop of it would end the agents."""
        mode = unit.kill_mode(text)
        with contextlib.suppress(GascityError):  # it knows what stands in files beside the unit
            mode = self._facts(name).get("KillMode") or mode
        if mode == GOOD_MODE:
            return ""
        where = self.by_hand("cat", name)
        return f"{name} has KillMode={mode}: its stop or restart ends the agents; see `{where}`"

    def lingers(self) -> bool:
        """Tell whether this user's services go on without a login; true when nobody knows."""
        try:
            ran = run(["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"])
        except GascityError:
            return True
        return ran.code != 0 or ran.out.strip() != "no"

    def by_hand(self, verb: str, name: str) -> str:
        """Return the command by which a person does it."""
        file = self.file_name(name)
        match verb:
            case "log":
                return f"journalctl --user -u {file}"
            case "enable" | "go":
                now = " --now" if verb == "go" else ""
                return f"systemctl --user daemon-reload; systemctl --user enable{now} {file}"
            case _:
                return f"systemctl --user {verb} {file}"

    def _facts(self, name: str) -> dict[str, str]:
        self._reach()
        ran = _systemctl("show", self.file_name(name), f"--property={_ASKED}")
        if ran.code != 0:
            raise Unmanaged(f"systemd does not tell of {name}: {ran.complaint}")
        pairs = (line.partition("=") for line in ran.out.splitlines())
        return {key: value for key, _, value in pairs}

    def _reach(self) -> None:
        """Raise Unmanaged unless the user's systemd answers."""
        ran = _systemctl("show", "--property=Version")
        if ran.code != 0:
            raise Unmanaged(
                f"the systemd of this user cannot be asked: {ran.complaint}",
                hint="in a shell without a login of its own, XDG_RUNTIME_DIR=/run/user/$(id -u)"
                " may help; in a container there may be no systemd",
            )

    def _do(self, *words: str) -> None:
        ran = _systemctl(*words)
        if ran.code != 0:
            raise GascityError(f"`systemctl --user {' '.join(words)}` failed: {ran.complaint}")


def _systemctl(*words: str, timeout: float = TIMEOUT) -> Ran:
    return run(["systemctl", "--user", *words], timeout=timeout)
