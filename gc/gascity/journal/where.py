"""Where the bus is: what a run is told of it, and where it lies without a city.

Inside a run `JRUN_MESSAGE_BUS` names the journal's file. Outside of cities all that one user's runs
tell is in one file of their own.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from gascity.errors import GascityError, NotFound

VARIABLE = "JRUN_MESSAGE_BUS"
FILE = "city.db"
HINT = f"{VARIABLE} should name a journal, such as the .gc/{FILE} of a city; or unset it"


def home(environment: Mapping[str, str]) -> str:
    """Return the folder for what belongs to no city; nothing is made."""
    given = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(given):  # as its specification says
        given = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(given, "gascity")


def in_a_city(journal: str) -> bool:
    """Tell whether a journal is a city's, whose controller tells of it and lets old things go."""
    return os.path.basename(os.path.dirname(os.path.realpath(journal))) == ".gc"


def named(environment: Mapping[str, str]) -> str:
    """Return the journal that a run is told of, or "".

    Raises NotFound when it is not there, and GascityError when it is no file. What is in the file
    is seen when it is opened.
    """
    path = environment.get(VARIABLE, "")
    if not path:
        return ""
    if not os.path.isabs(path):
        raise GascityError(f"{VARIABLE} is {path!a}, which is not a whole path", hint=HINT)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise NotFound(f"{VARIABLE} names {path!a}, and there is no such file", hint=HINT) from None
    except OSError as problem:
        told = f"{VARIABLE} names {path!a}, which cannot be used: {problem.strerror}"
        raise GascityError(told, hint=HINT) from problem
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise GascityError(f"{VARIABLE} names {path!a}, which is {what}", hint=HINT)
    return path
