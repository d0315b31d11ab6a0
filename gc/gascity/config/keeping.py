"""How long a city keeps what is in its journal, for who posts where no controller may run.

Only these two keys are read, and not the whole city: who posts has to be quick.
"""

from __future__ import annotations

import os
import tomllib

from gascity.config.durations import parse_duration
from gascity.config.find import CITY_FILE
from gascity.core.model import DaemonSettings


def kept(journal: str) -> tuple[float, int] | None:
    """Return for how many seconds the city of a journal keeps events, and how many megabytes.

    None says that nobody knows: its file is not there or broken.
    """
    folder = os.path.dirname(os.path.dirname(os.path.realpath(journal)))
    usual = DaemonSettings()
    try:
        with open(os.path.join(folder, CITY_FILE), "rb") as file:
            daemon = tomllib.load(file).get("daemon", {})
        given = daemon.get("keep_events")
        megabytes = daemon.get("keep_megabytes", usual.keep_megabytes)
        seconds = usual.keep_events if given is None else parse_duration(given)
    except (OSError, ValueError, AttributeError):  # the last for a key that is no table
        return None
    if type(megabytes) is not int or megabytes < 1 or seconds <= 0:
        return None
    return seconds, megabytes
