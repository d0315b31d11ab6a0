"""The city that a provider works for: what it is told when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gascity.screens.rules import RuleBook


@dataclass(frozen=True, slots=True)
class CityContext:
    """Which city a provider works for, and where it may keep state.

    `state_dir` is the city's `.gc` folder; a provider makes a folder of its own in it.
    `settings` is its table `[session.NAME]`; `screens` are the rules its agents' screens are read
    by, found by the backend that a session's metadata names. `parallel` is the city's word on how
    much may be done at once; None leaves it to the provider. `fence` raises when this process must
    not change anything at the moment, because another leads: ask it before each step of a change
    that takes several.
    """

    city: str
    city_id: str
    state_dir: str
    settings: Mapping[str, object]
    screens: RuleBook = field(default_factory=RuleBook)
    parallel: int | None = None
    fence: Callable[[], None] = field(default=lambda: None, compare=False, repr=False)
