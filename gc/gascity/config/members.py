"""One `[[agents]]` entry to the agents it declares: itself, or every member of its pool."""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from gascity.config.backends import Backend
from gascity.config.files import CityFiles
from gascity.config.places import Path
from gascity.config.problems import quoted
from gascity.config.report import Report
from gascity.config.source import Source
from gascity.core.fingerprint import fingerprint, looks_secret
from gascity.core.launch import declared_command
from gascity.core.model import (
    AgentSpec,
    CopyEntry,
    DaemonSettings,
    OnDrift,
    OnIdle,
    PromptMode,
    RestartPolicy,
    StartupHints,
)
from gascity.core.naming import qualified, session_name
from gascity.core.template import TemplateError, expand

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import AgentTable

T = TypeVar("T")
LONGEST_COMMAND = 120_000  # bytes; Linux takes no word of more than 128 KiB on a command line


@dataclass(frozen=True, slots=True)
class CityFacts:
    """What every agent of a city shares; `shapes` is what the settings of each provider make."""

    name: str
    root: str
    session_template: str
    env: Mapping[str, str]
    daemon: DaemonSettings
    suspended: bool
    shapes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One `[[agents]]` entry with what was resolved for it.

    `backend` has the agent's own hints laid over it already. `command` is the shell text it starts
    with, `command_at` the key that text comes from. `provider` is where its sessions live.
    """

    table: AgentTable
    path: Path
    backend: Backend
    command: str
    command_at: Path
    provider: str

    @property
    def name(self) -> str:
        """The qualified name of the agent, or of the pool."""
        return qualified(self.table.dir, self.table.name)

    @property
    def size(self) -> int:
        """How many agents the entry declares at most."""
        pool = self.table.pool
        if pool is None:
            return 1
        return max(pool.min, 1) if pool.max is None else pool.max

    def member_names(self) -> Iterator[str]:
        """Yield the bare names: the entry's own, or numbered from 1 when there can be several."""
        if self.size == 1:
            yield self.table.name
        else:
            yield from (f"{self.table.name}-{number}" for number in range(1, self.size + 1))


def members(
    entry: Entry, city: CityFacts, files: CityFiles, report: Report
) -> tuple[AgentSpec, ...]:
    """Return every agent the entry declares, in order.

    Stops at the first that cannot be resolved: the others would say the same.
    """
    staged = _staged(entry, files, report)
    prompt = files.prompt(entry.table.prompt_template, (*entry.path, "prompt_template"))
    made: list[AgentSpec] = []
    for name in entry.member_names():
        before = report.count
        made.append(_Member(entry, city, name, report).spec(staged, prompt))
        if report.count > before:
            break
    return tuple(made)


def _staged(entry: Entry, files: CityFiles, report: Report) -> StartupHints:
    """Return the hints that are the same for every member: what to look for, which files."""
    table, backend = entry.table, entry.backend
    copies = []
    for index, copy in enumerate(table.copy_files):
        at = (*entry.path, "copy_files", index)
        target = posixpath.normpath(copy.rel_dst or posixpath.basename(copy.src.rstrip("/")))
        if target.startswith(("/", "../")) or target == "..":
            report.at((*at, "rel_dst"), f"{quoted(target)} is outside the agent's work folder")
        src = files.find(copy.src, "file or folder", (*at, "src"))
        copies.append(CopyEntry(src, target))
    return StartupHints(
        ready_prompt_prefix=backend.ready_prompt_prefix,
        ready_delay_ms=backend.ready_delay_ms,
        process_names=backend.process_names,
        emits_permission_warning=backend.emits_permission_warning,
        session_setup_script=files.find(
            table.session_setup_script, "file", (*entry.path, "session_setup_script")
        ),
        overlay_dir=files.find(table.overlay_dir, "folder", (*entry.path, "overlay_dir")),
        copy_files=tuple(copies),
        dialogs=backend.dialogs,
    )


