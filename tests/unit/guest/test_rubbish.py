"""A guest that answers rubbish: it is told as trouble, never as a result and never as a crash."""

from __future__ import annotations

import json
import resource
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from gascity.errors import ProviderUnavailable, RemoteError
from gascity.guest import Client, copying
from gascity.session.provider import CityContext
from gascity_guest import Provider

MET = "gc-met\n5.0\n/tmp/gascity-0\ntmux 3.3a\n"
PANE = "%1|$1|1|0|||0|1|1|v|t|{name}|title"
Say = Callable[[str], str]


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[Callable[[Say], str]]:
    """Return what answers every command with what a function makes of it."""
    servers: list[socketserver.ThreadingUnixStreamServer] = []

    def serve(say: Say) -> str:
        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    asked = json.loads(line)
                    said = say(asked["params"].get("cmd", ""))
                    result = {"exit_code": 0, "stdout": said, "stderr": "", "pong": True}
                    body = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
                    self.wfile.write(json.dumps(body).encode() + b"\n")

        path = str(tmp_path / "guest.sock")
        server = socketserver.ThreadingUnixStreamServer(path, Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return path

    yield serve
    for server in servers:
        server.shutdown()
        server.socket.close()


@pytest.mark.parametrize("said", ["", "rubbish", "1 2", "-1 644 1 1", "9" * 5000, "1 999 1 1"])
def test_a_file_whose_size_is_not_told_is_not_fetched(
    guest: Callable[[Say], str], said: str
) -> None:
    with Client(guest(lambda _: said)) as client, pytest.raises(RemoteError, match="size"):
        copying.fetch(client, "x", lambda _: None)


def test_a_file_that_is_larger_than_wanted_is_not_begun(guest: Callable[[Say], str]) -> None:
    with (
        Client(guest(lambda _: "1000000000000 644 1 1")) as client,
        pytest.raises(RemoteError, match="larger than 1000"),
    ):
        copying.fetch(client, "x", lambda _: None, largest=1000)


def test_half_a_character_becomes_a_question_mark(guest: Callable[[Say], str]) -> None:
    with Client(guest(lambda _: "a\ud800b \U0001f600")) as client:
        assert client.exec("x").stdout == "a?b \U0001f600"


def test_a_connection_may_have_any_number(guest: Callable[[Say], str]) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("this user may not open that many files")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 1200), hard))
    try:
        with Client(guest(lambda _: "")) as client, ExitStack() as opened:
            for _ in range(1100):
                opened.enter_context(open("/dev/null", "rb"))
            client.ping()
            client.ping()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def provider_at(socket: str, folder: Path) -> Provider:
    return Provider(CityContext("town", "id", str(folder), {"socket": socket}))


@pytest.mark.parametrize(
    "said",
    [
        "gc-now ²\n0\n1:2\n",
        "gc-now 1\n²\n1:2\n",
        "gc-now 1\n0\n²:2\n",
        "gc-now 1\n0\n\n",
        f"gc-now {'9' * 5000}\n0\n1:2\n",
        f"gc-now 1\n0\n1:2\n{PANE.format(name='a').replace('%1', 'x')}\n",
        "gc-now 1\n0\n1:2\nrubbish\n",
        "gc-now 1\n5\n\x1b[31mno\n",
    ],
)
def test_a_look_that_is_rubbish_is_not_one_at_an_empty_guest(
    guest: Callable[[Say], str], tmp_path: Path, said: str
) -> None:
    provider = provider_at(guest(lambda cmd: MET if "gc-met" in cmd else said), tmp_path)

    with pytest.raises(ProviderUnavailable) as caught:
        provider.observe(timeout=60.0)

    assert "\x1b" not in caught.value.message
    provider.close()


@pytest.mark.parametrize("uptime", ["x", "nan", "inf", "1e400", ""])
def test_a_clock_that_is_none_is_not_gone_by(
    guest: Callable[[Say], str], tmp_path: Path, uptime: str
) -> None:
    met = MET.replace("5.0", uptime)
    say: Say = lambda cmd: met if "gc-met" in cmd else "gc-now 1\n0\n1:2\n"  # noqa: E731  one line
    provider = provider_at(guest(say), tmp_path)

    assert dict(provider.observe(timeout=60.0)) == {}
    provider.close()


def test_a_pane_that_calls_itself_a_path_is_no_session(
    guest: Callable[[Say], str], tmp_path: Path
) -> None:
    odd = PANE.format(name="../../etc/x\x1b[31m")
    say: Say = lambda cmd: MET if "gc-met" in cmd else f"gc-now 1\n0\n1:2\n{odd}\n"  # noqa: E731  as above
    provider = provider_at(guest(say), tmp_path)

    assert dict(provider.observe(timeout=60.0)) == {}
    provider.close()
