"""Which session providers there are, found by entry point `gascity.providers`.

Reading entry points costs more than half of `gc status`, so the providers that come with `gc` are
known by name, and the installed packages are only searched for a name that is not among them.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Collection, Iterator, Mapping

from gascity.errors import ConfigError, GascityError, NotInstalled
from gascity.session.provider import CityContext, SessionProvider

GROUP = "gascity.providers"
SHIPPED = {
    "guest": "gascity_guest:Provider",
    "kubernetes": "gascity_kubernetes:Provider",
    "subprocess": "gascity_subprocess:Provider",
    "tmux": "gascity_tmux:Provider",
}
PREFERRED = ("tmux", "subprocess")


class _Known(Collection[str]):
    """The names of all providers, without looking further than it must."""

    def __contains__(self, name: object) -> bool:
        return name in SHIPPED or name in _installed()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*SHIPPED, *_installed()}))

    def __len__(self) -> int:
        return len({*SHIPPED, *_installed()})


KNOWN: Collection[str] = _Known()


def provider_class(name: str) -> type[SessionProvider]:
    """Return the provider of that name.

    Raises ConfigError when there is none, and NotInstalled, with the reason, when it is there but
    cannot be imported: the two must not be mistaken for each other.
    """
    target = SHIPPED.get(name) or _installed().get(name)
    if target is None:
        near = difflib.get_close_matches(name, list(KNOWN), n=1)
        hint = f'did you mean "{near[0]}"?' if near else f"there are: {', '.join(KNOWN)}"
        raise ConfigError(f'unknown session provider "{name}"', hint=hint)
    module, _, attribute = target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ImportError as problem:
        raise NotInstalled(
            f'session provider "{name}" cannot be loaded: {problem}',
            hint="install what its package needs",
        ) from problem
    if not (isinstance(found, type) and issubclass(found, SessionProvider)):
        raise ConfigError(f'session provider "{name}": {target} is not a SessionProvider')
    return found


def is_local(name: str) -> bool:
    """Tell whether the sessions of a provider run on this machine; one nobody knows counts as such.

    Of those that most cities have it is known without loading them.
    """
    if name in PREFERRED:
        return True
    try:
        return provider_class(name).is_local
    except GascityError:
        return True


def shape(name: str, settings: Mapping[str, object], folder: str) -> Mapping[str, str]:
    """Return what a provider's settings make of every session; nothing of one nobody knows.

    Raises ConfigError for settings that cannot be read: they are not none.
    """
    if name in PREFERRED:
        return {}
    try:
        found = provider_class(name)
    except GascityError:
        return {}
    return found.shape(settings, folder)


def make_provider(name: str, context: CityContext) -> SessionProvider:
    """Return a provider that works for one city."""
    found = provider_class(name)
    if reason := found.unavailable():
        raise NotInstalled(f'session provider "{name}" cannot work here: {reason}')
    return found(context)


def auto_provider() -> str:
    """Return the provider that `auto` stands for on this machine."""
    for name in PREFERRED:
        if name in SHIPPED and not provider_class(name).unavailable():
            return name
    return PREFERRED[-1]


def _installed() -> dict[str, str]:
    from importlib.metadata import entry_points  # noqa: PLC0415  80 ms that few commands need

    return {point.name: point.value for point in entry_points(group=GROUP)}
