"""One more API server on the database of the cluster, which a test may kill.

That is how clusters run that are to survive the loss of one, so nothing of it is pretended. It is
started with the words of the one that runs on this machine, on another port.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
from tests.cluster.where import kubectl

from gascity.testing.eventually import eventually

PROGRAM = "kube-apiserver"
STARTING = 90.0


def words_of_the_running_one() -> list[str]:
    """Return the command line of the cluster's API server; empty when it is not of this machine."""
    address = json.loads(kubectl("config", "view", "--minify", "-o", "json"))
    port = address["clusters"][0]["cluster"]["server"].rpartition(":")[2]
    for process in psutil.process_iter(["name", "cmdline"]):
        words = process.info["cmdline"] or []
        if process.info["name"] == PROGRAM and f"--secure-port={port}" in words:
            return list(words)
    return []


class ApiServer:
    """An API server of the test's own. `log` is the file that it writes to."""

    def __init__(self, words: list[str], log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        kept = [word for word in words if not word.startswith("--secure-port=")]
        # The other one stays the one that the cluster's own service leads to.
        self._words = [*kept, f"--secure-port={self.port}", "--endpoint-reconciler-type=none"]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        eventually(self._is_ready, within=STARTING, every=0.2)

    def kill(self) -> None:
        """End it as a machine that loses its power does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    @contextlib.contextmanager
    def killed(self) -> Iterator[None]:
        """Have none for a while."""
        self.kill()
        try:
            yield
        finally:
            self.start()

    def write_config(self, path: Path) -> str:
        """Write a configuration that leads to it."""
        config = json.loads(kubectl("config", "view", "--raw", "--minify", "-o", "json"))
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path.write_text(json.dumps(config))
        path.chmod(0o600)
        return str(path)

    def _is_ready(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        if code is not None:
            raise RuntimeError(f"the API server ended with {code}; see {self._log}")
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        with contextlib.suppress(urllib.error.URLError, OSError):
            address = f"https://127.0.0.1:{self.port}/readyz"
            with urllib.request.urlopen(address, timeout=5, context=trusting) as answer:
                return bool(answer.status == 200)
        return False
