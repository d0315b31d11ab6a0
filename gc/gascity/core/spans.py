"""How long something lasts, in words for people."""

from __future__ import annotations


def span(seconds: float) -> str:
    """Return a duration in at most two units: `3s`, `5m 20s`, `2h 5m`, `3d 4h`."""
    whole = max(0, round(seconds))
    minutes, hours, days = whole // 60, whole // 3600, whole // 86400
    if minutes == 0:
        return f"{whole}s"
    if hours == 0:
        return _two(f"{minutes}m", whole % 60, "s")
    if days == 0:
        return _two(f"{hours}h", minutes % 60, "m")
    return _two(f"{days}d", hours % 24, "h")


def _two(first: str, rest: int, unit: str) -> str:
    return f"{first} {rest}{unit}" if rest else first
