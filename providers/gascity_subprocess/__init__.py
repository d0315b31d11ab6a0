"""Sessions as plain child processes, kept by one small process of their own per city.

`Provider` is loaded when first asked for: the keeper imports this package too and needs none of it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers believe otherwise; `typing` would cost the keeper 5 ms
if TYPE_CHECKING:
    from gascity_subprocess.provider import Provider as Provider


def __getattr__(name: str) -> object:
    if name == "Provider":
        from gascity_subprocess.provider import Provider  # noqa: PLC0415  see the top of this file

        return Provider
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
