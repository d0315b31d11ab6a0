"""From the file's shape to the city it means: backends, providers, defaults, and what must agree.

Goes on after a problem, to find all of them; the city it returns is good only if the report holds
none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gascity.config.agreement import check_agreement, check_settings
from gascity.config.backends import Backend, city_backends, overlay
from gascity.config.files import CityFiles
from gascity.config.members import CityFacts, Entry, members
from gascity.config.oneshots import one_shots
from gascity.config.places import Path
from gascity.config.problems import quoted
from gascity.config.report import Report
from gascity.config.screens import check_dialogs, city_rules
from gascity.core.model import (
    AgentSpec,
    AlertSettings,
    City,
    DaemonSettings,
    Desired,
    OnDrift,
    PoolSpec,
    PromptMode,
    RunSettings,
)
from gascity.core.naming import city_id, is_component
from gascity.screens.rules import RuleBook

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import AgentTable, CityFile

AUTO = "auto"
Auto = str | Callable[[], str]  # what `auto` stands for; found out only where somebody wants it
Locality = Callable[[str], bool]  # whether a provider's sessions run on this machine
# What the settings of a provider, in the city of that folder, make of every session.
Shape = Callable[[str, Mapping[str, object], str], Mapping[str, str]]
MOST_AGENTS = 10_000


@dataclass(frozen=True, slots=True)
class Choices:
    """What names in the file may refer to, what `auto` stands for, and who is on this machine."""

    backends: Mapping[str, Backend]
    providers: Collection[str]
    auto: Auto
    is_local: Locality


def resolve(
    file: CityFile,
    root: str,
    report: Report,
    *,
    known_providers: Collection[str],
    auto_provider: Auto,
    is_local: Locality,
    shape: Shape,
    session_provider: str = "",
) -> City:
    """Return the city in the folder `root`, an absolute path, that `file` declares."""
    name = _city_name(file, root, report)
    backends = city_backends(file.providers, report)
    choices = Choices(backends, known_providers, auto_provider, is_local)
    chosen = session_provider or file.session.provider
    default = _provider(chosen, ("session", "provider"), choices, report)
    _backend_known(file.workspace.provider, ("workspace", "provider"), choices, report)
    check_settings(file.session.settings, known_providers, report)
    screens = _screens(file, root, choices, report)
    said = file.daemon.model_dump()
    daemon = DaemonSettings(**said | {"on_drift": OnDrift(file.daemon.on_drift)})
    entries = [
        _entry(file, index, table, default, choices, report)
        for index, table in enumerate(file.agents)
    ]
    facts = CityFacts(
        name=name,
        root=root,
        session_template=file.workspace.session_template,
        env=file.workspace.env,
        daemon=daemon,
        suspended=file.workspace.suspended,
        shapes={
            name: shape(name, file.session.settings.get(name, {}), root)
            for name in {entry.provider for entry in entries}
        },
    )
    declared = _declared(entries, facts, report)
    check_agreement(declared, report)
    runnable = one_shots(file, backends, name, root, report)
    return City(
        name=name,
        root=root,
        desired=Desired(
            city=name,
            city_id=city_id(root),
            agents=tuple(s for e, specs in declared if e.table.pool is None for s in specs),
            pools=tuple(_pool(e, specs, root) for e, specs in declared if e.table.pool is not None),
            drift_parallel=daemon.drift_parallel,
            brakes=daemon.mass_death_brake,
        ),
        daemon=daemon,
        alerts=_alerts(file, report),
        runs=RunSettings(**file.runs.model_dump()),
        default_provider=default,
        chose_provider=chosen not in ("", AUTO),
        provider_settings=file.session.settings,
        warnings=report.warnings,
        screens=screens,
        backends=runnable,
        sources=report.sources,
    )


def _alerts(file: CityFile, report: Report) -> AlertSettings:
    said = file.alerts.model_dump()
    if file.alerts.webhook and file.alerts.webhook_env:
        report.at(
            ("alerts", "webhook_env"),
            "webhook and webhook_env both say where alerts are posted",
            "leave one of them out",
        )
    return AlertSettings(**said | {"apprise": tuple(file.alerts.apprise)})


def _screens(file: CityFile, root: str, choices: Choices, report: Report) -> RuleBook:
    """Return the rules for screens; report what the city wants of dialogs that are not there."""
    before = report.count
    screens = city_rules(root, choices.backends, report)
    if report.count > before:
        return screens
    for name, table in file.providers.items():
        if table.dialogs:
            check_dialogs(table.dialogs, screens.of(name), ("providers", name, "dialogs"), report)
    for index, agent in enumerate(file.agents):
        if agent.dialogs:
            says = agent if agent.provider or agent.start_command else file.workspace
            rules = screens.of(says.provider)
            check_dialogs(agent.dialogs, rules, ("agents", index, "dialogs"), report)
    return screens


def _city_name(file: CityFile, root: str, report: Report) -> str:
    name = file.workspace.name or os.path.basename(root)
    if not is_component(name):
        report.at(
            ("workspace",),
            f"the city needs a name: the folder's, {quoted(name)}, cannot be used as one",
            'write name = "..." under [workspace]',
        )
    return name


def _entry(
    file: CityFile,
    index: int,
    table: AgentTable,
    default_provider: str,
    choices: Choices,
    report: Report,
) -> Entry:
    path: Path = ("agents", index)
    backend, command, command_at = _started(file, table, path, choices, report)
    backend = overlay(backend, table)
    if backend.prompt_mode is PromptMode.FLAG and not backend.prompt_flag:
        report.at((*path, "prompt_mode"), 'prompt_mode "flag" needs a prompt_flag')
    if backend.hooks and not backend.has_hooks:
        whose = f"backend {quoted(backend.name)}" if backend.name else "a plain command"
        at = path if table.hooks else ("providers", backend.name)
        report.at((*at, "hooks"), f"{whose} has no hooks that gc could set up")
    pool = table.pool
    if pool is not None and pool.max is not None and pool.min > pool.max:
        report.at((*path, "pool", "min"), f"min {pool.min} is more than max {pool.max}")
    provider = default_provider
    if table.session:
        provider = _provider(table.session, (*path, "session"), choices, report)
    if backend.hooks and not choices.is_local(provider):
        report.at(
            (*path, "hooks") if table.hooks else path,
            f"hooks are files of this machine, and {quoted(provider)} runs agents elsewhere",
            "write hooks = false; its screen tells what it does",
        )
    return Entry(table, path, backend, command, command_at, provider)


def _started(
    file: CityFile, table: AgentTable, path: Path, choices: Choices, report: Report
) -> tuple[Backend, str, Path]:
    """Return the backend of an agent, the shell text it starts with, and where that stands.

    An agent that names a backend or a start_command has said how it starts; one that says neither
    takes both from the workspace. A start_command goes without the backend's arguments.
    """
    says = table if table.provider or table.start_command else file.workspace
    at: Path = path if says is table else ("workspace",)
    if says is table:
        _backend_known(table.provider, (*path, "provider"), choices, report)
    backend = choices.backends.get(says.provider, Backend(name=says.provider))
    if says.start_command:
        return replace(backend, args=()), says.start_command, (*at, "start_command")
    if not says.provider:
        report.at(
            path,
            f"agent {quoted(table.name)} has no command to start",
            'give it provider = "..." or start_command = "...", or give [workspace] one',
        )
    elif says.provider in choices.backends and not backend.command:
        report.at(
            (*at, "provider"),
            f"backend {quoted(says.provider)} is for one-shot runs and has no session command",
        )
    return backend, backend.command, ("providers", backend.name, "command")


def _backend_known(name: str, at: Path, choices: Choices, report: Report) -> None:
    if name and name not in choices.backends:
        report.unknown(at, "backend", name, choices.backends)


def _provider(name: str, at: Path, choices: Choices, report: Report) -> str:
    if name == AUTO or not name:
        return choices.auto if isinstance(choices.auto, str) else choices.auto()
    if name not in choices.providers:
        report.unknown(at, "session provider", name, {AUTO, *choices.providers})
    return name


def _declared(
    entries: list[Entry], facts: CityFacts, report: Report
) -> list[tuple[Entry, tuple[AgentSpec, ...]]]:
    files = CityFiles(facts.root, report)
    declared = []
    total = 0
    for entry in entries:
        total += entry.size
        if total > MOST_AGENTS:
            report.at(
                entry.path, f"a city has at most {MOST_AGENTS} agents, members of pools counted"
            )
            break
        declared.append((entry, members(entry, facts, files, report)))
    return declared


def _pool(entry: Entry, specs: tuple[AgentSpec, ...], root: str) -> PoolSpec:
    pool = entry.table.pool
    return PoolSpec(
        name=entry.name,
        min=pool.min if pool else 0,
        max=entry.size,
        members=specs,
        check=pool.check if pool else "",
        work_dir=specs[0].work_dir if specs else root,
        drain_timeout=specs[0].drain_timeout if specs else 300.0,
    )
