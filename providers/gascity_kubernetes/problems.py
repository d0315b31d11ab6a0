"""What a Kubernetes API answers when it does not do what it was asked."""

from __future__ import annotations

from gascity.errors import ProviderError, ProviderUnavailable


class ApiRefused(ProviderError):
    """The API answered, and said no; `status` is the HTTP status, `reason` its one word for it."""

    def __init__(self, message: str, *, status: int, reason: str = "", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.reason = reason


class Absent(ApiRefused):
    """There is no such object (404)."""


class Taken(ApiRefused):
    """One of that name exists, or it is not the version that was meant (409)."""


class Expired(ApiRefused):
    """What was asked for lies too far back: everything has to be listed anew (410)."""


class Forbidden(ProviderUnavailable):
    """The API does not say, because we may not ask (401, 403): nothing may be concluded."""


class ApiSilent(ProviderUnavailable):
    """The API cannot be reached, does not answer in time, or is not able to (5xx, 429)."""
