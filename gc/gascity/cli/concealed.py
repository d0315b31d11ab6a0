"""A screen without the secrets of its agent: what is printed or written never holds one."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gascity.core.fingerprint import conceal, redacted, secret_values
from gascity.core.model import AgentSpec

_EDGE = " \t\N{NO-BREAK SPACE}│┃║|"  # what stands at both ends of a framed row


def secrets_of(spec: AgentSpec) -> tuple[str, ...]:
    """Return the values of an agent's environment that must not be shown, as far as known here."""
    passed = {key: os.environ.get(key, "") for key in spec.pass_env}
    return secret_values({**passed, **spec.env})


def conceal_rows(rows: Sequence[str], secrets: Sequence[str]) -> tuple[str, ...]:
    """Return the rows without copies of the secrets, also of those broken over several rows."""
    shown = list(rows)
    for secret in secrets:
        shown = [conceal(row, [secret]) for row in shown]
        for at in range(len(shown) - 1):
            for cut in range(1, len(secret)):
                if shown[at].rstrip(_EDGE).endswith(secret[:cut]):
                    _strike_out(shown, at, secret, cut)
    return tuple(shown)


def _strike_out(rows: list[str], at: int, secret: str, cut: int) -> None:
    """Replace a secret whose first `cut` characters end the row `at`, if the rest follows."""
    rest = secret[cut:]
    parts = {at: secret[:cut]}
    for row in range(at + 1, len(rows)):
        text = rows[row].strip(_EDGE)
        part = rest if text.startswith(rest) else text
        if not part or not rest.startswith(part):
            return
        parts[row] = part
        rest = rest[len(part) :]
        if not rest:
            break
    if rest:
        return
    for row, part in parts.items():
        place = rows[row].rfind(part) if row == at else rows[row].find(part)
        mark = redacted(secret) if row == at else ""
        rows[row] = rows[row][:place] + mark + rows[row][place + len(part) :]
