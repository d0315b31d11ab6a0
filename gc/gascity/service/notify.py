"""Telling systemd that the controller holds its city.

A unit of `Type=notify` counts as started when its main process says so on the datagram socket that
`NOTIFY_SOCKET` names. Without one there is nobody to tell.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping

VARIABLE = "NOTIFY_SOCKET"


class Listener:
    """Whoever waits to hear that this process is ready; there may be nobody."""

    def __init__(self, environment: MutableMapping[str, str] = os.environ) -> None:
        """Take the address out of the environment: no agent shall speak for the controller."""
        self._address = environment.pop(VARIABLE, "")

    def ready(self, status: str) -> None:
        """Say that the service has started, and how it stands. Raises OSError.

        Without a listener nothing is done.
        """
        if not self._address:
            return
        line = " ".join(status.split())
        address = self._address
        if address.startswith("@"):  # a name that is in no folder
            address = "\0" + address[1:]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.connect(address)
            sending.sendall(f"READY=1\nSTATUS={line}\n".encode())
