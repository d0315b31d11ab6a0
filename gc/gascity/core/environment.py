"""The environment of an agent: what is declared, and a short list of what every program needs.

Nothing else of the controller's environment reaches an agent: not another vendor's key, not the
variable by which a coding agent knows that it runs inside another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from gascity.core.model import AgentSpec

BASE = frozenset(
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR"],
)
BASE_PREFIXES = ("LC_", "XDG_")
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def agent_environment(
    spec: AgentSpec,
    ambient: Mapping[str, str],
    *,
    city: str,
    city_path: str,
    run: str,
    gc_folder: str,
    is_local: bool = True,
) -> dict[str, str]:
    """Return the whole environment for one incarnation.

    `gc_folder` is where this `gc` lies: it comes last on PATH, so that an agent can call `gc`
    without any other program of that folder getting in front of the agent's own. An agent that is
    not `is_local` has the programs, the home and the language of its own machine: of this one it
    is given nothing but what is passed or declared.
    """
    env = {key: value for key, value in ambient.items() if is_local and _is_base(key)}
    for key in spec.pass_env:
        if key in ambient:
            env[key] = ambient[key]
    env.update(spec.env)
    if is_local:
        env["PATH"] = with_folder(env.get("PATH") or DEFAULT_PATH, gc_folder)
    env.update(
        GC_AGENT=spec.name,
        GC_CITY=city,
        GC_CITY_PATH=city_path,
        GC_DIR=spec.work_dir,
        GC_SESSION_NAME=spec.session,
        GC_RUN=run,
    )
    return env


def _is_base(key: str) -> bool:
    return key in BASE or key.startswith(BASE_PREFIXES)


def with_folder(path: str, folder: str) -> str:
    """Return a PATH that has this folder, last where it did not."""
    return path if not folder or folder in path.split(":") else f"{path}:{folder}"
