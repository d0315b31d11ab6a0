"""The text of a launchd agent, and what is read from one. Pure.

`AbandonProcessGroup` does for launchd what `KillMode=process` does for systemd: the agents are not
ended with the controller.
"""

from __future__ import annotations

import plistlib
from xml.parsers.expat import ExpatError

from gascity.service.declared import Service
from gascity.service.signature import words

SUFFIX = ".plist"
PREFIX = "dev.gascity."


def label_of(name: str) -> str:
    """Return the label under which launchd knows a service."""
    return PREFIX + name.removeprefix("gc-")


def plist_text(service: Service) -> str:
    """Return the launchd agent that runs the city's controller."""
    log = f"{service.root.rstrip('/')}/.gc/service.log"
    facts = {
        "Label": label_of(service.name),
        "ProgramArguments": [service.program, "-C", service.root, "start"],
        "WorkingDirectory": service.root,
        "EnvironmentVariables": dict(service.environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": 30,
        "AbandonProcessGroup": True,
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    body = plistlib.dumps(facts, sort_keys=False).decode()
    return f"{body}<!-- {words(body)} -->\n"


def city_of(text: str) -> str | None:
    """Return the folder of the city that an agent is for, or None when it names none."""
    folder = _facts(text).get("WorkingDirectory")
    return folder if isinstance(folder, str) else None


def essence(text: str) -> str:
    """Return an agent without what depends on the shell it was installed from."""
    facts = {key: value for key, value in _facts(text).items() if key != "EnvironmentVariables"}
    return plistlib.dumps(facts).decode()


def leaves_agents(text: str) -> bool:
    """Tell whether the agents go on when the service is stopped."""
    return _facts(text).get("AbandonProcessGroup") is True


def _facts(text: str) -> dict[str, object]:
    try:
        facts = plistlib.loads(text.encode("utf-8", "surrogateescape"))
    except (plistlib.InvalidFileException, ExpatError, ValueError, KeyError):
        return {}
    return facts if isinstance(facts, dict) else {}
