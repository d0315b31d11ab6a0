"""`gc run`: one prompt, one answer, and a folder that says what happened.

The answer goes to the standard output, and nothing else does; what a person wants to know meanwhile
goes to the terminal's other stream.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, not_empty, seconds
from gascity.cli.run_options import AsAgent, Backend, Cwd, OfTask, Project, Prompt, PromptFile
from gascity.errors import UsageError, explain

PROMPT_STDIN = "-"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        options_metavar="[OPTIONS] [-- COMMAND ...]", context_settings={"allow_extra_args": True}
    )(run)


def run(
    context: typer.Context,
    backend: Backend = "",
    agent: AsAgent = "",
    project: Project = "",
    task: OfTask = "",
    prompt: Prompt = None,
    prompt_file: PromptFile = "",
    cwd: Cwd = "",
    timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long it may take: 30m.",
            show_default=False,
        ),
    ] = "",
    idle_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            callback=not_empty,
            help="How long it may say nothing: 5m.",
            show_default=False,
        ),
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Have one piece of work done, and print the answer.

    `gc run -- COMMAND ...` runs a command of your own as the backend. Ends with the exit code of
    what ran: 128 and its number for a signal, 127 or 126 where it cannot be started, 124 when a
    limit was over, 130 when it was interrupted.
    """
    from gascity.cli.asked import Asked
    from gascity.cli.running import carry_out, printed
    from gascity.runs.job import code_of
    from gascity.runs.waiting_line import LeftLine
    from gascity.runs.watchdog import Limits

    here: Here = context.obj
    limits = Limits(limit("--timeout", timeout), limit("--idle-timeout", idle_timeout))
    asked = Asked(
        backend=backend,
        agent=agent,
        command=tuple(context.args),
        project=project,
        task=task,
        prompt=prompt_given(prompt, prompt_file, needed=not context.args, who=backend or agent),
        cwd=cwd,
        limits=limits,
    )
    try:
        outcome = carry_out(here, asked)
    except LeftLine as problem:
        sys.stderr.write(explain(problem))
        return code_of(problem.reason)
    if as_json:
        text = json.dumps(outcome.document(), indent=2) + "\n"
        return printed(lambda: sys.stdout.write(text), outcome.exit_code, outcome.folder)
    return outcome.show()


def limit(option: str, text: str) -> float | None:
    """Return the seconds of an option; None where it is not given. Raises UsageError."""
    return seconds(option, text, least=0.1) if text else None


def prompt_given(text: str | None, file: str, *, needed: bool, who: str) -> str:
    """Return what is to be done. Raises UsageError when that is not said, or said twice."""
    if text is not None and file:
        raise UsageError("--prompt and --prompt-file both say what is to be done")
    if file:
        return _read(file)
    if text == PROMPT_STDIN:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    if text is None and needed:
        by = "" if who else ", with --backend NAME; or a command of your own after --"
        raise UsageError(
            "nobody says what is to be done",
            hint=f"--prompt TEXT, --prompt - for the standard input, or --prompt-file FILE{by}",
        )
    return text or ""


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except OSError as problem:
        why = problem.strerror or problem
        raise UsageError(f"--prompt-file {os.fspath(path)!a}: {why}") from None
