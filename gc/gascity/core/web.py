"""What some words of HTTP mean: how long to wait, and whether a host is this machine."""

from __future__ import annotations

import email.utils
import ipaddress


def retry_after(text: str, now: float) -> float | None:
    """Return the seconds to wait that a `Retry-After` says, as a number or a date; None if none.

    `now` is the time in seconds since the epoch.
    """
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, OverflowError):  # a year that no calendar has
        return None


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine, which a proxy would take for itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
