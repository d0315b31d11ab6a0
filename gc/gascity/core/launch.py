"""The command line of an agent: as declared, and as run.

The difference is the beacon. It holds a time, so it is in the command that runs and never in the
one that is fingerprinted.
"""

from __future__ import annotations

import shlex

from gascity.core.model import AgentSpec, PromptMode


def declared_command(
    base_command: str, prompt: str, mode: PromptMode = PromptMode.ARG, flag: str = ""
) -> str:
    """Return `base_command` with the prompt as one quoted word, where `mode` wants it.

    An empty prompt adds nothing.
    """
    if not prompt:
        return base_command
    match mode:
        case PromptMode.ARG:
            return f"{base_command} {shlex.quote(prompt)}"
        case PromptMode.FLAG:
            return f"{base_command} {flag} {shlex.quote(prompt)}"
        case PromptMode.NONE:
            return base_command


def launch_command(spec: AgentSpec, beacon: str) -> str:
    """Return the shell text that starts the agent, its first prompt led by `beacon`."""
    text = first_prompt(spec, beacon)
    return declared_command(spec.base_command, text, spec.prompt_mode, spec.prompt_flag)


def first_prompt(spec: AgentSpec, beacon: str) -> str:
    """Return the prompt an agent is started with, led by `beacon`.

    Without a prompt the beacon goes alone if the agent greets; otherwise there is none.
    """
    if spec.prompt:
        return f"{beacon}\n\n{spec.prompt}" if beacon else spec.prompt
    return beacon if spec.greets else ""
