"""What systemd hears when the controller holds its city."""

from __future__ import annotations

import socket
import uuid
from pathlib import Path

import pytest

from gascity.service.notify import Listener


def test_readiness_is_told_on_the_socket(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": address, "OTHER": "stays"}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(10)
        systemd.bind(address)

        Listener(environment).ready("town:\n3 agents")

        assert systemd.recv(4096) == b"READY=1\nSTATUS=town: 3 agents\n"
    assert environment == {"OTHER": "stays"}


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="only Linux has such names")
def test_a_socket_without_a_file_is_found() -> None:
    name = f"gc-{uuid.uuid4().hex}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.settimeout(10)
        systemd.bind(f"\0{name}")

        Listener({"NOTIFY_SOCKET": f"@{name}"}).ready("up")

        assert systemd.recv(4096).startswith(b"READY=1\n")


def test_without_a_listener_nothing_is_told() -> None:
    Listener({}).ready("up")


def test_a_listener_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Listener({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready("up")
