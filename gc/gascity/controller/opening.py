"""Opening a city: its file, its providers, and the surroundings of its agents.

What the controller and the commands that work without one have in common. Light on purpose: it
loads neither the loop nor the journal.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from gascity.agent import Home
from gascity.config.agreement import PARALLEL
from gascity.config.load import load_city
from gascity.controller.own_settings import own_settings, without_common
from gascity.controller.place import Place
from gascity.core.memory import Memory
from gascity.core.model import City, declared
from gascity.errors import ConfigError, UsageError
from gascity.session.fence import put_fence
from gascity.session.leadership import Leadership
from gascity.session.provider import CityContext, SessionProvider
from gascity.session.registry import (
    KNOWN,
    PREFERRED,
    SHIPPED,
    auto_provider,
    is_local,
    make_provider,
    provider_class,
    shape,
)


def read_city(path: Path) -> City:
    """Load a city with the providers of this machine; raises ConfigError.

    The variable GC_SESSION stands above what `[session]` says.
    """
    chosen = os.environ.get("GC_SESSION", "")
    if chosen and chosen != "auto" and chosen not in KNOWN:
        raise ConfigError(
            f'GC_SESSION names the session provider "{chosen}", which there is not',
            hint=f"there are: auto, {', '.join(KNOWN)}",
        )
    unread: list[ConfigError] = []

    def shaped(name: str, settings: Mapping[str, object], folder: str) -> Mapping[str, str]:
        try:
            return shape(name, without_common(settings), folder)
        except ConfigError as problem:  # told when all else in the file is known to be right
            unread.append(problem)
            return {}

    city = load_city(
        path,
        known_providers=KNOWN,
        auto_provider=cache(auto_provider),
        session_provider=chosen,
        is_local=is_local,
        shape=shaped,
    )
    used = {spec.provider for spec in declared(city.desired) if not is_local(spec.provider)}
    sources = list(city.sources)
    for name in sorted({*city.provider_settings, *used}):
        if name in SHIPPED:
            settings = own_settings(city, name)
            provider_class(name).check_settings(settings, city.root)
            sources += provider_class(name).sources(settings, city.root)
    for problem in unread:
        raise problem
    return replace(city, sources=tuple(sources))


def where_sessions_live(city: City) -> str:
    """Say in a few words which providers the agents are on, and why not on tmux."""
    names = sorted({spec.provider for spec in declared(city.desired)}) or [auto_provider()]
    is_second_best = not city.chose_provider and PREFERRED[0] not in names
    reason = provider_class(PREFERRED[0]).unavailable() if is_second_best else ""
    return ", ".join(names) + (f" ({reason})" if reason else "")


def leadership_of(city: City, place: Place) -> Leadership:
    """Return a claim to lead this city, whose controllers may run on several machines.

    Raises UsageError when none of its providers has one to give.
    """
    used = sorted({spec.provider for spec in declared(city.desired)} or {city.default_provider})
    for name in used:
        found = provider_class(name).leadership(_context(city, place, name))
        if found is not None:
            return found
    raise UsageError(
        f"sessions on {', '.join(used)} have one controller: there is no leader to elect",
        hint="only agents on kubernetes can be kept by several, of which one leads",
    )


def lasting_settings(city: City) -> dict[str, dict[str, object]]:
    """Return the settings, by provider, that cannot change under a lead: they say where it is."""
    found: dict[str, dict[str, object]] = {}
    for name in city.provider_settings:
        settings, lasting = own_settings(city, name), provider_class(name).lasting
        found[name] = {key: settings[key] for key in settings if lasting is None or key in lasting}
    return {name: settings for name, settings in found.items() if settings}


def open_providers(
    city: City,
    place: Place,
    memory: Memory | None = None,
    fence: Callable[[], None] | None = None,
) -> dict[str, SessionProvider]:
    """Return the providers that the city's agents use, and those they were last seen on.

    With a `fence`, nothing is changed through them without asking it first.
    """
    used = {spec.provider for spec in declared(city.desired)}
    if memory is not None:
        used |= {agent.provider for agent in memory.agents.values() if agent.run}
    used = {name for name in used if name and name in KNOWN}
    used = used or {auto_provider() if city.default_provider == "auto" else city.default_provider}
    return {name: open_provider(city, place, name, fence) for name in sorted(used)}


def open_provider(
    city: City, place: Place, name: str, fence: Callable[[], None] | None = None
) -> SessionProvider:
    """Return one provider that works for this city."""
    provider = make_provider(name, _context(city, place, name))
    if fence is not None:
        put_fence(provider, fence)
    return provider


def _context(city: City, place: Place, name: str) -> CityContext:
    settings = city.provider_settings.get(name, {})
    parallel = settings.get(PARALLEL)
    return CityContext(
        city=city.name,
        city_id=city.desired.city_id,
        state_dir=place.state,
        settings=own_settings(city, name),
        screens=city.screens,
        parallel=parallel if isinstance(parallel, int) else None,
    )


def home_of(city: City) -> Home:
    """Return the surroundings of this city's agents, taken from this process."""
    ambient: dict[str, str] = {}
    with contextlib.suppress(KeyError):  # in a container nobody may know the user
        user = pwd.getpwuid(os.getuid())
        ambient = {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
        ambient["SHELL"] = user.pw_shell
    ambient |= os.environ
    return Home(
        city=city.name,
        city_id=city.desired.city_id,
        city_path=city.root,
        ambient=ambient,
        gc_folder=os.path.dirname(os.path.abspath(sys.executable)),
    )
