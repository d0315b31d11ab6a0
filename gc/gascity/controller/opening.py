"""Opening a city: its file, its providers, and the surroundings of its agents.

What the controller and the commands that work without one have in common. Light on purpose: it
loads neither the loop nor the journal.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Iterable
from pathlib import Path

from gascity.agent import Home
from gascity.config.load import load_city
from gascity.controller.place import Place
from gascity.core.model import City, declared
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.registry import KNOWN, auto_provider, make_provider


def read_city(path: Path) -> City:
    """Load a city with the providers of this machine; raises ConfigProblems."""
    return load_city(path, known_providers=KNOWN, auto_provider=auto_provider())


def open_providers(
    city: City, place: Place, names: Iterable[str] = ()
) -> dict[str, SessionProvider]:
    """Return the providers that the city's agents use, or those named."""
    used = set(names) or {spec.provider for spec in declared(city.desired)}
    used = used or {auto_provider() if city.default_provider == "auto" else city.default_provider}
    return {
        name: make_provider(
            name,
            CityContext(
                city=city.name,
                city_id=city.desired.city_id,
                state_dir=place.state,
                settings=city.provider_settings.get(name, {}),
            ),
        )
        for name in sorted(used)
    }


def home_of(city: City) -> Home:
    """Return the surroundings of this city's agents, taken from this process."""
    user = pwd.getpwuid(os.getuid())
    ambient = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
    ambient |= {"SHELL": user.pw_shell} | dict(os.environ)
    return Home(
        city=city.name,
        city_id=city.desired.city_id,
        city_path=city.root,
        ambient=ambient,
        gc_folder=os.path.dirname(os.path.abspath(sys.executable)),
    )
