"""The shape of `city.toml`: which keys there are, of which type, within which bounds.

The one place that knows pydantic; importing it costs a tenth of a second, so it is imported where
a city is read and nowhere else. What a key means together with others is decided in `resolve`.
None means that the key is not there, an empty text that it says nothing.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)

from gascity.config.durations import parse_duration
from gascity.config.sentences import RawError
from gascity.core.naming import LONGEST_COMPONENT, is_component

RESERVED_ENV = frozenset(
    {"GC_AGENT", "GC_CITY", "GC_CITY_PATH", "GC_DIR", "GC_SESSION_NAME", "GC_RUN"}
)
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_APPRISE = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*://", re.ASCII)


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("a text must not hold a NUL character")
    return value


def _component(value: str) -> str:
    if not is_component(value):
        raise ValueError(
            "expected a name of letters, digits and _, with single dashes between, "
            f"of at most {LONGEST_COMPONENT} characters"
        )
    return value


def _optional_component(value: str) -> str:
    return value and _component(value)


def _env_name(value: str) -> str:
    if _ENV_NAME.fullmatch(value) is None:
        raise ValueError("expected the name of an environment variable, such as MY_NAME")
    if value in RESERVED_ENV:
        raise ValueError(f"{value} is set by gc itself")
    return value


def _optional_env_name(value: str) -> str:
    return value and _env_name(value)


def _webhook(value: str) -> str:
    if value and not is_web_address(value):
        raise ValueError('expected an address such as "https://example.com/alerts"')
    return value


def _base_url(value: str) -> str:
    if value and not is_web_address(value):
        raise ValueError('expected an address such as "https://example.com/v1"')
    return value


def is_web_address(value: str) -> bool:
    """Tell whether something can be posted there, as far as the text tells."""
    if not value.isprintable() or " " in value:
        return False
    try:
        parts = urllib.parse.urlsplit(value)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket without its end
        return False


def _apprise(value: str) -> str:
    if _APPRISE.match(value) is None:
        raise ValueError('expected an address of apprise such as "mailto://..."')
    return value


def _interval(value: object) -> float:
    seconds = parse_duration(value)
    if seconds < 0.01:
        raise ValueError('expected at least "10ms"')
    return seconds


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_component)]
Folder = Annotated[str, AfterValidator(_optional_component)]
EnvName = Annotated[str, AfterValidator(_env_name)]
Env = dict[EnvName, Text]
Variable = Annotated[str, AfterValidator(_optional_env_name)]
WebAddress = Annotated[Text, AfterValidator(_webhook)]
BaseUrl = Annotated[Text, AfterValidator(_base_url)]
AppriseAddress = Annotated[Text, AfterValidator(_apprise)]
Duration = Annotated[float, BeforeValidator(parse_duration)]
Interval = Annotated[float, BeforeValidator(_interval)]
Count = Annotated[int, Field(ge=0, le=1_000_000)]
Milliseconds = Annotated[int, Field(ge=0, le=3_600_000)]
PoolSize = Annotated[int, Field(ge=0, le=1000)]
PromptModeName = Literal["arg", "flag", "none"]
PromptByName = Literal["stdin", "arg", "none"]
FormatName = Literal["text", "claude", "codex", "gemini"]
PolicyName = Literal["accept", "deny", "ask"]
OnDriftName = Literal["restart", "drain", "notify"]
OnIdleName = Literal["restart", "nudge", "stop"]
SeverityName = Literal["info", "warning", "critical"]


class Table(BaseModel):
    """A table of the file: exact types, no keys but these."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class WorkspaceTable(Table):
    """`[workspace]`: the city itself and what all its agents share."""

    name: Folder = ""
    provider: Text = ""
    start_command: Text = ""
    session_template: Text = ""
    suspended: bool = False
    env: Env = {}


class PoolTable(Table):
    """`[agents.pool]`."""

    min: PoolSize = 0
    max: PoolSize | None = None
    check: Text = ""
    drain_timeout: Duration | None = None


class CopyTable(Table):
    """One entry of `copy_files`."""

    src: Text
    rel_dst: Text = ""


class Hints(Table):
    """What a backend and an agent can both say; None leaves it to the one below."""

    args: list[Text] | None = None
    prompt_mode: PromptModeName | None = None
    prompt_flag: Text | None = None
    ready_prompt_prefix: Text | None = None
    ready_delay_ms: Milliseconds | None = None
    process_names: list[Text] | None = None
    emits_permission_warning: bool | None = None
    primes_itself: bool | None = None
    hooks: bool | None = None
    dialogs: dict[Text, PolicyName] = {}
    env: Env = {}
    pass_env: list[EnvName] = []


class RunTable(Table):
    """`[providers.NAME.run]`: how it does one piece of work and ends."""

    command: Text = ""
    args: list[Text] | None = None
    prompt: PromptByName | None = None
    format: FormatName | None = None


