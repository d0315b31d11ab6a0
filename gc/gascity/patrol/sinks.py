"""Where alerts go.

The command gets the alert as one line of JSON on its standard input: never as
arguments, which everybody on the machine can read.
"""

from __future__ import annotations

import json
import subprocess

from gascity.core.actions import Alert
from gascity.core.model import AlertSettings

TIMEOUT = 30.0


def send(settings: AlertSettings, alert: Alert, *, city: str, root: str) -> bool:
    """Run the alert command; tell whether it took the alert."""
    body = {"city": city, "agent": alert.agent, "key": alert.key, "text": alert.text}
    if alert.screen:
        body["screen"] = alert.screen
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", settings.command],
            input=json.dumps(body).encode() + b"\n",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=root,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
