"""What a controller works with that is made from its city, and what takes on another one.

The providers are one dictionary that all parts look into and that only the loop's thread changes:
one that is added can be used at once, and one that nothing lives on any more is closed.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from gascity.controller.act import Hands
from gascity.controller.alarms import Alarms
from gascity.controller.chronicle import Chronicle
from gascity.controller.clock import Clock
from gascity.controller.deeds import Deeds
from gascity.controller.demand import Demand
from gascity.controller.given import Given
from gascity.controller.looks import Looks
from gascity.controller.messages import Happened, Looked, Message, Wake
from gascity.controller.noting import Note
from gascity.controller.observe import of_this_machine
from gascity.controller.own_settings import own_settings
from gascity.controller.postbox import Postbox, first_words
from gascity.controller.records import Records, World
from gascity.controller.screens import ScreenReader, Screens
from gascity.controller.standing import Standing
from gascity.controller.workers import Workers
from gascity.core.actions import Event
from gascity.core.memory import Memory
from gascity.core.model import City, declared
from gascity.core.observed import CITY_ID, Observation, Observed, Seen, SessionState
from gascity.journal.store import Journal
from gascity.session.provider import SessionProvider
from gascity.session.watch import Watch


def needed(city: City) -> frozenset[str]:
    """Return the providers that the city's agents are on; without agents, its default one."""
    used = {spec.provider for spec in declared(city.desired)}
    return frozenset(used or {city.default_provider})


class Parts:
    """The parts of one controller. Used by the loop's thread alone."""

    def __init__(
        self,
        city: City,
        providers: Mapping[str, SessionProvider],
        journal: Journal,
        hands: Hands,
        report: Callable[[Event], None],
        clock: Clock,
        post: Callable[[Message], None],
    ) -> None:
        ambient = dict(hands.home.ambient)
        self._post = post
        self._watches: dict[str, Watch] = {}
        self.providers = dict(providers)
        self.workers = Workers()
        self._city = city
        self._clock = clock
        self.chronicle = Chronicle(city, ambient, journal, report, clock)
        self.alarms = Alarms(city, ambient, journal, self.chronicle, post)
        self.postbox = Postbox(journal.nudges, first_words(city.desired))
        self._given = Given(city.desired.city_id)
        specs = declared(city.desired)
        self.looks = Looks(self.providers, specs, post, self._looked, self._given)
        self.screens = Screens(city, ScreenReader(self.providers, post, clock.now))
        hands = replace(hands, providers=self.providers, note=self._note)
        self.deeds = Deeds(hands, self.workers, post)
        self.demand = Demand(ambient, self.workers, post)
        self.records = Records(city, hands.runs_folder, self._world())
        self.chronicle.listen(lambda event: self.records.hear(event, self.looks.seen))
        self.standing = Standing()

    def watch(self) -> None:
        """Listen to every provider there is, and to no other."""
        for name in self._watches.keys() - self.providers.keys():
            self.workers.submit(self._watches.pop(name).close)
        for name in self.providers.keys() - self._watches.keys():
            self._watches[name] = self._listen(name)

    def take(self, city: City, opened: Mapping[str, SessionProvider]) -> None:
        """Work for another city from now on; `opened` are the providers that come with it."""
        self._city = city
        self.providers.update(opened)
        for provider in self.providers.values():
            settings = own_settings(city, provider.name)
            provider.use(replace(provider.context, screens=city.screens, settings=settings))
        hands = replace(self.deeds.hands, grace=city.daemon.shutdown_timeout, screens=city.screens)
        self.deeds.use(hands)
        self.chronicle.take(city)
        self.alarms.take(city)
        self.postbox.expect(first_words(city.desired))
        self.screens.change(city)
        self.demand.keep(city.desired.pools)
        self._expect(city)

    def observed(
        self,
        sessions: Mapping[str, SessionState],
        busy: Mapping[str, str],
        now: float,
        *,
        closing: bool,
    ) -> Observed:
        """Return all that a plan may look at. Screens and messages are of no concern at the end."""
        unread = self.screens.expect({} if closing else sessions)
        queued = self.postbox.first(sessions, busy)
        return Observed(
            dict(self.looks.seen),
            dict(self.demand.sizes),
            self.deeds.occupied_at_the_end() if closing else busy,
            typed_at=self.deeds.typing(),
            starting=self.deeds.starting(),
            yielding=self.deeds.yielding(),
            shown=self.screens.heard(sessions, now),
            queued={session: one for session, one in queued.items() if session not in unread},
            unread=frozenset(unread),
            looked_at=self.looks.ages(now),
            stood_still=self._clock.standstills(),
        )

    def retire(self, city: City, memory: Memory) -> None:
        """Close the providers that the city does not need and on which nothing of it is left."""
        spare = [name for name in self.providers.keys() - needed(city) if self._is_done(name, city)]
        spare = [name for name in spare if not _remembers(memory, name)]
        if not spare or len(spare) == len(self.providers):  # somewhere there is always to look
            return
        for name in spare:
            self.workers.submit(self.providers.pop(name).close)
        self._expect(city)

    def close(self) -> None:
        """Stop listening and reading, and have all written; the providers stay open."""
        self.screens.close()
        self.alarms.close()
        for watch in self._watches.values():
            watch.close()
        self.records.close()

    def _world(self) -> World:
        """Return what records may ask for; nothing of it waits or changes anything."""
        return World(
            providers=self.providers,
            secrets=self.chronicle.secrets,
            restarts=lambda session: self.chronicle.memory.of(session).total_restarts,
            is_busy=self.deeds.in_hand,
            keep=lambda: self._city.daemon.keep_runs,
            tell=lambda event: self._post(Happened(event)),
        )

    def _looked(self, provider: str, seen: Observation, began: float) -> None:
        self.records.look(provider, seen, began)

    def _note(self, note: Note) -> None:
        self.records.note(note)

    def _expect(self, city: City) -> None:
        self.looks.expect(declared(city.desired))
        self.watch()

    def _listen(self, name: str) -> Watch:
        provider = self.providers[name]

        def seen(sessions: Mapping[str, SessionState], at: float, *, whole: bool = True) -> None:
            told = Seen(of_this_machine(provider, sessions))
            given = self._given.secrets(told)
            self._post(Looked(name, told, told_at=at, whole=whole, given=given))

        wake = partial(self._post, Wake())
        try:
            return provider.watch(wake, seen=seen)
        except Exception:  # noqa: BLE001  a provider is foreign code: without it the patrol has to do
            traceback.print_exc()
            return Watch()

    def _is_done(self, name: str, city: City) -> bool:
        """Tell whether a provider was seen to have no session of the city, and is left alone."""
        seen = self.looks.seen.get(name)
        if not isinstance(seen, Seen) or self.deeds.concern(name):
            return False
        return not _ours(seen.sessions.values(), city)


def _ours(sessions: Iterable[SessionState], city: City) -> bool:
    return any(state.meta.get(CITY_ID) == city.desired.city_id for state in sessions)


def _remembers(memory: Memory, provider: str) -> bool:
    return any(agent.run and agent.provider == provider for agent in memory.agents.values())
