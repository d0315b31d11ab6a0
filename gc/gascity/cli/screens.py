"""`gc screens`: the rules by which screens are read; to list, to make, and to try them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from gascity.cli import render
from gascity.cli.city import Here
from gascity.cli.explain import agent_screen, saved_text
from gascity.cli.options import AgentName, AsJson, complete_backends, not_empty
from gascity.errors import Exit, UsageError

if TYPE_CHECKING:
    from gascity.screens.reading import Kind
    from gascity.screens.rules import Rules


def register(app: typer.Typer) -> None:
    """Add the commands."""
    screens = typer.Typer(
        name="screens", help="The rules by which screens are read.", no_args_is_help=True
    )
    screens.command(name="list")(list_rules)
    screens.command(name="learn")(learn)
    screens.command(name="test")(try_fixtures)
    app.add_typer(screens)


def list_rules(
    context: typer.Context,
    backend: Annotated[
        str | None,
        typer.Argument(
            metavar="BACKEND",
            callback=not_empty,
            autocompletion=complete_backends,
            help="Only those of this one.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List the rules in the order they are tried, with the files they come from."""
    from gascity.cli.rulebook import book_here, rules_here

    here: Here = context.obj
    if backend is None:
        found = dict(book_here(here).by_backend)
    else:
        found = {backend: rules_here(here, backend)}
    if as_json:
        documents = [_document(name, rules) for name, rules in found.items()]
        typer.echo(json.dumps({"backends": documents}, indent=2))
        return Exit.OK
    rows = [row for name, rules in found.items() for row in _rows(name, rules)]
    if rows:
        render.table(("BACKEND", "RULE", "KIND", "REGION", "POLICY", "FILE"), rows)
    else:
        typer.echo(f"there are no rules for {backend or 'anything'}")
    return Exit.OK


def _document(name: str, rules: Rules) -> dict[str, object]:
    return {
        "backend": name,
        "files": sorted({rule.source for rule in rules.rules}),
        "rules": [
            {
                "name": rule.name,
                "kind": rule.kind,
                "region": rule.region,
                "policy": rule.policy if rule.kind == "dialog" else None,
                "source": rule.source,
            }
            for rule in rules.rules
        ],
    }


def _rows(name: str, rules: Rules) -> Iterator[list[str]]:
    for rule in rules.rules:
        policy = str(rule.policy) if rule.kind == "dialog" else "-"
        yield [name, rule.name, str(rule.kind), str(rule.region), policy, rule.source]


def learn(
    context: typer.Context,
    agent: AgentName,
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=not_empty,
            help="Name of the rule; made from the words if not given.",
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND", callback=not_empty, autocompletion=_kinds, help="What the screen means."
        ),
    ] = "",
) -> int:
    """Make a rule of an agent's screen that no rule knows.

    Appends a skeleton to the city's screens/BACKEND.toml and saves the screen beside it. Nothing is
    pressed, and the rule's policy is to ask.
    """
    import time

    from gascity.cli.account import account
    from gascity.cli.city import find_agent
    from gascity.cli.learning import lesson, write

    here: Here = context.obj
    wanted = _kind(kind) if kind else None
    city = here.load()
    spec = find_agent(city, agent)
    seen = account(agent_screen(here, spec.name), time.time())
    prompt = spec.hints.ready_prompt_prefix
    made = lesson(city.root, seen, prompt=prompt, name=name, kind=wanted)
    write(city.root, made)
    typer.echo(f'wrote rule "{made.name}" ({made.kind}) to {made.rules_file}:\n')
    typer.echo("".join(f"    {line}\n" for line in made.rule.splitlines()))
    typer.echo(f"and the screen to {made.fixture}\n")
    typer.echo("next: read the rule, complete it, and try it with `gc screens test`;")
    typer.echo(f"`gc explain {spec.name}` shows what it makes of the agent's screen now.")
    typer.echo("A running controller takes it up with the next `gc start`.")
    return Exit.OK


def _kinds() -> list[str]:
    from gascity.screens.reading import Kind

    return [str(kind) for kind in Kind]


def _kind(word: str) -> Kind:
    from gascity.config.report import did_you_mean
    from gascity.screens.reading import Kind

    try:
        return Kind(word)
    except ValueError:
        near = did_you_mean(word, _kinds())
        hint = "" if near else f"there are: {', '.join(_kinds())}"
        raise UsageError(f'there is no kind "{word}"{near}', hint=hint) from None


def try_fixtures(context: typer.Context, as_json: AsJson = False) -> int:
    """Read every screen in the city's screens/fixtures by the rules.

    Ends with 1 when no rule knows one of them.
    """
    here: Here = context.obj
    root = os.path.dirname(here.city_file)
    results = list(_results(here, root))
    if as_json:
        typer.echo(json.dumps({"screens": results}, indent=2))
    elif results:
        rows = [
            [str(each["file"]), str(each["kind"] or "none"), str(each["rule"] or "-")]
            for each in results
        ]
        render.table(("SCREEN", "KIND", "RULE"), rows)
    else:
        typer.echo("there are no screens in screens/fixtures; `gc screens learn` saves one")
    unknown = [each for each in results if each["rule"] == ""]
    if unknown and not as_json:
        count = f"{len(unknown)} of {len(results)} screens"
        why = "`gc explain --file SCREEN --backend BACKEND -v` tells why"
        typer.echo(f"no rule knows {count}; {why}", err=True)
    return Exit.FAILED if unknown else Exit.OK


def _results(here: Here, root: str) -> Iterator[dict[str, object]]:
    import time

    from gascity.cli.rulebook import rules_here
    from gascity.screens.classify import classify
    from gascity.screens.screen import Screen

    top = os.path.join(root, "screens", "fixtures")
    known: dict[str, Rules] = {}
    for folder, folders, files in os.walk(top):
        folders.sort()
        for file in sorted(file for file in files if file.endswith(".txt")):
            path = os.path.join(folder, file)
            backend = os.path.relpath(path, top).split(os.sep)[0]
            if backend == file:
                raise UsageError(
                    f"screens/fixtures/{file} lies in no backend's folder",
                    hint="move it to screens/fixtures/BACKEND",
                )
            if backend not in known:
                known[backend] = rules_here(here, backend)
            reading = classify(Screen.of(saved_text(path)), known[backend], time.time())
            yield {
                "file": os.path.relpath(path, root),
                "backend": backend,
                "kind": reading.kind,
                "rule": reading.rule,
                "evidence": reading.evidence,
            }
