"""Alerts through apprise: its own test target, and its JSON to a real server."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from apprise.decorators import notify
from apprise.manager_plugins import NotificationManager
from tests.unit.patrol.conftest import LIMIT, Answer, MakeServer, notice

from gascity.patrol.notice import NoticeKind, SinkFailed
from gascity.patrol.sinks.apprise import Apprise

# What apprise loads to know its services; none of it is ours.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
Taken = tuple[str, str, str]


@contextlib.contextmanager
def service(scheme: str, take: Callable[..., bool]) -> Iterator[None]:
    """Have apprise know a service of this scheme."""
    decorate: Any = notify  # Any: apprise does not say its types
    manager: Any = NotificationManager
    decorate(on=scheme)(take)
    try:
        yield
    finally:
        manager().remove(scheme)


@pytest.fixture
def target() -> Iterator[list[Taken]]:
    """A target `gctest://` of apprise that keeps what it is given."""
    got: list[Taken] = []

    def take(body: str, title: str, notify_type: str, *_: object, **__: object) -> bool:
        got.append((str(title), str(body), str(getattr(notify_type, "value", notify_type))))
        return True

    with service("gctest", take):
        yield got


def sink(*addresses: str, timeout: float = LIMIT) -> Apprise:
    return Apprise(addresses, "", {}, timeout)


def failure(way: Apprise, text: str = "x") -> str:
    with pytest.raises(SinkFailed) as failed:
        way.send(notice(text))
    return failed.value.message


def test_a_notice_arrives_with_its_kind(target: list[Taken]) -> None:
    way = sink("gctest://")
    way.send(notice("help *me* <b> \ud800", screen="> 1. Yes"))
    way.send(notice("well", kind=NoticeKind.RESOLVED))

    assert target == [
        ("gc town: critical", "help *me* <b> ?\n\n> 1. Yes", "failure"),
        ("gc town: over", "well", "success"),
    ]


def test_every_address_gets_it_also_when_one_fails(
    serve: MakeServer, target: list[Taken], caplog: pytest.LogCaptureFixture
) -> None:
    good, bad = serve(), serve(Answer(500))
    said = failure(
        sink(
            f"json://me:hunter2@127.0.0.1:{bad.port}/",
            f"json://127.0.0.1:{good.port}/",
            "gctest://",
            "nobody://hunter2",
        )
    )

    assert good.got[0].body["message"] == "x"
    assert target[0][1] == "x"
    assert not caplog.records  # they have addresses in them
    assert said == (
        "address 1 (json) did not take it; address 4 (nobody) is none that apprise knows"
    )


def test_addresses_may_be_in_a_variable(target: list[Taken]) -> None:
    environ = {"WHERE": "gctest://one\n gctest://two "}
    way = Apprise(("gctest://three",), "WHERE", environ, LIMIT)
    way.send(notice())
    environ.clear()

    assert len(target) == 3
    assert failure(way) == "the variable WHERE is not set where the controller runs"


def test_a_service_that_hangs_is_left_behind(target: list[Taken]) -> None:
    let_go = threading.Event()

    def wait(*_: object, **__: object) -> bool:
        return let_go.wait(LIMIT)

    way = sink("gcstuck://", "gctest://", timeout=2.0)
    with service("gcstuck", wait):
        assert failure(way) == "address 1 (gcstuck) did not answer within 2 s"
        assert failure(way) == "address 1 (gcstuck) is still busy with an earlier alert"
        assert len(target) == 2
        let_go.set()


def test_without_the_extra_there_is_a_way_to_it() -> None:
    code = (
        "import sys; sys.modules['apprise'] = None\n"
        "from gascity.patrol.sinks import sinks_of\n"
        "from gascity.core.model import AlertSettings\n"
        "from gascity.core.alerts import Severity\n"
        "from gascity.patrol.notice import Notice, NoticeKind, SinkFailed\n"
        "way, = sinks_of(AlertSettings(apprise=('json://localhost',)), '/', {})\n"
        "told = Notice(NoticeKind.RAISED, 'c', 'k', 'a', Severity.INFO, 't', 0.0, 0.0)\n"
        "try: way.send(told)\n"
        "except SinkFailed as failed: print(failed.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == (
        "it is not installed; `pip install '.[alerts]'` in the folder of gc's source brings it\n"
    )


def test_no_description_of_it_has_an_address() -> None:
    assert "hunter2" not in repr(sink("json://hunter2"))
