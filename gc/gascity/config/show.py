"""A resolved city as TOML, for people: `gc config show --resolved`.

Every default is filled in, every pool member is there, and no value of a key that looks secret.
It is not a city file: it has keys of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict

from gascity.config import classes
from gascity.config.durations import format_duration
from gascity.core.fingerprint import conceal, looks_secret, redacted, secret_values
from gascity.core.model import AgentSpec, AlertSettings, City, PoolSpec
from gascity.core.oneshot import OneShot

_ADDRESS = re.compile(r"(?P<scheme>[^:]*://)(?:(?P<who>[^/?#]*)@)?(?P<host>[^/?#]*)/?(?P<rest>.*)")


def as_toml(city: City) -> str:
    """Return the city as TOML text, secrets replaced by the beginning of their hash."""
    import tomli_w  # noqa: PLC0415  only this command writes TOML

    daemon = city.daemon
    document: dict[str, object] = {
        "city": {"name": city.name, "id": city.desired.city_id, "root": city.root},
        "daemon": {
            "patrol_interval": format_duration(daemon.patrol_interval),
            "max_restarts": daemon.max_restarts,
            "restart_window": format_duration(daemon.restart_window),
            "shutdown_timeout": format_duration(daemon.shutdown_timeout),
            "drift_patience": format_duration(daemon.drift_patience),
        },
        "alerts": _alerts(city.alerts),
        "runs": asdict(city.runs),
        "session": {"provider": city.default_provider, **_without_secrets(city.provider_settings)},
        "agents": [_agent(spec) for spec in city.desired.agents],
        "pools": [_pool(pool) for pool in city.desired.pools],
        "backends": [
            _backend(one)
            for name, one in sorted(city.backends.items())
            if one.run is not None or classes.where(name)
        ],
    }
    return _printable(tomli_w.dumps(document, multiline_strings=True))


def _alerts(settings: AlertSettings) -> dict[str, object]:
    return {
        **asdict(settings),
        "webhook": _address(settings.webhook),
        "apprise": [_scheme(address) for address in settings.apprise],
        "repeat_after": format_duration(settings.repeat_after),
        "timeout": format_duration(settings.timeout),
    }


def _address(text: str) -> str:
    """Return scheme and host of an address, and a hash for what may be secret."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not (found["who"] or found["rest"]):
        return text
    return f"{found['scheme']}{found['host']}/{redacted(text)}"


def _scheme(text: str) -> str:
    """Return the scheme of an address, and a hash for the rest, which often is a secret."""
    return f"{text.partition('://')[0]}://{redacted(text)}"


def _backend(backend: OneShot) -> dict[str, object]:
    """Return how one-shot runs of a backend are done; a class has no command."""
    run = backend.run
    shown: dict[str, object] = {
        "name": backend.name,
        **({} if run is None else {key: _plain(value) for key, value in asdict(run).items()}),
        "model": backend.model,
        "base_url": _address(backend.base_url),
        "token_file": backend.token_file,
        "token_env": list(backend.token_env),
        "login_env": list(backend.login_env),
        "pass_env": list(backend.pass_env),
        "env": _without_secrets(backend.env),
    }
    secrets = secret_values(backend.env)
    return {key: _concealed(value, secrets) for key, value in shown.items()}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else str(value)


def _agent(spec: AgentSpec) -> dict[str, object]:
    secrets = secret_values(spec.env)
    hints = spec.hints
    shown: dict[str, object] = {
        "name": spec.name,
        "session_name": spec.session,
        "session": spec.provider,
        "provider": spec.backend,
        "work_dir": spec.work_dir,
        "command": spec.base_command,
        "prompt_mode": str(spec.prompt_mode),
        "prompt_flag": spec.prompt_flag,
        "prompt": spec.prompt,
        "greets": spec.greets,
        "primes_itself": spec.primes_itself,
        "hooks": spec.hooks,
        "fingerprint": spec.fingerprint,
        "suspended": spec.suspended,
        "depends_on": list(spec.depends_on),
        "max_restarts": spec.restarts.max_restarts,
        "restart_window": format_duration(spec.restarts.window),
        "ready_prompt_prefix": hints.ready_prompt_prefix,
        "ready_delay_ms": hints.ready_delay_ms,
        "process_names": list(hints.process_names),
        "emits_permission_warning": hints.emits_permission_warning,
        "dialogs": dict(spec.dialogs),
        "nudge": hints.nudge,
        "pre_start": list(hints.pre_start),
        "session_setup": list(hints.session_setup),
        "session_setup_script": hints.session_setup_script,
        "overlay_dir": hints.overlay_dir,
        "copy_files": [{"src": copy.src, "rel_dst": copy.rel_dst} for copy in hints.copy_files],
        "pass_env": list(spec.pass_env),
        "env": _without_secrets(spec.env),
    }
    return {key: _concealed(value, secrets) for key, value in shown.items()}


def _pool(pool: PoolSpec) -> dict[str, object]:
    return {
        "name": pool.name,
        "min": pool.min,
        "max": pool.max,
        "check": pool.check,
        "drain_timeout": format_duration(pool.drain_timeout),
        "members": [_agent(spec) for spec in pool.members],
    }


def _without_secrets(table: Mapping[str, object]) -> dict[str, object]:
    return {
        key: redacted(str(value)) if looks_secret(key) else _inner(value)
        for key, value in table.items()
    }


def _inner(value: object) -> object:
    if isinstance(value, Mapping):
        return _without_secrets(value)
    return [_inner(element) for element in value] if isinstance(value, list) else value


def _concealed(value: object, secrets: tuple[str, ...]) -> object:
    """Return `value` without copies of the secrets in any text of it."""
    match value:
        case str():
            return conceal(value, secrets)
        case list():
            return [_concealed(inner, secrets) for inner in value]
        case dict():
            return {key: _concealed(inner, secrets) for key, inner in value.items()}
        case _:
            return value


def _printable(text: str) -> str:
    """Return `text` with the bytes of a path that are not UTF-8 replaced: TOML has none."""
    return text.encode("utf-8", "replace").decode("utf-8")
