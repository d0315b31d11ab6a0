"""What reaches an agent's environment, and what never does."""

from __future__ import annotations

from dataclasses import replace

from gascity.core.environment import agent_environment
from gascity.core.model import AgentSpec

AMBIENT = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "LC_ALL": "C",
    "XDG_RUNTIME_DIR": "/run/1",
    "CLAUDECODE": "1",
    "OPENAI_API_KEY": "theirs",
    "ANTHROPIC_API_KEY": "ours",
    "GC_STRAY": "x",
}


def made(**changes: object) -> dict[str, str]:
    spec = AgentSpec("rig/a", "gc-c-rig--a", "p", "claude", "claude", "/w", "f", **changes)  # type: ignore[arg-type]  # real fields
    return agent_environment(
        spec, AMBIENT, city="c", city_path="/c", run="r1", gc_folder="/opt/gc/bin"
    )


def test_only_the_base_and_what_is_passed_comes_from_outside() -> None:
    env = made(pass_env=("ANTHROPIC_API_KEY", "NOT_SET"))

    assert env == {
        "PATH": "/bin:/opt/gc/bin",
        "HOME": "/home/ann",
        "LC_ALL": "C",
        "XDG_RUNTIME_DIR": "/run/1",
        "ANTHROPIC_API_KEY": "ours",
        "GC_AGENT": "rig/a",
        "GC_CITY": "c",
        "GC_CITY_PATH": "/c",
        "GC_DIR": "/w",
        "GC_SESSION_NAME": "gc-c-rig--a",
        "GC_RUN": "r1",
    }


def test_an_agent_on_another_machine_is_given_nothing_of_this_one() -> None:
    spec = AgentSpec("a", "gc-c-a", "p", "claude", "claude", "/w", "f", env={"TZ": "UTC"})
    spec = replace(spec, pass_env=("ANTHROPIC_API_KEY",))
    env = agent_environment(
        spec, AMBIENT, city="c", city_path="/c", run="r1", gc_folder="/opt/gc/bin", is_local=False
    )

    assert {key: value for key, value in env.items() if not key.startswith("GC_")} == {
        "ANTHROPIC_API_KEY": "ours",
        "TZ": "UTC",
    }
    assert env["GC_RUN"] == "r1"


def test_what_is_declared_wins_over_what_is_ambient() -> None:
    env = made(env={"HOME": "/elsewhere", "PATH": "/mine"})

    assert env["HOME"] == "/elsewhere"
    assert env["PATH"] == "/mine:/opt/gc/bin"


def test_an_agent_cannot_pose_as_another() -> None:
    assert made(env={"GC_AGENT": "mayor"})["GC_AGENT"] == "rig/a"
