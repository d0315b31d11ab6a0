"""By which rules screens are read here: those of the city of this folder, or the shipped ones."""

from __future__ import annotations

from collections.abc import Collection

from gascity.cli.city import Here
from gascity.cli.nearest import did_you_mean
from gascity.core.model import City, declared
from gascity.errors import NotFound
from gascity.screens.rules import NO_RULES, RuleBook, Rules


def city_here(here: Here) -> City | None:
    """Return the city of this folder; None outside of any. Raises ConfigProblems for a broken one.

    A folder that was named and is in no city is a mistake: raises NotFound.
    """
    try:
        here.city_file  # noqa: B018  it raises where there is none
    except NotFound:
        if here.folder != ".":
            raise
        return None
    return here.load()


def backends_here(here: Here) -> set[str]:
    """Return the backends whose screens can be read here, with rules or by their prompt alone."""
    from gascity.config.backends import presets

    city = city_here(here)
    names = set(_book(city).by_backend) | set(presets())
    if city is not None:
        names |= {spec.backend for spec in declared(city.desired) if spec.backend}
    return names


def rules_here(here: Here, backend: str) -> Rules:
    """Return the rules of a backend. Raises NotFound with the nearest name there is."""
    from gascity.config.backends import presets

    city = city_here(here)
    prompts = {name: preset.ready_prompt_prefix for name, preset in presets().items()}
    if city is not None:
        specs = [spec for spec in declared(city.desired) if spec.backend]
        prompts |= {spec.backend: spec.hints.ready_prompt_prefix for spec in specs}
    book = _book(city)
    if backend not in book.by_backend and backend not in prompts:
        raise unknown_backend(backend, {*book.by_backend, *prompts})
    return book.of(backend, prompts.get(backend, ""))


def book_here(here: Here) -> RuleBook:
    """Return all rules there are here."""
    return _book(city_here(here))


def unknown_backend(name: str, known: Collection[str]) -> NotFound:
    """Return the error for a backend that there is not."""
    hint = did_you_mean(name, known, otherwise=f"there are: {', '.join(sorted(known))}")
    return NotFound(f'there is no backend "{name}"', hint=hint)


def has_rules(rules: Rules) -> bool:
    """Tell whether there is anything to read a screen by."""
    return rules is not NO_RULES and bool(rules.rules)


def _book(city: City | None) -> RuleBook:
    if city is not None:
        return city.screens
    from gascity.config.screens import shipped, shipped_names

    found = {name: shipped(name) for name in sorted(shipped_names())}
    return RuleBook({name: rules for name, rules in found.items() if rules is not None})
