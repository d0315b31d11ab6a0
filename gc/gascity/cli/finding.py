"""What `gc doctor` says of one thing that it looked at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `says` is one sentence, and why where it is not `fine`."""

    name: str
    fine: bool
    says: str
