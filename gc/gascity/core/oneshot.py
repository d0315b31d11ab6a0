"""What is known of a backend for one-shot runs: its command, its login, its model.

A backend has two faces. As a session it has a terminal and stays; as a one-shot it is given a
prompt, works without asking anybody, and ends. This is the second face, as the city file and the
presets declare it. A backend that is a class of a package has no command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class PromptBy(StrEnum):
    """How a prompt reaches the command: on its standard input, as its last word, or not at all."""

    STDIN = "stdin"
    ARG = "arg"
    NONE = "none"


class Format(StrEnum):
    """In what form a command writes its answer to its standard output."""

    TEXT = "text"
    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"


def format_named(word: str) -> Format:
    """Return the form of that name, as a record has it; text where it names none."""
    return Format(word) if word in tuple(Format) else Format.TEXT


@dataclass(frozen=True, slots=True)
class RunCommand:
    """The command that does one piece of work, as words; no shell reads them.

    `model_args` and `base_url_args` are added where a model or an address is configured; `{}` in
    them stands for it.
    """

    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    prompt: PromptBy = PromptBy.STDIN
    format: Format = Format.TEXT
    model_args: tuple[str, ...] = ()
    base_url_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneShot:
    """A backend as one-shot runs know it. Without `run` it is a class, or cannot be run once.

    `token_env` names the variables it logs in with: no other backend is given these. The token in
    `token_file`, an absolute path, goes into those of `login_env`. `account_env` names variables
    that belong to the same login and are no secrets; `pass_env` what it may have although it is
    another's. `base_url_env` is the vendor's own name for `base_url`.
    """

    name: str
    run: RunCommand | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    pass_env: tuple[str, ...] = ()
    token_env: tuple[str, ...] = ()
    login_env: tuple[str, ...] = ()
    account_env: tuple[str, ...] = ()
    token_file: str = ""
    base_url: str = field(default="", repr=False)  # it may hold a password
    base_url_env: str = ""
    model: str = ""
