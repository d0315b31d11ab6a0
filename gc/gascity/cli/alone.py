"""Looking, stopping and changing one's mind when no controller runs.

The city's lock is held while anything is changed, so that no controller starts in the meantime.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gascity.agent import TIMEOUT
from gascity.cli.ask import refuse_alone
from gascity.cli.city import Here, remembered
from gascity.controller.lock import CityLock
from gascity.controller.observe import look, seen_sessions
from gascity.controller.opening import open_providers
from gascity.controller.place import Place
from gascity.controller.status import NOBODY, status_document
from gascity.core import by_hand
from gascity.core.actions import Event, EventType
from gascity.core.case import Case, Scene, cases
from gascity.core.memory import HELD, Memory, after_stop, hold
from gascity.core.model import AgentSpec, City, Desired, declared
from gascity.core.muting import muted_agents
from gascity.core.naming import city_id
from gascity.core.observed import (
    CITY_ID,
    DRAIN,
    DRAINED,
    Alive,
    Observation,
    Observed,
    SessionState,
    Unseen,
)
from gascity.core.plan import plan
from gascity.core.views import AgentView, State
from gascity.errors import ConfigError, GascityError, ProviderUnavailable
from gascity.session.provider import SessionProvider

if TYPE_CHECKING:
    from gascity.journal.store import Journal

Changing = Callable[[Memory, Sequence[AgentSpec]], by_hand.Change]


def scene_alone(city: City) -> Scene:
    """Return what there is and what a controller would decide. Changes nothing.

    It would look at an orphan twice; here one look has to do.
    """
    place = Place(city.root)
    memory = _memory(place)
    providers = open_providers(city, place, memory)
    try:
        observed = Observed(_observe(city, providers))
        now = time.time()
        first = plan(city.desired, observed, memory, now)
        seen_before = {
            name: replace(agent, orphan_since=0.0)
            for name, agent in first.memory.agents.items()
            if agent.orphan_since is not None
        }
        if seen_before:
            aged = replace(memory, agents={**memory.agents, **seen_before})
            first = plan(city.desired, observed, aged, now)
        return Scene(city.desired, observed, first, now, kept=False)
    finally:
        for provider in providers.values():
            provider.close()


def _memory(place: Place) -> Memory:
    """Return what is remembered; where that cannot be read, what runs can be seen all the same."""
    try:
        return remembered(place.journal)
    except GascityError as problem:
        sys.stderr.write(f"warning: {problem.message}\n")
        return Memory()


def status_without_controller(here: Here) -> dict[str, object]:
    """Return the status document of a city that nobody keeps."""
    city = here.load()
    scene = scene_alone(city)
    views = [_unkept(case) for case in cases(scene, scene.plan.views)]
    alerts = open_alerts(city, scene.plan.memory)
    return status_document(
        city.name, None, views, foreign=scene.plan.foreign, alerts=alerts, now=scene.now
    )


def open_alerts(city: City, memory: Memory) -> list[dict[str, object]]:
    """Return what the last controller left open; nothing where its journal cannot be read."""
    place = Place(city.root)
    if not os.path.exists(place.journal):
        return []
    now = time.time()
    hushed = {agent for agent, until in muted_agents(city, memory).items() if until > now}
    with contextlib.suppress(GascityError), _journal(place) as journal:
        return [one.document(muted=one.agent in hushed) for one in journal.alerts.open()]
    return []


def _unkept(case: Case) -> AgentView:
    """Return how an agent stands when nobody keeps it: nothing is started or replaced."""
    if not case.due:
        return case.view
    why = NOBODY if case.view.state is State.STOPPED else f"{case.view.reason}; {NOBODY}"
    return replace(case.view, reason=why)


def stop_city(here: Here) -> int:
    """End every session of the city; return how many there were.

    Works with a city file that is broken or gone: sessions carry the city's mark, and the journal
    knows on which providers they ran. Where that cannot be used, as on a full disk, those are ended
    that are where the city file says, and then GascityError says what is not written down.
    """
    try:
        city = here.load()
    except ConfigError:
        city = _bare_city(os.path.dirname(here.city_file))
    memory: Memory | None = None
    problem: GascityError | None = None
    with _locked(city) as place, contextlib.ExitStack() as until_the_end:
        try:
            journal = until_the_end.enter_context(_journal(place))
            memory = journal.remembered()
        except GascityError as found:
            problem = found
        providers = until_the_end.enter_context(_opened(city, place, memory))
        ended = _end_all(city, providers)
        if memory is not None:
            for session in ended:
                memory = after_stop(memory, session)
            try:
                journal.record(time.time(), [], memory)
            except GascityError as found:
                problem = found
    if problem is not None:
        raise _unwritten(len(ended), providers, problem) from problem
    return len(ended)


def _end_all(city: City, providers: Mapping[str, SessionProvider]) -> list[str]:
    """End every session of the city on these providers; return those that were seen."""
    mine = _mine(city, _observe(city, providers))
    # Those that are not seen may have left processes when their backend was killed.
    unseen = [(spec.provider, spec.session) for spec in declared(city.desired)]
    from gascity.cli.lastly import parting_words, write_down

    partings = parting_words(city, providers, mine)
    _stop_all(city, providers, [*unseen, *((name, state.name) for name, state in mine)])
    write_down(Place(city.root).runs, partings, "stopped with `gc stop`, without a controller")
    return [state.name for _, state in mine]


def _unwritten(ended: int, providers: Iterable[str], problem: GascityError) -> GascityError:
    """Say that sessions were ended and the next controller does not know of it."""
    sessions = "1 session" if ended == 1 else f"{ended} sessions"
    where = ", ".join(sorted(providers))
    return GascityError(
        f"stopped {sessions} on {where}, but that could not be written down: {problem.message}",
        hint=f"the next controller may count them as crashed; {problem.hint}".rstrip("; "),
    )


def stop_agents(here: Here, specs: Sequence[AgentSpec]) -> None:
    """End these agents' sessions and remember that a person wants them down."""
    city = here.load()
    with _held(city) as (providers, journal):
        memory = journal.remembered()
        for spec in specs:
            memory = hold(memory, spec.session, HELD)
        events = [Event(EventType.AGENT_HELD, s.name, s.session, message=HELD) for s in specs]
        journal.record(time.time(), events, memory)
        wanted = {spec.session for spec in specs}
        mine = [(p, s) for p, s in _mine(city, _observe(city, providers)) if s.name in wanted]
        from gascity.cli.lastly import parting_words, write_down

        partings = parting_words(city, providers, mine)
        _stop_all(city, providers, [(name, state.name) for name, state in mine])
        write_down(Place(city.root).runs, partings, HELD)
        for _, state in mine:
            memory = after_stop(memory, state.name)
        journal.record(time.time(), [], memory)


