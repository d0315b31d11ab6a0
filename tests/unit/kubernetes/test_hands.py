"""A shell in a pod is that of the pod which was meant."""

from __future__ import annotations

import os
import subprocess
import time
from types import SimpleNamespace
from typing import Any

import pytest

from gascity.errors import ProviderUnavailable
from gascity_kubernetes import names
from gascity_kubernetes.hands import Hands


class Shell:
    """A shell on this machine, in which no first process of a pod has said anything."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        errors = subprocess.DEVNULL
        self._shell = subprocess.Popen(["/bin/sh"], stdin=pipe, stdout=pipe, stderr=errors)

    def write(self, data: bytes) -> None:
        assert self._shell.stdin is not None
        self._shell.stdin.write(data)
        self._shell.stdin.flush()

    def read(self, timeout: float) -> tuple[int, bytes]:
        assert self._shell.stdout is not None
        return 1, os.read(self._shell.stdout.fileno(), 1000)

    def close(self) -> None:
        self._shell.communicate()


def test_a_pod_whose_first_process_is_not_up_yet_was_not_replaced() -> None:
    api: Any = SimpleNamespace(open_stream=lambda *_, **__: Shell(), fence=lambda: None)
    about = {"name": "p", "uid": "u", "annotations": {names.TOKEN: "mine"}}

    with pytest.raises(ProviderUnavailable, match="not up"):
        Hands(api).open({"metadata": about}, deadline=time.monotonic() + 10)
