"""An agent: an identity over a session provider, with the nine things one can do with it.

It holds no state of its own. What runs is the provider's to say, what should run the config's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gascity.core.beacon import beacon
from gascity.core.environment import agent_environment
from gascity.core.fingerprint import canonical
from gascity.core.launch import declared_command, first_prompt, launch_command
from gascity.core.model import AgentSpec, PromptMode, SessionConfig
from gascity.core.observed import (
    AGENT,
    BACKEND,
    BEACON,
    CITY_ID,
    CONFIG,
    CONFIG_HASH,
    PROMPT,
    RUN,
    STARTING,
)
from gascity.session.provider import SessionProvider
from gascity.session.receipts import Receipt

TIMEOUT = 10.0
START_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Home:
    """Where an agent lives: its city, and the surroundings its environment is made from."""

    city: str
    city_id: str
    city_path: str
    ambient: Mapping[str, str]
    gc_folder: str = ""


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of the city."""

    spec: AgentSpec
    provider: SessionProvider
    home: Home

    @property
    def name(self) -> str:
        """`[dir/]name`."""
        return self.spec.name

    @property
    def session_name(self) -> str:
        """The name of its session, the key of everything."""
        return self.spec.session

    @property
    def has_steps_after_creation(self) -> bool:
        """Whether more has to happen between the session's creation and its being ready."""
        hints = self.spec.hints
        return bool(
            hints.session_setup
            or hints.session_setup_script
            or hints.ready_prompt_prefix
            or hints.ready_delay_ms
            or hints.nudge
        )

    def is_running(self) -> bool:
        """Tell whether its session runs and, where it has process names, one of them lives."""
        if not self.provider.is_running(self.session_name, timeout=TIMEOUT):
            return False
        names = self.spec.hints.process_names
        return self.provider.process_alive(self.session_name, names, timeout=TIMEOUT)

    def start(self, run: str, when: datetime) -> None:
        """Bring up the incarnation `run`; returns when it is ready. Raises as the provider does."""
        self.provider.start(
            self.session_name, self.session_config(run, when), timeout=START_TIMEOUT
        )

    def stop(self, grace: float) -> None:
        """End it with all its processes; nothing happens when it does not run."""
        self.provider.stop(self.session_name, grace=grace, timeout=grace + self.provider.ending)

    def attach(self, *, read_only: bool = False) -> int:
        """Give it this terminal until somebody detaches."""
        return self.provider.attach(self.session_name, read_only=read_only)

    def nudge(self, text: str) -> Receipt:
        """Hand it a message."""
        return self.provider.nudge(self.session_name, text, timeout=TIMEOUT)

    def peek(self, lines: int) -> str:
        """Return the last lines it showed."""
        return self.provider.peek(self.session_name, lines, timeout=TIMEOUT)

    def first_prompt(self, when: datetime) -> str:
        """Return what an incarnation that starts `when` is told first; empty if nothing is."""
        if self.spec.prompt_mode is PromptMode.NONE:
            return ""
        return first_prompt(self.spec, self._greeting(when))

    def _greeting(self, when: datetime) -> str:
        primes = self.provider.is_local and not self.spec.primes_itself  # elsewhere is no `gc`
        return beacon(self.home.city, self.spec.name, when, prime=primes)

    def session_config(self, run: str, when: datetime) -> SessionConfig:
        """Return all the provider needs to start the incarnation `run`."""
        spec = self.spec
        declared = declared_command(
            spec.base_command, spec.prompt, spec.prompt_mode, spec.prompt_flag
        )
        greeting = self._greeting(when)
        return SessionConfig(
            command=launch_command(spec, greeting),
            work_dir=spec.work_dir,
            env=agent_environment(
                spec,
                self.home.ambient,
                city=self.home.city,
                city_path=self.home.city_path,
                run=run,
                gc_folder=self.home.gc_folder,
                is_local=self.provider.is_local,
            ),
            hints=spec.hints,
            meta=({STARTING: run} if self.has_steps_after_creation else {})
            | {
                CITY_ID: self.home.city_id,
                AGENT: spec.name,
                CONFIG_HASH: spec.fingerprint,
                CONFIG: canonical(declared, spec.env, spec.fingerprint_extra),
                BACKEND: spec.backend,
                PROMPT: spec.hints.ready_prompt_prefix,
                BEACON: greeting.partition("\n")[0],
                RUN: run,
            },
        )
