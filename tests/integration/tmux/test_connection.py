"""Connections come and go at any moment; sessions and the server do not notice."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import LIMIT, SCRIBE, City
from tests.living import lives

from gascity.errors import ProviderUnavailable
from gascity.session.receipts import Delivery
from gascity.session.tmux.problems import Lost, Unheard
from gascity.testing.eventually import eventually
from gascity_tmux.connection import Connection

pytestmark = pytest.mark.tmux


def test_a_closed_connection_is_made_again(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    (client,) = city.clients()
    os.kill(client, signal.SIGKILL)
    eventually(lambda: not lives(client))

    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert (receipt.delivery, receipt.evidence) == (Delivery.SUBMITTED, "its program read it")
    assert eventually(city.heard) == ["hello"]
    assert len(city.clients()) == 1


@pytest.mark.parametrize(("read", "problem"), [("", Unheard), ("read -r line;", Lost)])
def test_what_nobody_has_read_is_told_apart(
    tmp_path: Path, read: str, problem: type[Exception]
) -> None:
    """Of a program in the place of tmux, which ends when it has been written to."""
    go = tmp_path / "go"
    script = f'echo "%session-changed x"; {read} while [ ! -e "{go}" ]; do sleep 0.01; done'
    connection = Connection(["sh", "-c", script], dict(os.environ), lambda _: None)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(connection.ask, "one", "two", deadline=time.monotonic() + LIMIT)
        eventually(connection.has_unread)
        go.touch()
        raised = asked.exception(LIMIT)

    assert type(raised) is problem


def test_a_closed_connection_is_no_end_of_any_session(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    (client,) = city.clients()
    os.kill(client, signal.SIGKILL)
    eventually(lambda: not lives(client))

    def seen() -> list[str]:
        with contextlib.suppress(ProviderUnavailable):  # once: a server may have gone with it
            return list(provider.observe(timeout=LIMIT))
        return ["an outage"]

    first, second = seen(), seen()

    assert first in (["a"], ["an outage"])
    assert second == ["a"]


def test_connections_that_come_while_sessions_come_and_go_do_not_end_the_server(
    city: City,
) -> None:
    """tmux may end by a fault when it tells news while a control client introduces itself."""
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    server = city.server()
    is_over = threading.Event()

    def visit() -> None:
        while not is_over.is_set():
            visitor = city.provider()
            with contextlib.suppress(ProviderUnavailable):
                visitor.observe(timeout=LIMIT)
            visitor.close()

    visitors = [threading.Thread(target=visit) for _ in range(3)]
    for visitor in visitors:
        visitor.start()
    try:
        with contextlib.suppress(ProviderUnavailable):
            for _ in range(30):
                provider.start("b", city.config("sleep 1000"), timeout=LIMIT)
                provider.stop("b", grace=1, timeout=LIMIT)
    finally:
        is_over.set()
        for visitor in visitors:
            visitor.join()

    assert city.server() == server
    assert "a" in city.sessions()


def test_a_client_that_fails_is_an_outage_and_no_empty_city(
    city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.provider().start("a", city.config("sleep 1000"), timeout=LIMIT)
    real = shutil.which("tmux")
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "tmux").write_text(
        f'#!/bin/sh\nfor word; do [ "$word" = -C ] && exit 1; done\nexec {real} "$@"\n'
    )
    (broken / "tmux").chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")

    with pytest.raises(ProviderUnavailable):
        city.provider().observe(timeout=1.0)

    monkeypatch.undo()
    assert list(city.provider().observe(timeout=LIMIT)) == ["a"]


def test_a_long_path_for_temporary_files_is_no_hindrance(
    city: City, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it remembers the folder it found first

    city.provider().start("a", city.config("sleep 1000"), timeout=LIMIT)

    assert list(city.provider().observe(timeout=LIMIT)) == ["a"]
