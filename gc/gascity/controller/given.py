"""Which secrets the incarnations that run were given, as their processes have them.

The city file and the environment of this controller may have others by now: those who live were
started before a value was changed, or by a controller that had a variable which this one has not.
"""

from __future__ import annotations

from gascity.core.fingerprint import secret_values
from gascity.core.observed import AGENT, CITY_ID, RUN, Alive, Observation, ProcessId, Seen
from gascity.session import processes


class Given:
    """Reads the environment of each process of a city's sessions, once.

    For any thread but the loop's: it may have to wait for the kernel.
    """

    def __init__(self, city_id: str) -> None:
        self._city_id = city_id
        self._read: dict[str, ProcessId] = {}

    def secrets(self, seen: Observation) -> dict[str, tuple[str, ...]]:
        """Return the secrets, by agent, of the processes in what was seen that are new."""
        found: dict[str, tuple[str, ...]] = {}
        for name, state in seen.sessions.items() if isinstance(seen, Seen) else ():
            process = state.process
            if process is None or self._read.get(name) == process:
                continue
            if not isinstance(state.life, Alive) or state.meta.get(CITY_ID) != self._city_id:
                continue
            try:
                environment = processes.environment(process)
            except OSError:  # this process is short of descriptors: the next look tries again
                continue
            # One that is about to become its program has nothing yet, or what its parent was given.
            if environment and environment.get(RUN, "") == state.run:
                self._read[name] = process
            agent, given = state.meta.get(AGENT, name), secret_values(environment)
            if given:
                found[agent] = (*found.get(agent, ()), *given)
        return found
