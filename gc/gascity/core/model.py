"""What a city should be: frozen values, as resolved from `city.toml`.

Nothing here is read from the world. `AgentSpec.command` is what the config declares (the prompt's
content included, the beacon not), so that it can be fingerprinted; `core.launch` renders the
command that runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gascity.core.oneshot import OneShot
from gascity.screens.rules import RuleBook


class OnDrift(StrEnum):
    """What to do about an agent whose configuration changed while it runs."""

    RESTART = "restart"
    DRAIN = "drain"
    NOTIFY = "notify"


class OnIdle(StrEnum):
    """What to do about an agent that has done nothing for its `idle_timeout`."""

    RESTART = "restart"
    NUDGE = "nudge"
    STOP = "stop"


class PromptMode(StrEnum):
    """How the first prompt reaches the agent."""

    ARG = "arg"
    FLAG = "flag"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class CopyEntry:
    """A file or folder to place into the work folder before the agent starts."""

    src: str
    rel_dst: str


@dataclass(frozen=True, slots=True)
class StartupHints:
    """How to bring a session up. All zero means: create it and go.

    `dialogs` says what to do about dialogs of these names, where that is not what their rules say.
    """

    ready_prompt_prefix: str = ""
    ready_delay_ms: int = 0
    process_names: tuple[str, ...] = ()
    emits_permission_warning: bool = False
    nudge: str = ""
    pre_start: tuple[str, ...] = ()
    session_setup: tuple[str, ...] = ()
    session_setup_script: str = ""
    overlay_dir: str = ""
    copy_files: tuple[CopyEntry, ...] = ()
    dialogs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """All a provider needs to start one session.

    `env` is the whole environment of the session, not an addition to anyone's. `meta` is stored
    with the session as part of creating it: there is no moment at which it exists unmarked.
    """

    command: str
    work_dir: str
    env: Mapping[str, str] = field(default_factory=dict)
    hints: StartupHints = StartupHints()
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """At most `max_restarts` restarts after a crash in any `window` seconds (0: no limit).

    The first restart is immediate; later ones wait `first_delay`, doubling up to `longest_delay`.
    """

    max_restarts: int = 5
    window: float = 3600.0
    first_delay: float = 1.0
    longest_delay: float = 300.0


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent that is declared, fully resolved.

    `name` is `[dir/]name`; `session` the session name, the key of everything. `base_command` is
    the command line without a prompt; `prompt` its content, with templates expanded. `greets`
    says that a beacon is sent even when the prompt is empty. `env` is the declared environment
    only; `pass_env` names what is taken from the controller's. `dialogs` is what to do about
    dialogs, by their names, where that is not what their rules say. `idle_timeout` and
    `stall_timeout` are 0 where nobody minds. `hooks` says that the backend's own hooks are set up
    before it starts.
    """

    name: str
    session: str
    provider: str
    backend: str
    base_command: str
    work_dir: str
    fingerprint: str
    prompt: str = ""
    prompt_mode: PromptMode = PromptMode.ARG
    prompt_flag: str = ""
    greets: bool = False
    primes_itself: bool = False
    hooks: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    fingerprint_extra: Mapping[str, str] = field(default_factory=dict)
    hints: StartupHints = StartupHints()
    depends_on: tuple[str, ...] = ()
    suspended: bool = False
    restarts: RestartPolicy = RestartPolicy()
    drift_patience: float = 120.0
    on_drift: OnDrift = OnDrift.RESTART
    drain_timeout: float = 300.0
    idle_timeout: float = 0.0
    on_idle: OnIdle = OnIdle.RESTART
    stall_timeout: float = 0.0
    pool: str = ""
    dialogs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Agents of one kind whose number follows demand.

    `members` holds every member there can be (`max` of them), in the order in which they are
    filled. `check` is a shell command that prints the wanted size; empty means `min`.
    """

    name: str
    min: int
    max: int
    members: tuple[AgentSpec, ...]
    check: str = ""
    work_dir: str = "."
    drain_timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Desired:
    """What there should be.

    `unresolved` maps the session name of an agent that is declared but cannot be resolved to the
    reason. It is neither wanted nor unwanted: its session is left alone. `drift_parallel` agents
    at most are replaced at once because their configuration changed; `brakes` says that a mass
    death is followed by restarts in stages. A city that is `ending` should have no sessions.
    """

    city: str
    city_id: str
    agents: tuple[AgentSpec, ...] = ()
    pools: tuple[PoolSpec, ...] = ()
    unresolved: Mapping[str, str] = field(default_factory=dict)
    drift_parallel: int = 3
    brakes: bool = True
    ending: bool = False


def declared(desired: Desired) -> Iterator[AgentSpec]:
    """Yield every agent there can be, the members of pools included."""
    yield from desired.agents
    for pool in desired.pools:
        yield from pool.members


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """How the controller behaves. Durations in seconds."""

    patrol_interval: float = 30.0
    max_restarts: int = 5
    restart_window: float = 3600.0
    shutdown_timeout: float = 5.0
    drift_patience: float = 120.0
    drift_parallel: int = 3
    on_drift: OnDrift = OnDrift.RESTART
    drain_timeout: float = 300.0
    restart_delay: float = 1.0
    restart_delay_max: float = 300.0
    stall_timeout: float = 900.0
    mass_death_brake: bool = True
    tick_budget: float = 0.5
    keep_events: float = 30 * 86400.0
    keep_megabytes: int = 256
    keep_runs: int = 50


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How one-shot work is done; `max_concurrent` runs live at once, 0 for any number."""

    max_concurrent: int = 0


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Whom to tell, and how much of it. Durations in seconds.

    `command` runs in a shell with the alert as JSON on its standard input. `webhook` is an address
    that it is posted to, `apprise` are addresses of apprise, and `webhook_env` and `apprise_env`
    name variables of the controller that hold them: they often are secrets. What is milder than
    `least` is not told, and the end of a trouble only with `recovery`. The same trouble is not told
    again within `repeat_after`, and at most `per_minute` alerts are; 0 means that all are.
    """

    command: str = ""
    webhook: str = ""
    webhook_env: str = ""
    apprise: tuple[str, ...] = ()
    apprise_env: str = ""
    desktop: bool = False
    least: str = "warning"
    recovery: bool = True
    repeat_after: float = 60.0
    per_minute: int = 20
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class City:
    """A whole `city.toml`, resolved. `root` is the folder it stands in.

    `chose_provider` says that someone named the default provider; else it stands for `auto`.
    `screens` are the rules by which the screens of its agents are read. `sources` are the absolute
    paths of all files that were read or looked for to make it; of one that ends with a slash, the
    list of files in that folder counts. `backends` are all that one-shot runs can name.
    """

    name: str
    root: str
    desired: Desired
    daemon: DaemonSettings = DaemonSettings()
    alerts: AlertSettings = AlertSettings()
    runs: RunSettings = RunSettings()
    default_provider: str = "auto"
    chose_provider: bool = False
    provider_settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    screens: RuleBook = field(default_factory=RuleBook)
    backends: Mapping[str, OneShot] = field(default_factory=dict)
    sources: tuple[str, ...] = field(default=(), compare=False)
