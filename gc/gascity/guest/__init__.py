"""A hand inside a machine: a daemon that runs commands and moves files, and who asks it.

The daemon runs on a bare Python 3.9 without anything of ours but `gascity.jsonrpc`. `Client` is
for the other side, and loaded when first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity.guest.client import Client as Client


def __getattr__(name: str) -> object:
    if name == "Client":
        from gascity.guest.client import Client  # noqa: PLC0415  see the top of this file

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