class _Member:
    """One agent in the making: its names, and the expansion of its texts with them."""

    def __init__(self, entry: Entry, city: CityFacts, name: str, report: Report) -> None:
        self.entry = entry
        self.city = city
        self.report = report
        self.agent = qualified(entry.table.dir, name)
        session = session_name(city.name, self.agent, city.session_template)
        self.session = session.name
        if session.warning:
            report.warn(session.warning)
        self.work_dir = os.path.join(city.root, entry.table.dir) if entry.table.dir else city.root
        self.variables = {
            "Session": self.session,
            "Agent": self.agent,
            "Name": name,
            "Dir": entry.table.dir,
            "City": city.name,
            "CityRoot": city.root,
            "WorkDir": self.work_dir,
        }

    def spec(self, staged: StartupHints, prompt_file: Source | None) -> AgentSpec:
        entry, backend, table = self.entry, self.entry.backend, self.entry.table
        base = self._command()
        prompt = self._prompt(prompt_file)
        env = self._env()
        declared = declared_command(base, prompt, backend.prompt_mode, backend.prompt_flag)
        if len(declared.encode("utf-8", "surrogateescape")) > LONGEST_COMMAND:
            where = "prompt_template" if prompt else "args"
            self.report.at(
                (*entry.path, where),
                f"with its prompt the command is longer than {LONGEST_COMMAND} bytes",
                "let the prompt point to a file the agent can read",
            )
        extra = dict(self.city.shapes.get(entry.provider, {}))
        if entry.size > 1:
            extra["pool"] = entry.name
        return AgentSpec(
            name=self.agent,
            session=self.session,
            provider=entry.provider,
            backend=backend.name,
            base_command=base,
            work_dir=self.work_dir,
            fingerprint=fingerprint(declared, env, extra),
            prompt=prompt,
            prompt_mode=backend.prompt_mode,
            prompt_flag=backend.prompt_flag,
            greets=bool(backend.name) and backend.prompt_mode is not PromptMode.NONE,
            primes_itself=_first(backend.primes_itself, backend.hooks and backend.primes_by_hook),
            hooks=backend.hooks,
            env=env,
            pass_env=tuple(dict.fromkeys((*backend.token_env, *backend.pass_env))),
            fingerprint_extra=extra,
            hints=replace(
                staged,
                nudge=self._expand(table.nudge, "nudge"),
                pre_start=self._all(table.pre_start, "pre_start"),
                session_setup=self._all(table.session_setup, "session_setup"),
            ),
            depends_on=tuple(dict.fromkeys(table.depends_on)),
            suspended=table.suspended or self.city.suspended,
            restarts=self._restarts(),
            drift_patience=self.city.daemon.drift_patience,
            on_drift=OnDrift(_first(table.on_drift, self.city.daemon.on_drift)),
            drain_timeout=self._drain_timeout(),
            idle_timeout=table.idle_timeout,
            on_idle=self._on_idle(),
            stall_timeout=_first(table.stall_timeout, self.city.daemon.stall_timeout),
            pool=entry.name if table.pool is not None else "",
            dialogs=backend.dialogs,
        )

    def _command(self) -> str:
        """Return the shell text to start with, and the arguments as quoted words behind it."""
        command = self._expand_at(self.entry.command, self.entry.command_at)
        own = self.entry.table.args is not None
        at = (*(self.entry.path if own else self._backend_path), "args")
        words = (
            self._expand_at(word, (*at, index))
            for index, word in enumerate(self.entry.backend.args)
        )
        return " ".join((command, *map(shlex.quote, words)))

    def _env(self) -> dict[str, str]:
        """Return the declared environment: the city's, then the backend's, then the agent's."""
        declared = {
            **dict.fromkeys(self.city.env, ("workspace",)),
            **dict.fromkeys(self.entry.backend.env, self._backend_path),
            **dict.fromkeys(self.entry.table.env, self.entry.path),
        }
        values = {**self.city.env, **self.entry.backend.env}
        return {
            key: self._expand_at(values[key], (*path, "env", key)) for key, path in declared.items()
        }

    @property
    def _backend_path(self) -> Path:
        return ("providers", self.entry.backend.name)

    def _prompt(self, file: Source | None) -> str:
        if file is None:
            return ""
        try:
            return expand(file.text, self.variables).rstrip()
        except TemplateError as error:
            self.report.add(file.problem(error.offset, str(error)))
            return ""

    def _restarts(self) -> RestartPolicy:
        table, daemon = self.entry.table, self.city.daemon
        return RestartPolicy(
            max_restarts=_first(table.max_restarts, daemon.max_restarts),
            window=_first(table.restart_window, daemon.restart_window),
            first_delay=daemon.restart_delay,
            longest_delay=daemon.restart_delay_max,
        )

    def _drain_timeout(self) -> float:
        table = self.entry.table
        own = _first(table.drain_timeout, self.city.daemon.drain_timeout)
        return own if table.pool is None else _first(table.pool.drain_timeout, own)

    def _on_idle(self) -> OnIdle:
        table = self.entry.table
        chosen = OnIdle(table.on_idle)
        if chosen is OnIdle.NUDGE and not table.nudge:
            self.report.at((*self.entry.path, "on_idle"), 'on_idle "nudge" needs a nudge to send')
        if chosen is OnIdle.STOP and table.pool is not None:
            self.report.at(
                (*self.entry.path, "on_idle"),
                'on_idle "stop" cannot be said of a pool: its size is what its check says',
            )
        return chosen

    def _all(self, texts: tuple[str, ...] | list[str], key: str) -> tuple[str, ...]:
        return tuple(self._expand(text, key, index) for index, text in enumerate(texts))

    def _expand(self, text: str, *keys: str | int) -> str:
        return self._expand_at(text, (*self.entry.path, *keys))

    def _expand_at(self, text: str, at: Path) -> str:
        try:
            return expand(text, self.variables)
        except TemplateError as error:
            secret = looks_secret(str(at[-1]))  # a broken template may be part of the value
            self.report.at(at, "cannot expand the value's templates" if secret else str(error))
            return text


def _first(own: T | None, default: T) -> T:
    return default if own is None else own
