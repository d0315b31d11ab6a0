"""The token of a backend, from the file that the city names.

It is read anew for each run, so that it can be changed without a restart. No message has any of it.
"""

from __future__ import annotations

import os
import stat

from gascity.core.oneshot import OneShot
from gascity.errors import BackendError

_LARGEST = 64 * 1024  # bytes; what is longer is no token


def read_token(backend: OneShot) -> str:
    """Return the token that is configured for a backend; the empty string when none is.

    Raises BackendError when the file holds no token that can be used. Never waits for a pipe.
    """
    if not backend.token_file:
        return ""
    whose = f"the token_file of backend {backend.name}"
    try:
        descriptor = os.open(backend.token_file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BackendError(f"{whose} is not a file")
            data = file.read(_LARGEST + 1)
    except OSError as problem:
        raise BackendError(f"{whose} cannot be read: {problem.strerror}") from None
    token = data.decode("utf-8-sig", "replace").strip()
    if not token:
        raise BackendError(f"{whose} is empty")
    if len(data) > _LARGEST or not token.isascii() or not token.isprintable() or " " in token:
        raise BackendError(f"{whose} holds something else than one token")
    return token
