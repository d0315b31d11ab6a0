"""Backends: how to start and recognise one kind of agent.

The presets are data, in `backends.toml`; a city's `[providers.NAME]` lies over the preset of that
name field by field, or makes a backend of its own. What one-shot runs need is in `oneshots`.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from gascity.config import classes
from gascity.config.report import Report
from gascity.core.model import PromptMode

if TYPE_CHECKING:  # pydantic is imported only where a city is read
    from gascity.config.schema import BackendTable, Hints, Preset

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Backend:
    """All that is known of a kind of agent. The nameless one is a plain command.

    One without a command is for one-shot runs alone. `token_env` and `pass_env` name variables its
    agents take from the controller's environment. `has_hooks` says that gc can set up hooks for it,
    `primes_by_hook` that its agents then prime themselves, and `hooks` that they are wanted.
    """

    name: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    prompt_mode: PromptMode = PromptMode.ARG
    prompt_flag: str = ""
    ready_prompt_prefix: str = ""
    ready_delay_ms: int = 0
    process_names: tuple[str, ...] = ()
    emits_permission_warning: bool = False
    primes_itself: bool | None = None
    hooks: bool = False
    dialogs: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    token_env: tuple[str, ...] = ()
    has_hooks: bool = False
    primes_by_hook: bool = False


@functools.cache
def tables() -> Mapping[str, Preset]:
    """Return what `backends.toml` says of each backend."""
    from gascity.config.schema import Preset  # noqa: PLC0415  costs a tenth of a second

    text = resources.files("gascity.config").joinpath("backends.toml").read_text("utf-8")
    return {name: Preset.model_validate(said) for name, said in tomllib.loads(text).items()}


@functools.cache
def everything() -> Mapping[str, Backend]:
    """Return the backends gc knows, also those without a command, which are for one-shot runs."""
    return {
        name: replace(
            overlay(Backend(name=name), table),
            command=table.command,
            token_env=tuple(table.token_env or ()),
            has_hooks=table.has_hooks,
            primes_by_hook=table.primes_by_hook,
        )
        for name, table in tables().items()
    }


@functools.cache
def presets() -> Mapping[str, Backend]:
    """Return the backends gc knows that agents can have, by name."""
    return {name: made for name, made in everything().items() if made.command}


def city_backends(given: Mapping[str, BackendTable], report: Report) -> Mapping[str, Backend]:
    """Return the presets with the city's own backends and changes laid over them."""
    known = dict(everything())
    for name, table in given.items():
        if table.command and table.start_command:
            report.at(
                ("providers", name, "start_command"),
                "command and start_command mean the same; give one of them",
            )
        below = known.get(name, Backend(name=name))
        command = table.command or table.start_command or below.command
        if not command and table.run is None and not classes.where(name):
            report.at(
                ("providers", name),
                f'missing key "command": there is no built-in backend "{name}" to take it from',
            )
        token_env = below.token_env if table.token_env is None else tuple(table.token_env)
        known[name] = replace(overlay(below, table), command=command, token_env=token_env)
    return known


def overlay(below: Backend, hints: Hints) -> Backend:
    """Return `below` with what `hints` says: lists and values replace, the others add."""
    lists = {
        key: tuple(value)
        for key, value in (("args", hints.args), ("process_names", hints.process_names))
        if value is not None
    }
    return replace(
        below,
        args=lists.get("args", below.args),
        prompt_mode=PromptMode(_first(hints.prompt_mode, below.prompt_mode)),
        prompt_flag=_first(hints.prompt_flag, below.prompt_flag),
        ready_prompt_prefix=_first(hints.ready_prompt_prefix, below.ready_prompt_prefix),
        ready_delay_ms=_first(hints.ready_delay_ms, below.ready_delay_ms),
        process_names=lists.get("process_names", below.process_names),
        emits_permission_warning=_first(
            hints.emits_permission_warning, below.emits_permission_warning
        ),
        primes_itself=below.primes_itself if hints.primes_itself is None else hints.primes_itself,
        hooks=_first(hints.hooks, below.hooks),
        dialogs={**below.dialogs, **hints.dialogs},
        env={**below.env, **hints.env},
        pass_env=(*below.pass_env, *hints.pass_env),
    )


def _first(given: T | None, below: T) -> T:
    return below if given is None else given
