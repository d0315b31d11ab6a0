"""A screen without secrets: a terminal breaks long values over several rows."""

from __future__ import annotations

from collections.abc import Sequence

from gascity.core.fingerprint import conceal, redacted

_EDGE = " \t\N{NO-BREAK SPACE}│┃║|"  # what stands at both ends of a framed row


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
