"""The table `[session.NAME]` as its provider gets it."""

from __future__ import annotations

from collections.abc import Mapping

from gascity.config.agreement import PARALLEL
from gascity.core.model import City


def own_settings(city: City, provider: str) -> dict[str, object]:
    """Return the settings of one provider in a city."""
    return without_common(city.provider_settings.get(provider, {}))


def without_common(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a provider without the one that every provider has."""
    return {key: value for key, value in settings.items() if key != PARALLEL}
