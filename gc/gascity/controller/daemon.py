"""One controller process: from a city's folder to a running loop and back out.

Stopping it with a signal leaves the agents running; the next one takes them up. SIGHUP has it read
the city again. Where a leader is elected, it stands by before all that.
"""

from __future__ import annotations

import gc
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gascity import signals, unixsocket
from gascity.awake import Patience
from gascity.controller.act import Hands
from gascity.controller.control import ControlSocket
from gascity.controller.feed import METHOD, MOVES, Feed
from gascity.controller.leading import Election, Lead, got
from gascity.controller.lock import CityLock
from gascity.controller.loop import Controller
from gascity.controller.messages import Changed, Leave
from gascity.controller.opening import (
    home_of,
    lasting_settings,
    leadership_of,
    open_provider,
    open_providers,
    read_city,
)
from gascity.controller.place import Place
from gascity.controller.reload import Origin
from gascity.core.actions import Event, EventType
from gascity.core.model import City
from gascity.errors import CityHeld, GascityError
from gascity.journal.store import Journal
from gascity.session.leadership import Leads

COMING_OR_GOING = 20.0  # seconds that another may take to listen, or to let the city go


def run_city(
    path: Path,
    *,
    report: Callable[[Event], None],
    ready: Callable[[City], None],
    election: Election | None = None,
) -> str:
    """Be the controller of the city at `path` until told to leave; return why.

    Calls `ready` once the city is held and the socket answers. Raises CityHeld when another
    controller has it. With an `election` it stands by until it leads, and raises NotLeading when
    that is over.
    """
    if election is None:
        return _keep(path, report, ready)
    city = read_city(path)
    lead = Lead(leadership_of(city, Place(city.root)), election)
    with lead.hearing():
        given = lead.stand_by()
        if given is None:
            return "it was told to end while it stood by"
        try:
            return _keep(path, report, ready, _Reign(lead, given, city))
        finally:
            lead.give_up()


@dataclass(frozen=True, slots=True)
class _Reign:
    """A lead that was given, and the city as it was when this process began to stand by for it."""

    lead: Lead
    given: Leads
    city: City

    def check_city(self, city: City) -> None:
        """Raise GascityError for a city that is not the one that this process leads."""
        if (self.city.name, lasting_settings(self.city)) != (city.name, lasting_settings(city)):
            raise GascityError(
                "the city's name or where it lives changed while this controller stood by",
                hint="start it again: it stands by for the city as it is now",
            )


def _keep(
    path: Path,
    report: Callable[[Event], None],
    ready: Callable[[City], None],
    reign: _Reign | None = None,
) -> str:
    began = time.time()
    city = read_city(path)
    fence = None
    if reign is not None:
        reign.check_city(city)
        fence = reign.lead.check
    place = Place(city.root)
    place.prepare()
    lock = _hold(place)
    feed = Feed(place.journal)
    journal = Journal(place.journal, written=feed.ring)
    journal.look_over()
    providers = open_providers(city, place, journal.remembered(), fence)
    hands = Hands(providers, home_of(city), city.daemon.shutdown_timeout, place.runs, city.screens)
    origin = Origin(
        path=str(path),
        read=partial(read_city, path),
        open=lambda city, name: open_provider(city, place, name, fence),
        read_since=began,
    )
    controller = Controller(city, providers, journal, hands, report=report, origin=origin)
    controller.standing.tell = feed.ring
    streams = {METHOD: feed.serve, MOVES: feed.serve_moves}
    with signals.heard(_signals(controller)):
        control = ControlSocket(place.socket, controller.post, streams)
        ready(city)
        _settle_down()
        why = _run(controller, reign)
        feed.close()
        control.close()
        for provider in controller.providers.values():
            provider.close()
        journal.close()
        lock.release()
    if reign is not None and reign.lead.lost is not None:
        raise reign.lead.lost
    return why


def _hold(place: Place) -> CityLock:
    """Hold the city. Raises CityHeld when another has it who listens, or does not let it go.

    One who has it and does not listen is about to, or ends: who has just been told that no
    controller runs may start the next one.
    """
    lock, patience = CityLock(place.lock), Patience(COMING_OR_GOING)
    while True:
        try:
            lock.acquire()
        except CityHeld:
            if patience.left() <= 0 or _is_listened_to(place.socket):
                raise
        else:
            return lock


def _is_listened_to(path: str) -> bool:
    try:
        unixsocket.connect(path, timeout=1.0).close()
    except (FileNotFoundError, ConnectionRefusedError):
        return False
    except OSError:  # more want to be heard than can be
        return True
    return True


def _run(controller: Controller, reign: _Reign | None) -> str:
    if reign is None:
        return controller.run()
    lead, given = reign.lead, reign.given
    message = f"as {given.name}, because {given.why}"
    controller.tell(Event(EventType.CONTROLLER_LEADING, message=message))
    lead.busy = True
    lead.follow(lambda why: controller.post(Leave(why)))
    why = controller.run()
    lead.busy = controller.deeds.in_hand()
    return why


def _settle_down() -> None:
    """Make ready for short bursts of work: what is loaded stays, and threads take turns quickly."""
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.001)


def _signals(controller: Controller) -> dict[int, Callable[[], None]]:
    """Return what each signal tells the controller."""
    ends: dict[int, Callable[[], None]] = {
        number: partial(controller.post, Leave(got(number)))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    return {**ends, signal.SIGHUP: partial(controller.post, Changed())}
