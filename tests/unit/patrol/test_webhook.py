"""Posting alerts, to real servers that fail in every way."""

from __future__ import annotations

import socket
import ssl
from email.utils import formatdate

import pytest
from tests.unit.patrol.conftest import DRIBBLE, HANG_UP, LIMIT, Answer, MakeServer, notice

from gascity.patrol.notice import SinkFailed
from gascity.patrol.sinks.webhook import Webhook, _moved, _unreachable
from gascity.testing.eventually import eventually


def hook(address: str, timeout: float = 20.0) -> Webhook:
    return Webhook(address, "", {}, timeout)


def failure(sink: Webhook) -> str:
    with pytest.raises(SinkFailed) as failed:
        sink.send(notice())
    return failed.value.message


def test_an_alert_is_posted_as_json_with_a_title(serve: MakeServer) -> None:
    server = serve()
    told = notice("broken \ud800 ü", screen="> 1. Yes")

    hook(server.address).send(told)

    assert server.got[0].path == "/alerts"
    assert server.got[0].headers["Content-Type"] == "application/json"
    assert server.got[0].body == {
        "title": "gc town: critical",
        "event": "raised",
        "city": "town",
        "agent": "a",
        "key": "dialog:gc-town-a",
        "severity": "critical",
        "text": "broken \ud800 ü",
        "at": 2000.0,
        "since": 1000.0,
        "screen": "> 1. Yes",
    }


@pytest.mark.parametrize("first", [Answer(500), Answer(503), Answer(429), HANG_UP])
def test_what_may_pass_is_tried_again(serve: MakeServer, first: Answer) -> None:
    server = serve(first, Answer(204))

    hook(server.address).send(notice())

    assert len(server.got) == 2
    assert server.got[0].raw == server.got[1].raw


def test_a_server_may_say_when_to_come_back(serve: MakeServer) -> None:
    server = serve(Answer(429, {"Retry-After": "1"}), Answer())

    hook(server.address).send(notice())

    assert server.got[1].at - server.got[0].at >= 1.0


def test_a_moment_may_be_a_date(serve: MakeServer) -> None:
    server = serve(Answer(503, {"Retry-After": formatdate(0, usegmt=True)}), Answer())

    hook(server.address).send(notice())

    assert len(server.got) == 2


def test_a_moment_beyond_the_time_limit_is_not_waited_for(serve: MakeServer) -> None:
    server = serve(Answer(429, {"Retry-After": "3600"}))
    said = failure(hook(server.address))

    assert said.startswith("answered with 429, and wants 3600 s to pass")
    assert len(server.got) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 410])
def test_a_refusal_is_final(serve: MakeServer, status: int) -> None:
    server = serve(Answer(status))

    assert failure(hook(server.address)) == f"answered with {status}"
    assert len(server.got) == 1


def test_a_server_that_goes_on_failing_is_told_at_the_end(serve: MakeServer) -> None:
    server = serve(Answer(500))
    said = failure(hook(server.address, timeout=5.0))

    assert said == "answered with 500; there is no time left to try again"
    assert len(server.got) >= 2


def test_nobody_there_is_a_failure_without_the_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        port = taken.getsockname()[1]
        said = failure(hook(f"http://me:hunter2@127.0.0.1:{port}/hunter3", timeout=4.0))

    assert said == "cannot be reached (Connection refused); there is no time left to try again"


def test_a_server_without_tls_is_told_as_that(serve: MakeServer) -> None:
    server = serve()
    said = failure(hook(server.address.replace("http:", "https:"), timeout=4.0))

    assert said.startswith("speaks no TLS that we do (")
    assert not server.got


def test_a_certificate_that_is_not_trusted_is_final() -> None:
    problem = OSError("wrapped")
    problem.__cause__ = ssl.SSLCertVerificationError("for 'hunter2'")

    with pytest.raises(SinkFailed, match=r"^has a certificate that is not trusted here$"):
        _unreachable(problem)
    assert _unreachable(ValueError()) == "cannot be reached"


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        said = failure(hook(f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout=0.3))

    assert said in {"did not answer in time", "did not answer within 0.3 s"}


def test_a_server_that_answers_without_end_is_given_up(serve: MakeServer) -> None:
    server = serve(DRIBBLE)
    sink = hook(server.address, timeout=0.5)

    assert failure(sink) == "did not answer within 0.5 s"
    assert failure(sink) == "is still busy with an earlier alert"
    eventually(lambda: len(server.got) == 1, within=LIMIT)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_move_within_the_host_is_followed(serve: MakeServer, status: int) -> None:
    server = serve(Answer(status, {"Location": "/there"}), Answer())

    hook(server.address).send(notice())

    assert [posted.path for posted in server.got] == ["/alerts", "/there"]
    assert server.got[0].raw == server.got[1].raw


def test_no_other_host_gets_what_was_meant_for_one(serve: MakeServer) -> None:
    other = serve()
    server = serve(Answer(307, {"Location": other.address}))
    said = failure(hook(server.address))

    assert said == "answered with 307, to another place, which is not followed"
    assert not other.got


def test_moves_without_end_are_given_up(serve: MakeServer) -> None:
    server = serve(Answer(307, {"Location": "/alerts"}))

    assert failure(hook(server.address)) == "sends from one place to the next without end"
    assert len(server.got) == 4


@pytest.mark.parametrize(
    ("there", "followed"),
    [
        ("https://example.com/x", True),
        ("http://example.com:81/x", False),
        ("https://example.com.evil.org/", False),
        ("//evil.org/", False),
        ("ftp://example.com/", False),
        ("", False),
        ("http://[", False),
    ],
)
def test_only_a_place_as_safe_as_before_is_followed(there: str, followed: bool) -> None:
    import httpx

    found = _moved(httpx.URL("http://me:secret@example.com/hook"), there)

    assert (found is not None) is followed
    assert found is None or found.userinfo == b"me:secret"
    assert _moved(httpx.URL("https://example.com/"), "http://example.com/") is None


def test_a_proxy_is_not_asked_for_this_machine(
    serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)

    hook(server.address).send(notice())
    hook(f"http://localhost:{server.port}/").send(notice())

    assert len(server.got) == 2


def test_a_proxy_is_asked_for_others(serve: MakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")

    hook("http://alerts.example/hook").send(notice())

    assert proxy.got[0].path == "http://alerts.example/hook"


def test_the_address_may_be_in_a_variable(serve: MakeServer) -> None:
    server = serve()
    environ = {"HOOK": f" {server.address}\n"}
    sink = Webhook("", "HOOK", environ, 20.0)

    sink.send(notice())
    environ.clear()

    assert len(server.got) == 1
    assert failure(sink) == "the variable HOOK is not set where the controller runs"


@pytest.mark.parametrize("address", ["hunter2", "ftp://hunter2/", "http://", "http://hunter2:x/"])
def test_a_variable_may_hold_nonsense(address: str) -> None:
    said = failure(Webhook("", "HOOK", {"HOOK": address}, 5.0))

    assert said == "its address is none that begins with http:// or https://"


def test_no_description_of_it_has_the_address() -> None:
    sink = Webhook("https://hunter2/", "", {"TOKEN": "hunter2"}, 5.0)

    assert "hunter2" not in repr(sink)
