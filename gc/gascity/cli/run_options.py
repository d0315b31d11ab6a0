"""The options that say what one-shot work is; `gc run`, `gc task start`, `gc wrap` share them."""

from __future__ import annotations

from typing import Annotated

import typer

from gascity.cli.options import complete_agents, complete_oneshots, not_empty

Backend = Annotated[
    str,
    typer.Option(
        metavar="BACKEND",
        callback=not_empty,
        autocompletion=complete_oneshots,
        help="Who does it: claude, codex, gemini, perplexity, xai, or one of the city's.",
        show_default=False,
    ),
]
AsAgent = Annotated[
    str,
    typer.Option(
        metavar="AGENT",
        callback=not_empty,
        autocompletion=complete_agents,
        help="As this agent of the city: its backend, folder and environment.",
        show_default=False,
    ),
]
Project = Annotated[
    str,
    typer.Option(
        metavar="PROJECT",
        callback=not_empty,
        help="Whose work it is (the city's name).",
        show_default=False,
    ),
]
OfTask = Annotated[
    str,
    typer.Option(
        metavar="TASK", callback=not_empty, help="Which task (adhoc).", show_default=False
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What is to be done; - reads it from the input."),
]
PromptFile = Annotated[
    str,
    typer.Option(
        metavar="FILE", callback=not_empty, help="A file that says it.", show_default=False
    ),
]
Cwd = Annotated[
    str,
    typer.Option(
        metavar="DIR", callback=not_empty, help="Where it works (here).", show_default=False
    ),
]
