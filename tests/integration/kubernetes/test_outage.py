"""A real cluster behind a wire that is cut, or on which everything stops."""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from tests.integration.kubernetes.conftest import HASTE, LIMIT, PATIENT

from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.problems import Absent, ApiSilent
from gascity_kubernetes.settings import Settings

pytestmark = pytest.mark.kubernetes


class Wire:
    """Carries bytes between whoever connects and one server, for as long as it is told to."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open = True
        self.flows = threading.Event()
        self.flows.set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.05)
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """End all connections that there are."""
        for one in (end for pair in list(self._pairs) for end in pair):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._open = False
        self.flows.set()
        self.cut()
        for thread in self._threads:
            thread.join(LIMIT)
        self._listener.close()

    def _accept(self) -> None:
        while self._open:
            with contextlib.suppress(TimeoutError):
                near, _ = self._listener.accept()
                pair = near, socket.create_connection(self._to)
                self._pairs.append(pair)
                self._threads.append(threading.Thread(target=self._carry, args=pair, daemon=True))
                self._threads[-1].start()

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        with near, far, contextlib.suppress(OSError):
            while self._open:
                for one in select.select([near, far], [], [], 0.05)[0]:
                    self.flows.wait()
                    data = one.recv(1 << 16)
                    if not data:
                        return
                    other[one].sendall(data)


@pytest.fixture
def wire() -> Iterator[Wire]:
    server = urlsplit(_config()["clusters"][0]["cluster"]["server"])
    wire = Wire(server.hostname or "", server.port or 443)
    yield wire
    wire.close()


@pytest.fixture
def far(wire: Wire, tmp_path: Path) -> Iterator[Api]:
    """Return the cluster's API, at the other end of the wire."""
    config = _config()
    cluster = config["clusters"][0]["cluster"]
    cluster["tls-server-name"] = urlsplit(cluster["server"]).hostname or ""
    cluster["server"] = f"https://127.0.0.1:{wire.port}"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    api = Api(Settings.read({"kubeconfig": str(path), "namespace": "default"}, {}))
    yield api
    api.close()


@pytest.fixture
def pods(far: Api) -> Iterator[Pods]:
    pods = Pods(lambda: far, "gascity.dev/test=nobody", patience=PATIENT)
    pods.follow()
    assert not is_lost(pods)
    yield pods
    pods.close()


def _config() -> dict[str, list[dict[str, dict[str, str]]]]:
    shown = ["kubectl", "config", "view", "--raw", "--minify"]
    found: dict[str, list[dict[str, dict[str, str]]]] = yaml.safe_load(
        subprocess.run(shown, capture_output=True, check=True).stdout
    )
    return found


def is_lost(pods: Pods) -> bool:
    try:
        pods.all(deadline=time.monotonic() + LIMIT)
    except ApiSilent:
        return True
    return False


def test_a_wire_on_which_everything_stops_is_noticed(wire: Wire, far: Api) -> None:
    pods = Pods(lambda: far, "gascity.dev/test=nobody", patience=HASTE)
    pods.follow()
    eventually(lambda: not is_lost(pods), within=LIMIT)

    wire.flows.clear()
    eventually(lambda: is_lost(pods), within=LIMIT)
    wire.flows.set()
    eventually(lambda: not is_lost(pods), within=LIMIT)

    pods.close()


def test_a_wire_that_is_cut_is_taken_up_again_without_a_list(
    wire: Wire, far: Api, pods: Pods
) -> None:
    watches = far.requests["watch"]

    wire.cut()

    eventually(lambda: far.requests["watch"] > watches, within=LIMIT)
    assert not is_lost(pods)
    assert far.requests["list"] == 1


def test_a_server_may_have_another_name_than_its_address(far: Api) -> None:
    with pytest.raises(Absent, match=r'pods "nobody" not found'):
        far.open_stream("nobody", "agent", ["true"], stdin=False, timeout=LIMIT)