class BackendTable(Hints):
    """`[providers.NAME]`: a backend, or changes to one that is built in."""

    command: Text = ""
    start_command: Text = ""
    token_env: list[EnvName] | None = None
    token_file: Text = ""
    base_url: BaseUrl = ""
    model: Text = ""
    run: RunTable | None = None


class RunPreset(RunTable):
    """A table `[NAME.run]` of `backends.toml`."""

    model_args: list[Text] = []
    base_url_args: list[Text] = []


class Preset(BackendTable):
    """A table of `backends.toml`."""

    run: RunPreset | None = None
    login_env: list[EnvName] = []
    account_env: list[EnvName] = []
    base_url_env: Text = ""
    has_hooks: bool = False
    primes_by_hook: bool = False


class AgentTable(Hints):
    """One `[[agents]]` entry."""

    name: Name
    dir: Folder = ""
    provider: Text = ""
    session: Text = ""
    start_command: Text = ""
    prompt_template: Text = ""
    nudge: Text = ""
    pre_start: list[Text] = []
    session_setup: list[Text] = []
    session_setup_script: Text = ""
    overlay_dir: Text = ""
    copy_files: list[CopyTable] = []
    depends_on: list[Text] = []
    suspended: bool = False
    max_restarts: Count | None = None
    restart_window: Duration | None = None
    on_drift: OnDriftName | None = None
    drain_timeout: Duration | None = None
    idle_timeout: Duration = 0.0
    on_idle: OnIdleName = "restart"
    stall_timeout: Duration | None = None
    pool: PoolTable | None = None


class SessionTable(BaseModel):
    """`[session]`: the default provider, and one free table per provider."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    __pydantic_extra__: dict[str, dict[str, object]] = Field(init=False)

    provider: Text = "auto"

    @property
    def settings(self) -> Mapping[str, Mapping[str, object]]:
        """The tables `[session.NAME]` by name."""
        return self.__pydantic_extra__


class DaemonTable(Table):
    """`[daemon]`: the controller."""

    patrol_interval: Interval = 30.0
    max_restarts: Count = 5
    restart_window: Duration = 3600.0
    shutdown_timeout: Duration = 5.0
    drift_patience: Duration = 120.0
    drift_parallel: Annotated[int, Field(ge=1, le=1000)] = 3
    on_drift: OnDriftName = "restart"
    drain_timeout: Duration = 300.0
    restart_delay: Duration = 1.0
    restart_delay_max: Duration = 300.0
    stall_timeout: Duration = 900.0
    mass_death_brake: bool = True
    tick_budget: Duration = 0.5
    keep_events: Interval = 30 * 86400.0
    keep_megabytes: Annotated[int, Field(ge=1, le=100_000)] = 256
    keep_runs: Annotated[int, Field(ge=1, le=100_000)] = 50


class AlertsTable(Table):
    """`[alerts]`: whom to tell, and how much of it."""

    command: Text = ""
    webhook: WebAddress = ""
    webhook_env: Variable = ""
    apprise: list[AppriseAddress] = []
    apprise_env: Variable = ""
    desktop: bool = False
    least: SeverityName = "warning"
    recovery: bool = True
    repeat_after: Duration = 60.0
    per_minute: Count = 20
    timeout: Interval = 30.0


class RunsTable(Table):
    """`[runs]`: one-shot work."""

    max_concurrent: Count = 0


class CityFile(Table):
    """The whole file."""

    workspace: WorkspaceTable = WorkspaceTable()
    agents: list[AgentTable] = []
    providers: dict[Name, BackendTable] = {}
    session: SessionTable = SessionTable()
    daemon: DaemonTable = DaemonTable()
    alerts: AlertsTable = AlertsTable()
    runs: RunsTable = RunsTable()


KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        heading: tuple(table.model_fields)
        for heading, table in (
            ("", CityFile),
            ("[workspace]", WorkspaceTable),
            ("[[agents]]", AgentTable),
            ("[agents.pool]", PoolTable),
            ("copy_files", CopyTable),
            ("[providers.NAME]", BackendTable),
            ("[providers.NAME.run]", RunTable),
            ("[session]", SessionTable),
            ("[daemon]", DaemonTable),
            ("[alerts]", AlertsTable),
            ("[runs]", RunsTable),
        )
    }
)
"""Every key there is, by the table it stands in."""


def validate(document: Mapping[str, object]) -> CityFile | list[RawError]:
    """Return the file with its defaults filled in, or everything that is wrong with its shape."""
    try:
        return CityFile.model_validate(document)
    except ValidationError as error:
        raw = error.errors(include_url=False)
        return [RawError(e["type"], e["loc"], e["input"], e.get("ctx", {})) for e in raw]
