"""What a service is made of, before it becomes a unit or a plist."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from gascity.errors import UsageError

LONGEST_NAME = 200  # a file's name may have 255 bytes, and suffixes come to it
KEPT = ("LANG", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
KEPT_PREFIX = "LC_"
ENV_FILE = os.path.join(".gc", "service.env")


@dataclass(frozen=True, slots=True)
class Service:
    """The controller of one city, to be run by a service manager.

    `root` and `program` are absolute paths. `environment` is written to a file that others may
    read: no secret belongs in it.
    """

    name: str
    city: str
    root: str
    program: str
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        for path in (self.root, self.program):
            _check_path(path)


def service_name(city: str, city_id: str) -> str:
    """Return the name a city's service has if nobody gives it another."""
    return f"gc-{city}-{city_id[:8]}"


def check_name(name: str) -> str:
    """Return the name if a service can have it. Raises UsageError."""
    if len(name) > LONGEST_NAME or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name):
        raise UsageError(
            f"{name!a} cannot be the name of a service",
            hint=f"letters, digits, _ . and -, up to {LONGEST_NAME} of them",
        )
    return name


def environment(ambient: Mapping[str, str]) -> dict[str, str]:
    """Return what a service takes from the shell it is installed from.

    Its PATH, because agents need it, and where it speaks of languages and of folders for settings.
    Folders of the PATH that depend on where one stands are left out, and so is what cannot be
    written down.
    """
    folders = [each for each in ambient.get("PATH", "").split(":") if each.startswith("/")]
    kept = {"PATH": ":".join(dict.fromkeys(each for each in folders if _is_plain(each)))}
    for key in sorted(ambient):
        if (key in KEPT or key.startswith(KEPT_PREFIX)) and _is_plain(key + ambient[key]):
            kept[key] = ambient[key]
    return {key: value for key, value in kept.items() if value}


def _check_path(path: str) -> None:
    if not _is_plain(path):
        raise UsageError(
            f"a service cannot be made for {path!a}: its path holds control characters or bytes"
            " that are no text",
            hint="rename the folder",
        )


def _is_plain(text: str) -> bool:
    """Tell whether a text fits into a line of a file in UTF-8."""
    return not re.search(r"[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]", text)
