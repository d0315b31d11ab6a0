"""Sessions as pods of a Kubernetes cluster, each with the agent in a tmux of its own.

`Provider` is loaded when first asked for, and the client library when a cluster is first asked:
who has no cluster needs neither.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity_kubernetes.provider import Provider as Provider


def __getattr__(name: str) -> object:
    if name == "Provider":
        from gascity_kubernetes.provider import Provider  # noqa: PLC0415  see the top of this file

        return Provider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
