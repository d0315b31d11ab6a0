"""When a limit ends, from the words a screen has for it.

Understood are a span ("in 3 days 2 hours"), a time of day ("7:30pm (Europe/Amsterdam)"), a day and
time ("Oct 9 at 5am") and a full date ("2026-11-17 03:00 UTC"). Without a zone they are in the
machine's own.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_FAR = timedelta(hours=18)  # a time of day further ahead than this was meant for today
_HALF_A_YEAR = timedelta(days=183)

_UNITS = "weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s"
_ONE = re.compile(rf"(?P<count>\d{{1,6}})\s*(?P<unit>{_UNITS})\b[\s,]*(?:and\s+)?", re.IGNORECASE)
_IN = re.compile(r"(?:in\s+)?(?:about\s+)?(?=\d)", re.IGNORECASE)
_DATE = re.compile(
    r"(?:(?P<month>[a-z]{3})[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,?\s+(?P<year>\d{4}))?,?\s+(?:at\s+)?"
    r"|(?P<iso>\d{4}-\d{2}-\d{2})[\sT]+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?\s*(?P<half>[ap]\.?m\.?)?"
    r"\s*\(?(?P<zone>Z|[A-Za-z][\w/+-]*)?\)?",
    re.IGNORECASE,
)


def parse_reset(text: str, now: float) -> float | None:
    """Return the time that `text` names, in seconds since the epoch; None if it names none.

    `now` is when the text was read. A time of day is the next one after that, but one that passed a
    few hours ago is over: the words stay on the screen when the limit has ended. A day without a
    year is the nearest such day. Never raises.
    """
    said = text.strip().rstrip(".!").removeprefix("at ").strip()
    try:
        return _span(said, now) or _moment(said, now)
    except (ValueError, OverflowError, OSError, KeyError):
        return None  # a day, an hour or a zone that does not exist


def _span(text: str, now: float) -> float | None:
    begin = _IN.match(text)
    if begin is None:
        return None
    seconds, at = 0, begin.end()
    while (found := _ONE.match(text, at)) is not None:
        seconds += int(found["count"]) * _SECONDS[found["unit"][0].lower()]
        at = found.end()
    return now + seconds if at == len(text) and at > begin.end() else None


def _moment(text: str, now: float) -> float | None:
    found = _DATE.fullmatch(text)
    if found is None or not (found["half"] or found["minute"]):
        return None
    zone = _zone(found["zone"])
    today = datetime.fromtimestamp(now, zone)
    hour, minute = _hour(found), int(found["minute"] or 0)
    if found["iso"]:
        day = datetime.fromisoformat(found["iso"])
        return day.replace(hour=hour, minute=minute, tzinfo=zone).timestamp()
    at = today.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
    if not found["month"]:
        at += timedelta(days=at < today)
        return (at - timedelta(days=1) if at - today > _FAR else at).timestamp()
    month = _MONTHS.index(found["month"].lower()) + 1
    years = [int(found["year"])] if found["year"] else [today.year + n for n in (-1, 0, 1)]
    named = [_on(at, year, month, int(found["day"])) for year in years]
    there = [day for day in named if day is not None]
    if found["year"]:
        return there[0].timestamp() if there else None
    near = [day for day in there if abs(day - today) <= _HALF_A_YEAR]
    return near[0].timestamp() if near else None


def _on(at: datetime, year: int, month: int, day: int) -> datetime | None:
    try:
        return at.replace(year=year, month=month, day=day)
    except ValueError:  # the 29th of February, in most years
        return None


def _hour(found: re.Match[str]) -> int:
    hour = int(found["hour"])
    half = (found["half"] or "").lower()[:1]
    if not half:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError
    return hour % 12 + (12 if half == "p" else 0)


def _zone(name: str | None) -> tzinfo | None:
    """Return the zone of that name; None, for Python, is the machine's own."""
    if not name:
        return None
    return UTC if name.upper() in {"Z", "UTC", "GMT"} else ZoneInfo(name)
