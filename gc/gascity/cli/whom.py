"""Which agent a command is about when an agent may be the one who calls it.

Inside a session the environment says who the agent is, where its city lies and which incarnation
it is; outside a name does. Light: agents ask in loops whether they should drain.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gascity.cli.city import Here, names_meant, remembered
from gascity.config.find import find_city
from gascity.errors import NotFound, NotRunning, UsageError

if TYPE_CHECKING:
    from gascity.session.provider import SessionProvider

TIMEOUT = 15.0  # the controller answers sooner, or says that it cannot


@dataclass(frozen=True, slots=True)
class Whom:
    """One agent. `session` and `run` are "" unless it is the agent itself that asks."""

    here: Here
    agent: str
    session: str = ""
    run: str = ""

    @classmethod
    def meant(cls, folder: str = "", name: str = "") -> Whom:
        """Return whom `-C folder` and a name mean; both may be empty.

        Raises UsageError outside a session without a name, and NotFound.
        """
        me = os.environ.get("GC_AGENT", "")
        if not name and not me:
            raise UsageError("which agent?", hint="give its name, or call it from inside a session")
        here = _city(folder, by_name=bool(name))
        home = os.environ.get("GC_CITY_PATH", "")
        at_home = bool(me and home) and os.path.realpath(home) == os.path.dirname(here.city_file)
        if not (at_home and name in ("", me)):
            (name,) = names_meant(here, [name or me], one=True)
        if not at_home or name not in ("", me):
            return cls(here, name)
        session, run = os.environ.get("GC_SESSION_NAME", ""), os.environ.get("GC_RUN", "")
        return cls(here, me, session, run)

    @property
    def params(self) -> dict[str, object]:
        """What a controller has to know."""
        return {"agent": self.agent, "session": self.session, "run": self.run}

    def reach(self) -> tuple[str, SessionProvider]:
        """Return the session and its provider, for when no controller runs. Raises NotRunning.

        A session whose agent is no longer declared is on the provider it was last seen on.
        """
        if (found := self._last_seen()) is not None:
            return self.session, found
        from gascity.controller.flags import not_running
        from gascity.controller.opening import open_provider
        from gascity.controller.place import Place
        from gascity.core.model import declared

        city = self.here.load()
        place = Place(city.root)
        wanted = [
            spec
            for spec in declared(city.desired)
            if (spec.session == self.session if self.session else spec.name == self.agent)
        ]
        session = wanted[0].session if wanted else self.session
        known = remembered(place.journal).of(session)
        provider = known.provider if known.run or not wanted else wanted[0].provider
        if not provider:
            raise not_running(self.agent)
        return session, open_provider(city, place, provider)

    def _last_seen(self) -> SessionProvider | None:
        """Return the provider this very incarnation was last seen on, if the journal knows it.

        Takes from the city file what that provider needs and checks nothing: whole cities are slow
        to load, and an agent asks in a loop.
        """
        import tomllib

        from gascity.core.naming import city_id
        from gascity.session.provider import CityContext
        from gascity.session.registry import make_provider

        known = remembered(os.path.join(self.here.state, "city.db")).of(self.session)
        if not self.run or known.run != self.run:
            return None
        root = os.path.dirname(self.here.city_file)
        try:
            with open(self.here.city_file, "rb") as file:
                read = tomllib.load(file)
            name = read.get("workspace", {}).get("name") or os.path.basename(root)
            settings = dict(read.get("session", {}).get(known.provider, {}))
        except (OSError, ValueError, TypeError, AttributeError):  # for those who tell it better
            return None
        context = CityContext(name, city_id(root), self.here.state, settings)
        return make_provider(known.provider, context)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the incarnation `run` of an agent should drain; printed with exactly these keys."""

    agent: str
    run: str
    drain: bool


def should_drain(whom: Whom) -> Verdict:
    """Ask the controller, or look at the session where there is none. Raises NotRunning."""
    try:
        answered = whom.here.ask("drain_check", whom.params, timeout=TIMEOUT)
    except NotRunning:
        from gascity.controller import flags

        session, provider = whom.reach()
        state = flags.living(provider, session, whom.agent)
        run = whom.run or state.run
        return Verdict(whom.agent, run, flags.should_drain(state, run))
    said = answered if isinstance(answered, dict) else {}
    return Verdict(whom.agent, str(said.get("run", "")), said.get("drain") is True)


def _city(folder: str, *, by_name: bool) -> Here:
    """Return the city: as given, else the agent's own, or the nearest one for a name."""
    home = os.environ.get("GC_CITY_PATH", "")
    if folder or not home:
        return Here(folder or ".", given=bool(folder))
    if by_name:
        try:
            find_city(".")
        except NotFound:
            return Here(home)
        return Here()
    return Here(home)
