"""What the city under test should be: the file as a person last wrote it, and what was asked since.

The harness keeps this beside the real city and compares. Every agent runs `sleep` with a number of
its own, which says whose it is and which version of its command.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

POOL = "crew"
LARGEST = 4
PATIENCE = 3.0  # seconds a changed config waits for a person who is attached
_HEAD = """\
[workspace]
name = "chaos"

[session]
provider = "tmux"

[session.tmux]
socket = "{socket}"

[daemon]
patrol_interval = "1s"
shutdown_timeout = "400ms"
drift_patience = "{patience:g}s"
max_restarts = 0
restart_delay = "50ms"
restart_delay_max = "200ms"
mass_death_brake = false
"""
_AGENT = """
[[agents]]
name = "{name}"
start_command = "{command}"
env = {{ CHAOS_ENV = "{env}" }}
"""
_CREW = """
[agents.pool]
min = 0
max = {largest}
check = "cat wanted"
drain_timeout = "300ms"
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What an agent is to run. A deaf one does not end when it is asked to."""

    number: int
    version: int = 1
    env: int = 1
    deaf: bool = False

    def argument(self, key: int) -> str:
        """Return the number it sleeps for: unlike any other on this machine."""
        return f"{key}{self.number:02d}{self.version:04d}"

    def command(self, key: int) -> str:
        """Return its shell text."""
        asleep = f"exec sleep {self.argument(key)}"
        return f"trap '' TERM HUP INT; {asleep}" if self.deaf else asleep


@dataclass(frozen=True, slots=True)
class Declared:
    """A city file that can be read. `agents` includes the pool, under its own name."""

    agents: dict[str, Program] = field(default_factory=dict)

    def with_agent(self, name: str, program: Program) -> Declared:
        """Return it with an agent added or changed."""
        return replace(self, agents={**self.agents, name: program})

    def without(self, name: str) -> Declared:
        """Return it with one agent fewer."""
        return replace(self, agents={n: p for n, p in self.agents.items() if n != name})

    def text(self, socket: str, key: int) -> str:
        """Return the city file."""
        parts = [_HEAD.format(socket=socket, patience=PATIENCE)]
        for name, program in sorted(self.agents.items()):
            parts.append(_AGENT.format(name=name, command=program.command(key), env=program.env))
            if name == POOL:
                parts.append(_CREW.format(largest=LARGEST))
        return "".join(parts)


def pool_of(agent: str) -> str:
    """Return the entry of the city file that an agent comes from."""
    return POOL if agent.startswith(f"{POOL}-") else agent


NAMES = tuple(f"a{number}" for number in range(8))
FIRST = Declared(
    {
        **{name: Program(number, deaf=number % 2 == 1) for number, name in enumerate(NAMES[:5])},
        POOL: Program(50),
    }
)
