"""Where alerts go: a command, a webhook, what apprise knows, the desktop.

Each way keeps its time limit and tells in one sentence why it could not; none of them shows an
address. Secrets in variables are looked up when they are used, so a controller whose environment
lacks one says so each time, and not only when it starts. Only the ways that a city has are loaded.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Mapping

from gascity.core.model import AlertSettings
from gascity.patrol.notice import Sink


def sinks_of(settings: AlertSettings, root: str, environ: Mapping[str, str]) -> list[Sink]:
    """Return the ways that a city has; two calls with equal settings give equal ones.

    `root` is the city's folder, `environ` the controller's environment.
    """
    limit = settings.timeout
    sinks: list[Sink] = []
    if settings.command:
        from gascity.patrol.sinks.command import Command

        sinks.append(Command(settings.command, root, environ, limit))
    if settings.webhook or settings.webhook_env:
        from gascity.patrol.sinks.webhook import Webhook

        sinks.append(Webhook(settings.webhook, settings.webhook_env, environ, limit))
    if settings.apprise or settings.apprise_env:
        from gascity.patrol.sinks.apprise import Apprise

        sinks.append(Apprise(settings.apprise, settings.apprise_env, environ, limit))
    if settings.desktop:
        from gascity.patrol.sinks.desktop import Desktop

        sinks.append(Desktop(environ, limit))
    return sinks
