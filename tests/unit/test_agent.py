"""The agent: identity over a provider, and its nine operations."""

from __future__ import annotations

from datetime import datetime

from gascity.agent import Agent, Home
from gascity.core.fingerprint import fingerprint
from gascity.core.launch import declared_command
from gascity.core.model import AgentSpec, StartupHints
from gascity.core.observed import AGENT, BEACON, CITY_ID, CONFIG, CONFIG_HASH, RUN
from gascity.session.receipts import Delivery
from gascity.testing.fake import FakeWorld

WHEN = datetime(2026, 3, 1, 15, 4, 5)  # noqa: DTZ001  a beacon shows local time
LATER = datetime(2027, 1, 1)  # noqa: DTZ001


def spec(**changes: object) -> AgentSpec:
    given = {"name": "rig/a", "session": "gc-c-rig--a", "provider": "fake", "backend": "claude"}
    given |= {"base_command": "claude", "work_dir": "/w", "fingerprint": "f", "prompt": "Do it."}
    return AgentSpec(**{**given, **changes})  # type: ignore[arg-type]  # real fields


def agent(of: AgentSpec | None = None, **ambient: str) -> Agent:
    home = Home("c", "c0ffee", "/c", ambient)
    return Agent(of or spec(), FakeWorld().provider(), home)


def test_the_nine_operations_reach_the_session() -> None:
    one = agent()
    assert (one.name, one.session_name) == ("rig/a", "gc-c-rig--a")
    assert not one.is_running()

    one.start("r1", WHEN)

    assert one.is_running()
    assert one.nudge("hello").delivery is Delivery.SUBMITTED
    assert isinstance(one.peek(10), str)
    one.stop(grace=1.0)
    assert not one.is_running()


def test_the_session_is_marked_as_part_of_being_made() -> None:
    meta = agent().session_config("r1", WHEN).meta

    assert meta[CITY_ID] == "c0ffee"
    assert meta[AGENT] == "rig/a"
    assert meta[CONFIG_HASH] == "f"
    assert meta[RUN] == "r1"
    assert meta[BEACON] == "[c] rig/a . 2026-03-01T15:04:05"
    assert "Do it." in meta[CONFIG]


def test_the_prompt_is_led_by_the_beacon_and_quoted() -> None:
    command = agent(spec(prompt="it's $HOME")).session_config("r1", WHEN).command

    assert command.startswith("claude '[c] rig/a . 2026-03-01T15:04:05\n")
    assert "it'\"'\"'s $HOME" in command


def test_beacon_time_host_environment_hints_and_work_folder_do_not_change_the_fingerprint() -> None:
    def hashed(one: Agent, when: datetime) -> str:
        config = one.session_config("r", when)
        declared = declared_command(one.spec.base_command, one.spec.prompt)
        assert config.meta[CONFIG]
        return fingerprint(declared, one.spec.env, one.spec.fingerprint_extra)

    plain = hashed(agent(), WHEN)
    hints = StartupHints(ready_prompt_prefix="> ", process_names=("x",), nudge="go")

    assert hashed(agent(), LATER) == plain
    assert hashed(agent(PATH="/other", GC_STRAY="1"), WHEN) == plain
    assert hashed(agent(spec(hints=hints, work_dir="/elsewhere")), WHEN) == plain
    assert hashed(agent(spec(env={"A": "1"})), WHEN) != plain


def test_a_secret_in_the_declared_environment_is_not_in_the_metadata() -> None:
    meta = agent(spec(env={"API_TOKEN": "hunter2hunter2"})).session_config("r", WHEN).meta

    assert not any("hunter2" in value for value in meta.values())
