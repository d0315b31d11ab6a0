"""Sessions inside whatever answers the guest protocol on a socket: a VM, a container, a pod.

`Provider` is loaded when first asked for.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity_guest.provider import Provider as Provider


def __getattr__(name: str) -> object:
    if name == "Provider":
        from gascity_guest.provider import Provider  # noqa: PLC0415  see the top of this file

        return Provider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
