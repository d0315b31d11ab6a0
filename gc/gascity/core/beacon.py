"""The line that makes a session findable in a resume picker: `[city] agent . time`.

It is the first line of the first prompt. It holds a time, so it is no part of the fingerprint.
"""

from __future__ import annotations

from datetime import datetime

PRIME = "Run `gc prime $GC_AGENT` to initialize your context."


def beacon(city: str, agent: str, when: datetime, *, prime: bool) -> str:
    """Return the beacon; with the instruction to prime itself when `prime` is true."""
    line = f"[{city}] {agent} . {when.strftime('%Y-%m-%dT%H:%M:%S')}"
    return f"{line}\n\n{PRIME}" if prime else line
