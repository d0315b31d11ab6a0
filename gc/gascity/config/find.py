"""Which city a folder belongs to: the nearest `city.toml` upwards.

A folder whose `city.toml` is gone but whose `.gc` is not is still that city: going on upwards would
stop somebody else's.
Apart from loading, because the commands that only ask a running controller need no more than this.
"""

from __future__ import annotations

import os

from gascity.errors import NotFound

CITY_FILE = "city.toml"


def find_city(start: str) -> str:
    """Return the path of the nearest `city.toml` in `start` or above it. Raises NotFound.

    What is not a folder belongs to no city, also where it would lie in one.
    """
    try:
        start = os.path.abspath(start)
    except FileNotFoundError:
        raise NotFound("the folder you are in is not there any more") from None
    if not os.path.isdir(start):  # before going upwards: a slip must not mean the city around it
        raise NotFound(f"there is no folder {start!a}")
    folder = start
    while True:
        path = os.path.join(folder, CITY_FILE)
        if os.path.isfile(path) or os.path.exists(os.path.join(folder, ".gc", "city.db")):
            return os.path.join(os.path.realpath(folder), CITY_FILE)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    raise NotFound(
        f"there is no {CITY_FILE} in {start!a} or any folder above it",
        hint="`gc init` makes a city here",
    )