def reset_agents(here: Here, specs: Sequence[AgentSpec]) -> Memory:
    """Forget these agents' crashes and failed starts; return what was remembered before."""
    city = here.load()
    with _held(city) as (_, journal):
        before = journal.remembered()
        memory, events = by_hand.reset(before, specs)
        journal.record(time.time(), events, memory)
    return before


def change_memory(here: Here, specs: Sequence[AgentSpec], change: Changing) -> Memory:
    """Keep a change that is of no concern to sessions; return what is remembered then."""
    with _locked(here.load()) as place, _journal(place) as journal:
        memory, events = change(journal.remembered(), specs)
        journal.record(time.time(), events, memory)
    return memory


def drain_agents(here: Here, specs: Sequence[AgentSpec]) -> None:
    """Have these agents drain: they are asked now, and stay down under the next controller."""
    with _flagging(here, specs, by_hand.drain) as sessions:
        for provider, state in sessions:
            if isinstance(state.life, Alive):
                provider.set_meta(state.name, DRAIN, state.run, timeout=TIMEOUT)


def undrain_agents(here: Here, specs: Sequence[AgentSpec]) -> None:
    """Have these agents go on, or come back under the next controller."""
    with _flagging(here, specs, by_hand.undrain) as sessions:
        for provider, state in sessions:
            for key in (DRAINED, DRAIN):
                provider.remove_meta(state.name, key, timeout=TIMEOUT)


@contextlib.contextmanager
def _flagging(
    here: Here, specs: Sequence[AgentSpec], change: Changing
) -> Iterator[list[tuple[SessionProvider, SessionState]]]:
    """Keep a change, then give the agents' sessions. Raises ProviderUnavailable after keeping."""
    city = here.load()
    wanted = {spec.session for spec in specs}
    with _held(city) as (providers, journal):
        memory, events = change(journal.remembered(), specs)
        journal.record(time.time(), events, memory)
        mine = _mine(city, _observe(city, providers))
        yield [(providers[name], state) for name, state in mine if state.name in wanted]


def _bare_city(root: str) -> City:
    """Return a city of which only the place is known."""
    name = os.path.basename(root)
    return City(name=name, root=root, desired=Desired(name, city_id(root)))


@contextlib.contextmanager
def _held(city: City) -> Iterator[tuple[dict[str, SessionProvider], Journal]]:
    """Hold the city as a controller would, with its providers and journal. Raises CityHeld."""
    with (
        _locked(city) as place,
        _journal(place) as journal,
        _opened(city, place, journal.remembered()) as providers,
    ):
        yield providers, journal


@contextlib.contextmanager
def _locked(city: City) -> Iterator[Place]:
    """Hold the city's lock. Raises CityHeld, and NotLeading where that is another's to hold."""
    refuse_alone()
    place = Place(city.root)
    place.prepare()
    lock = CityLock(place.lock)
    lock.acquire()
    try:
        yield place
    finally:
        lock.release()


@contextlib.contextmanager
def _journal(place: Place) -> Iterator[Journal]:
    from gascity.journal.store import Journal

    journal = Journal(place.journal)
    try:
        yield journal
    finally:
        journal.close()


@contextlib.contextmanager
def _opened(
    city: City, place: Place, memory: Memory | None
) -> Iterator[dict[str, SessionProvider]]:
    providers = open_providers(city, place, memory)
    try:
        yield providers
    finally:
        for provider in providers.values():
            provider.close()


def _observe(city: City, providers: Mapping[str, SessionProvider]) -> dict[str, Observation]:
    return {
        name: look(provider, [s for s in declared(city.desired) if s.provider == name])
        for name, provider in providers.items()
    }


def _mine(city: City, seen: dict[str, Observation]) -> list[tuple[str, SessionState]]:
    """Return this city's sessions with their providers. Raises when one did not answer."""
    for name, observation in seen.items():
        if isinstance(observation, Unseen):
            raise ProviderUnavailable(f"{name} does not answer: {observation.reason}")
    return [
        (name, state)
        for name, observation in seen.items()
        for state in seen_sessions({name: observation}).values()
        if state.meta.get(CITY_ID) == city.desired.city_id
    ]


def _stop_all(
    city: City, providers: Mapping[str, SessionProvider], sessions: Iterable[tuple[str, str]]
) -> None:
    grace = city.daemon.shutdown_timeout
    names: dict[str, list[str]] = {}
    for provider, session in sessions:
        names.setdefault(provider, []).append(session)
    failures = [
        failure
        for provider, wanted in names.items()
        for failure in providers[provider]
        .stop_all(wanted, grace=grace, timeout=grace + providers[provider].ending)
        .values()
    ]
    for failure in failures:
        raise failure
