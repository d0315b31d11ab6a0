"""The environment of a run: the host's, less what is none of its business, and who it is.

A run inherits more than the agent of a session does, because it stands for a command somebody
would have typed. It never gets another vendor's login, a secret of the supervisor, or the variables
by which a coding agent knows that it runs inside another one. What says which run it is comes last,
so that nobody can forge it.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gascity.core.environment import DEFAULT_PATH, with_folder
from gascity.core.fingerprint import looks_secret, secret_values
from gascity.core.model import AlertSettings
from gascity.core.oneshot import OneShot
from gascity.errors import BackendError

MARK = "GC_RUN_MARK"
BASE_URL, MODEL = "BASE_URL", "MODEL"
_OURS = frozenset({"TASK_FOLDER", "RUN_FOLDER", MARK})
_OUR_PREFIX = "JRUN_"
# What a coding agent, or a session of gc, sets for the programs it starts.
_INNER = re.compile(
    "CLAUDECODE|CLAUDE_CODE_(ENTRYPOINT|SSE_PORT|CHILD_SESSION|EXECPATH)"
    "|CLAUDE_CODE_SESSION_(ID|ACCESS_TOKEN|KIND|NAME)"
    "|CODEX_(CI|SANDBOX|SANDBOX_NETWORK_DISABLED|SESSION_ID|THREAD_ID)"
    "|GEMINI_CLI|GEMINI_CLI_NO_RELAUNCH|GEMINI_CLI_IDE_.*"
    "|GC_(AGENT|DIR|RUN|SESSION_NAME|SESSION_MARK)"
)
# Of the host's variables only these hold secrets for sure; GIT_AUTHOR_NAME, say, does not.
_SECRET = re.compile(r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RunIds:
    """Which run it is; a root run has no parent."""

    run_id: str
    project_id: str
    task_id: str
    parent_id: str = ""


@dataclass(frozen=True, slots=True)
class RunPaths:
    """Where its things lie, as absolute paths."""

    task_folder: str
    run_folder: str
    runs_dir: str
    message_bus: str


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """The whole environment of a run, and the values in it that must not be written down.

    The secrets come longest first, as `conceal` wants them.
    """

    variables: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


def run_environment(
    host: Mapping[str, str],
    ids: RunIds,
    paths: RunPaths,
    backend: OneShot,
    *,
    known: Iterable[OneShot],
    own: Mapping[str, str] | None = None,
    token: str = "",
    url: str = "",
    mark: str = "",
    withheld: Iterable[str] = (),
    gc_folder: str = "",
) -> RunEnvironment:
    """Return the environment of one run of `backend`.

    `known` are all backends there are, `own` what the caller wants on top, `token` the one that is
    configured, `url` where the supervisor answers, `withheld` names variables of the supervisor,
    `gc_folder` is where this `gc` lies. Raises BackendError for what no environment can hold.
    """
    env = logged_in(inherited(host, backend, known, withheld), backend, token)
    env.update(_not_forged(own or {}))
    env["PATH"] = with_folder(env.get("PATH") or DEFAULT_PATH, gc_folder)
    env.update(_identity(ids, paths, url, mark))
    _check(env)
    return RunEnvironment(env, secrets_in(env, backend, {**backend.env, **(own or {})}))


def inherited(
    host: Mapping[str, str],
    backend: OneShot,
    known: Iterable[OneShot],
    withheld: Iterable[str] = (),
) -> dict[str, str]:
    """Return what a run of `backend` has of the host's environment.

    A class asks where BASE_URL says, and sends its token there: that is not left to a variable
    which may be meant for something else.
    """
    mine = {*backend.token_env, *backend.account_env, *backend.pass_env}
    theirs = {name for each in known for name in (*each.token_env, *each.account_env)} - mine
    theirs.update(withheld)
    if backend.run is None:
        theirs.update((BASE_URL, MODEL))
    return {
        name: value
        for name, value in host.items()
        if name not in theirs and not _INNER.fullmatch(name) and not _is_ours(name)
    }


def logged_in(env: Mapping[str, str], backend: OneShot, token: str) -> dict[str, str]:
    """Return `env` with what is configured for a backend: its variables, token, address, model.

    With a token of the city's the host's logins are gone: the tool might prefer one of them.
    """
    made = {**env, **_not_forged(backend.env)}
    if token:
        for name in backend.token_env:
            made.pop(name, None)
        made.update(dict.fromkeys(backend.login_env, token))
    if backend.base_url:
        names = filter(None, (BASE_URL, backend.base_url_env))
        made.update(dict.fromkeys(names, backend.base_url))
    if backend.model:
        made[MODEL] = backend.model
    return made


def secrets_in(
    env: Mapping[str, str], backend: OneShot, declared: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """Return the values to strike out of what is written down, longest first.

    Of `declared` variables all that look secret count, of the others those that are for sure.
    """
    names = {name for name in env if _SECRET.search(name)}
    names |= {name for name in declared or {} if looks_secret(name)}
    names.update(backend.token_env)
    found = {f"KEY {name}": env[name] for name in names if name in env}
    for number, url in enumerate((backend.base_url, env.get(BASE_URL, ""))):
        found[f"KEY {number}"] = login = login_in(url)
        found[f"KEY {number} as it is sent"] = urllib.parse.unquote(login)
    return secret_values(found)


def login_in(url: str) -> str:
    """Return the password in an address, or the name where that is all; empty for none."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return ""
    return parts.password or parts.username or ""


def withheld_of(alerts: AlertSettings) -> tuple[str, ...]:
    """Return the names of the variables that hold the city's addresses for alerts."""
    return tuple(filter(None, (alerts.webhook_env, alerts.apprise_env)))


def _identity(ids: RunIds, paths: RunPaths, url: str, mark: str) -> dict[str, str]:
    told = {
        "JRUN_PROJECT_ID": ids.project_id,
        "JRUN_TASK_ID": ids.task_id,
        "JRUN_ID": ids.run_id,
        "JRUN_PARENT_ID": ids.parent_id,
        "JRUN_RUNS_DIR": paths.runs_dir,
        "JRUN_MESSAGE_BUS": paths.message_bus,
        "JRUN_TASK_FOLDER": paths.task_folder,
        "JRUN_RUN_FOLDER": paths.run_folder,
        "TASK_FOLDER": paths.task_folder,
        "RUN_FOLDER": paths.run_folder,
    }
    if url:
        told["JRUN_CONDUCTOR_URL"] = url
    return {**told, MARK: mark} if mark else told


def _not_forged(given: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in given.items() if not _is_ours(name)}


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(_OUR_PREFIX)


def _check(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise BackendError(f"environment variable {name!r} cannot be set", code=2)
