"""What defines an agent's behaviour, as one hash and as a text for people.

The hash covers the declared command, the declared env and the extras, nothing else: an observation
hint, a time or an ambient variable that slipped in would restart agents for no reason. The
canonical text is kept beside it so that a difference can be named; it holds no secret.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping

_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST_SECRET = 4  # a shorter value is no secret, and striking it out would garble the text
_LONGEST_TEXT = 8000  # a longer value is cut, so that the canonical text fits into metadata


def fingerprint(command: str, env: Mapping[str, str], extra: Mapping[str, str]) -> str:
    """Return the SHA-256, in hex, of `command`, `env` and `extra`, whatever order they come in."""
    digest = hashlib.sha256(_bytes(command) + b"\0")
    for key in sorted(env):
        digest.update(_bytes(f"{key}={env[key]}") + b"\0")
    if extra:
        digest.update(b"fp\0")
        for key in sorted(extra):
            digest.update(_bytes(f"{key}={extra[key]}") + b"\0")
    return digest.hexdigest()


def canonical(command: str, env: Mapping[str, str], extra: Mapping[str, str]) -> str:
    """Return what is fingerprinted as JSON, keys sorted, with secrets and their copies replaced.

    Differs whenever the fingerprint differs. A long value is cut; a hash of the whole stands at
    the cut.
    """
    secrets = secret_values(env)
    shown = {
        "command": _shown(command, secrets),
        "env": {
            key: redacted(value) if looks_secret(key) else _shown(value, secrets)
            for key, value in env.items()
        },
        "extra": {key: _shown(value, secrets) for key, value in extra.items()},
    }
    return json.dumps(shown, sort_keys=True)


def looks_secret(key: str) -> bool:
    """Tell whether a variable of that name is likely to hold a secret."""
    return _SECRET.search(key) is not None


def redacted(value: str) -> str:
    """Return what stands in a value's place: equal for equal values, and not the value."""
    return f"sha256:{hashlib.sha256(_bytes(value)).hexdigest()[:8]}"


def secret_values(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in `env` that must not be shown, longest first."""
    values = {value for key, value in env.items() if looks_secret(key)}
    return tuple(sorted((v for v in values if len(v) >= _SHORTEST_SECRET), key=len, reverse=True))


def conceal(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every copy of a secret replaced, also where a shell's quotes split it."""
    for value in secrets:
        for spelling in (value, value.replace("'", "'\"'\"'")):
            text = text.replace(spelling, redacted(value))
    return text


def _shown(value: str, secrets: Iterable[str]) -> str:
    text = conceal(value, secrets)
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]} ... {len(value)} characters, {redacted(value)}"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
