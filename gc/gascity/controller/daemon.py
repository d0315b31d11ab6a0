"""One controller process: from a city's folder to a running loop and back out.

Stopping it with a signal leaves the agents running; the next one takes them up.
"""

from __future__ import annotations

import gc
import os
import pwd
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from gascity.agent import Home
from gascity.config.load import load_city
from gascity.controller.act import Hands
from gascity.controller.control import ControlSocket
from gascity.controller.lock import CityLock
from gascity.controller.loop import Controller
from gascity.controller.messages import Leave
from gascity.controller.place import Place
from gascity.core.actions import Event
from gascity.core.model import City, declared
from gascity.journal.store import Journal
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.registry import KNOWN, auto_provider, make_provider


def read_city(path: Path) -> City:
    """Load a city with the providers of this machine; raises ConfigProblems."""
    return load_city(path, known_providers=KNOWN, auto_provider=auto_provider())


def run_city(path: Path, *, report: Callable[[Event], None], ready: Callable[[City], None]) -> str:
    """Be the controller of the city at `path` until told to leave; return why.

    Calls `ready` once the city is held and the socket answers. Raises CityHeld when another
    controller has it.
    """
    city = read_city(path)
    place = Place(city.root)
    place.prepare()
    lock = CityLock(place.lock)
    lock.acquire()
    journal = Journal(place.journal)
    providers = open_providers(city, place)
    hands = Hands(providers, home_of(city), city.daemon.shutdown_timeout, place.runs)
    controller = Controller(city, providers, journal, hands, report=report)
    control = ControlSocket(place.socket, controller.post)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, _: controller.post(Leave(_named(signum))))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ready(city)
    _settle_down()
    why = controller.run()
    control.close()
    for provider in providers.values():
        provider.close()
    journal.close()
    lock.release()
    return why


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


def _settle_down() -> None:
    """Make ready for short bursts of work: what is loaded stays, and threads take turns quickly."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.001)


def _named(signum: int) -> str:
    return f"it got {signal.Signals(signum).name}"
