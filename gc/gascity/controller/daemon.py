"""One controller process: from a city's folder to a running loop and back out.

Stopping it with a signal leaves the agents running; the next one takes them up. SIGHUP has it read
the city again.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from gascity.controller.act import Hands
from gascity.controller.control import ControlSocket
from gascity.controller.feed import METHOD, MOVES, Feed
from gascity.controller.lock import CityLock
from gascity.controller.loop import Controller
from gascity.controller.messages import Changed, Leave
from gascity.controller.opening import home_of, open_provider, open_providers, read_city
from gascity.controller.place import Place
from gascity.controller.reload import Origin
from gascity.core.actions import Event
from gascity.core.model import City
from gascity.journal.store import Journal


def run_city(path: Path, *, report: Callable[[Event], None], ready: Callable[[City], None]) -> str:
    """Be the controller of the city at `path` until told to leave; return why.

    Calls `ready` once the city is held and the socket answers. Raises CityHeld when another
    controller has it.
    """
    began = time.time()
    city = read_city(path)
    place = Place(city.root)
    place.prepare()
    lock = CityLock(place.lock)
    lock.acquire()
    feed = Feed(place.journal)
    journal = Journal(place.journal, written=feed.ring)
    journal.look_over()
    providers = open_providers(city, place, journal.remembered())
    hands = Hands(providers, home_of(city), city.daemon.shutdown_timeout, place.runs, city.screens)
    origin = Origin(
        path=str(path),
        read=partial(read_city, path),
        open=lambda city, name: open_provider(city, place, name),
        read_since=began,
    )
    controller = Controller(city, providers, journal, hands, report=report, origin=origin)
    controller.standing.tell = feed.ring
    streams = {METHOD: feed.serve, MOVES: feed.serve_moves}
    control = ControlSocket(place.socket, controller.post, streams)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda signum, _: controller.post(Leave(_named(signum))))
    signal.signal(signal.SIGHUP, lambda *_: controller.post(Changed()))
    ready(city)
    _settle_down()
    why = controller.run()
    feed.close()
    control.close()
    for provider in controller.providers.values():
        provider.close()
    journal.close()
    lock.release()
    return why


def _settle_down() -> None:
    """Make ready for short bursts of work: what is loaded stays, and threads take turns quickly."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.001)


def _named(signum: int) -> str:
    return f"it got {signal.Signals(signum).name}"
