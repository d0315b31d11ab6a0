"""How asking a tmux server can fail."""

from __future__ import annotations

from gascity.errors import ProviderUnavailable


class Lost(ProviderUnavailable):
    """The connection ended before the answer came: nobody knows what was done."""


class Unheard(Lost):
    """The connection ended before anything of it was read: nothing was done."""


class Gone(Lost):
    """There is no server any more, and nothing of what it held."""


class Silent(ProviderUnavailable):
    """No answer in time; nothing that was asked will be done later."""
