"""`gc init`, `gc check`, `gc config show`, `gc doctor`, `gc version`: before anything runs."""

from __future__ import annotations

import json
import platform
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from gascity import __version__
from gascity.cli.city import Here
from gascity.cli.nearest import did_you_mean
from gascity.cli.options import AsJson, not_empty
from gascity.core.naming import LONGEST_COMPONENT
from gascity.errors import Exit, GascityError, UsageError

CITY_TEMPLATE = """\
# A city of coding agents. `gc check` validates this file, `gc start` runs it.

[workspace]
name = "{name}"

[[agents]]
name = "mayor"
provider = "{backend}"  # claude, codex, gemini, ... or demo, which needs no account

[[agents]]
name = "worker"
provider = "{backend}"
"""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(init)
    app.command()(check)
    config = typer.Typer(name="config", help="Look at the configuration.", no_args_is_help=True)
    config.command(name="show")(config_show)
    app.add_typer(config)
    app.command()(doctor)
    app.command()(version)


def complete_presets(incomplete: str) -> list[str]:
    """Return the names of built-in backends that begin so."""
    from gascity.config.backends import presets

    return [name for name in presets() if name.startswith(incomplete)]


def init(
    context: typer.Context,
    folder: Annotated[
        str | None,
        typer.Argument(metavar="DIR", callback=not_empty, help="Where; made when missing."),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=not_empty,
            help="Name of the city; that of the folder if not given.",
        ),
    ] = "",
    backend: Annotated[
        str,
        typer.Option(
            metavar="BACKEND",
            callback=not_empty,
            autocompletion=complete_presets,
            help="What the agents run; the first one installed if not given.",
        ),
    ] = "",
) -> int:
    """Make a city: write a `city.toml` to begin with. Never overwrites one."""
    from gascity.config.backends import presets

    root = Path(context.obj.folder, folder or ".")
    known = list(presets())
    if backend and backend not in known:
        hint = did_you_mean(backend, known, otherwise=f"there are: {', '.join(known)}")
        raise UsageError(f'there is no backend "{backend}"', hint=hint)
    chosen = backend or _first_installed()
    title = name or _as_name(root.resolve().name)
    if len(title) > LONGEST_COMPONENT or not re.fullmatch(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*", title):
        raise UsageError(
            f'"{title}" cannot be the name of a city',
            hint=f"letters, digits, _ and single -, up to {LONGEST_COMPONENT} of them",
        )
    path = root / "city.toml"
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is not a folder")
    try:
        root.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(CITY_TEMPLATE.format(name=title, backend=chosen))
    except FileExistsError:
        raise UsageError(f"{path} exists already; it is left as it is") from None
    except OSError as problem:
        raise GascityError(f"{path} cannot be written: {problem.strerror}") from problem
    typer.echo(f"wrote {path}: two agents on {chosen}; `gc start` runs them")
    return Exit.OK


def _first_installed() -> str:
    import shutil

    from gascity.config.backends import presets

    for name, preset in presets().items():
        if name != "demo" and preset.command and shutil.which(preset.command):
            return name
    return "demo"


def _as_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", text)[:LONGEST_COMPONENT].strip("-") or "city"


def check(context: typer.Context, as_json: AsJson = False) -> int:
    """Validate the city file: every problem at once, each with line and column."""
    from gascity.config.problems import ConfigProblems
    from gascity.core.model import declared

    here: Here = context.obj
    try:
        city = here.load()
    except ConfigProblems as found:
        if as_json:
            problems = [asdict(problem) for problem in found.problems]
            typer.echo(json.dumps({"problems": problems, "warnings": []}, indent=2))
        else:
            sys.stderr.write(found.message + "\n")
        return found.exit_code
    if as_json:
        typer.echo(json.dumps({"problems": [], "warnings": list(city.warnings)}, indent=2))
        return Exit.OK
    for warning in city.warnings:
        sys.stderr.write(f"warning: {warning}\n")
    count = sum(1 for _ in declared(city.desired))
    agents = "1 agent" if count == 1 else f"{count} agents"
    typer.echo(f'{here.city_file}: city "{city.name}" with {agents} is fine')
    return Exit.OK


def config_show(
    context: typer.Context,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="With presets, defaults and pools worked in.")
    ] = False,
) -> int:
    """Print the configuration: as written, or as resolved."""
    here: Here = context.obj
    city = here.load()
    if resolved:
        from gascity.config.show import as_toml

        typer.echo(as_toml(city), nl=False)
    else:
        typer.echo(Path(here.city_file).read_text(encoding="utf-8"), nl=False)
    return Exit.OK


def doctor(context: typer.Context, as_json: AsJson = False) -> int:
    """Tell what is missing here. Ends with 0 when nothing is."""
    from gascity.cli.checkup import checkup

    results = checkup(context.obj)
    if as_json:
        document = {"findings": [asdict(result) for result in results]}
        typer.echo(json.dumps(document, indent=2))
    else:
        for result in results:
            typer.echo(f"{'ok  ' if result.fine else 'FAIL'}  {result.name}: {result.says}")
    return Exit.OK if all(result.fine for result in results) else Exit.MISSING


def version(as_json: AsJson = False) -> int:
    """Show which gc this is."""
    facts = {
        "gc": __version__,
        "python": platform.python_version(),
        "platform": sys.platform,
    }
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"gc {facts['gc']} (Python {facts['python']}, {facts['platform']})")
    return Exit.OK
