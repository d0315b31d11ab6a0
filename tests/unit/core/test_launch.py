from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity.core.launch import declared_command, launch_command
from gascity.core.model import AgentSpec, PromptMode

BEACON = "[city] worker . 2026-03-01T15:04:05"


def agent(prompt: str, mode: PromptMode, *, greets: bool = True) -> AgentSpec:
    return AgentSpec(
        name="worker",
        session="gc-city-worker",
        provider="tmux",
        backend="claude",
        base_command="claude --yes",
        work_dir="/srv",
        fingerprint="",
        prompt=prompt,
        prompt_mode=mode,
        prompt_flag="-p",
        greets=greets,
    )


@pytest.mark.parametrize(
    ("mode", "command"),
    [
        (PromptMode.ARG, "claude 'do it'"),
        (PromptMode.FLAG, "claude -p 'do it'"),
        (PromptMode.NONE, "claude"),
    ],
)
def test_the_prompt_goes_where_the_mode_wants_it(mode: PromptMode, command: str) -> None:
    assert declared_command("claude", "do it", mode, "-p") == command


def test_an_empty_prompt_adds_nothing() -> None:
    assert declared_command("claude", "", PromptMode.FLAG, "-p") == "claude"


@given(st.text(st.characters(exclude_characters="\0"), min_size=1))
def test_any_prompt_is_one_word_for_the_shell(prompt: str) -> None:
    command = declared_command("claude", prompt)

    assert shlex.split(command) == ["claude", prompt]


def test_what_runs_begins_its_prompt_with_the_beacon() -> None:
    command = launch_command(agent("do it", PromptMode.ARG), BEACON)

    assert shlex.split(command) == ["claude", "--yes", f"{BEACON}\n\ndo it"]


def test_without_a_prompt_the_beacon_goes_alone() -> None:
    command = launch_command(agent("", PromptMode.FLAG), BEACON)

    assert shlex.split(command) == ["claude", "--yes", "-p", BEACON]


def test_a_plain_command_without_a_prompt_stays_as_it_is() -> None:
    assert launch_command(agent("", PromptMode.ARG, greets=False), BEACON) == "claude --yes"


def test_a_plain_command_gets_its_prompt_with_the_beacon() -> None:
    command = launch_command(agent("do it", PromptMode.ARG, greets=False), BEACON)

    assert BEACON in command


def test_an_agent_that_takes_no_prompt_gets_none() -> None:
    assert launch_command(agent("do it", PromptMode.NONE), BEACON) == "claude --yes"
