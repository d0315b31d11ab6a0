"""Asking models over HTTP: real servers that answer well, badly and not at all."""

from __future__ import annotations

import json
import logging
import socket
import threading
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import pytest
from tests.unit.runs.conftest import DONE, MakeServer, Reply, Server, delta, event, said

from gascity.errors import BackendError
from gascity.runs.context import Cancel, RunContext
from gascity.runs.environment import RunIds, RunPaths
from gascity.runs.preamble import prompt_text
from gascity.runs.rest import call
from gascity.runs.rest.chat import ChatBackend
from gascity.runs.rest.perplexity import Perplexity
from gascity.runs.rest.xai import Xai
from gascity.testing.eventually import eventually

TOKEN = "sk-secret-1234"
KEYS = {"PERPLEXITY_API_KEY": TOKEN, "XAI_API_KEY": TOKEN}


@dataclass(frozen=True)
class Run:
    """One run against a server."""

    folder: Path

    def execute(
        self,
        server: Server | str,
        backend: type[ChatBackend] = Perplexity,
        *,
        prompt: str = "why?",
        idle: float = 20.0,
        cancel: Cancel | None = None,
        **variables: str,
    ) -> None:
        address = server if isinstance(server, str) else server.address
        environment = {**KEYS, "BASE_URL": address, **variables}
        context = RunContext(
            "r1",
            "p",
            "t",
            prompt,
            str(self.folder),
            str(self.folder / "out"),
            str(self.folder / "err"),
            environment,
        )
        backend(idle=idle, pause=0.01).execute(context, cancel or Cancel())

    def failure(self, server: Server | str, *words: type[ChatBackend], **more: object) -> str:
        with pytest.raises(BackendError) as failed:
            self.execute(server, *words, **more)  # type: ignore[arg-type]  # real arguments
        assert TOKEN not in failed.value.message
        assert TOKEN not in self.err
        return failed.value.message

    @property
    def out(self) -> str:
        return (self.folder / "out").read_text("utf-8")

    @property
    def err(self) -> str:
        file = self.folder / "err"
        return file.read_text("utf-8") if file.exists() else ""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.fixture(params=[Perplexity, Xai], ids=lambda kind: kind.service.name)
def backend(request: pytest.FixtureRequest) -> type[ChatBackend]:
    kind: type[ChatBackend] = request.param
    return kind


def test_an_answer_comes_in_parts(run: Run, serve: MakeServer, backend: type[ChatBackend]) -> None:
    server = serve(said("Hel", "lo ", "wörld \u2028\u0085 \U0001f600"))

    run.execute(server, backend)

    assert run.out == "Hello wörld \u2028\u0085 \U0001f600"
    assert run.err == ""


@pytest.mark.parametrize(
    ("kind", "path", "model"),
    [(Perplexity, "/chat/completions", "sonar-pro"), (Xai, "/v1/chat/completions", "grok-4")],
)
def test_a_question_is_asked_as_the_api_wants_it(
    run: Run, serve: MakeServer, kind: type[ChatBackend], path: str, model: str
) -> None:
    server = serve(said("x"))
    run.execute(server, kind, prompt="why \ud800?")
    got = server.got[0]

    assert got.path == path
    assert got.headers["Authorization"] == f"Bearer {TOKEN}"
    assert "text/event-stream" in got.headers["Accept"]
    assert got.body == {
        "model": model,
        "messages": [{"role": "user", "content": "why ??"}],
        "stream": True,
    }


def test_only_the_prompt_is_asked(run: Run, serve: MakeServer) -> None:
    server = serve(said("x"))
    paths = RunPaths("/t", "/t/runs/r1", "/t/runs", "/bus")
    run.execute(server, prompt=prompt_text("a\n---\nb", RunIds("r1", "p", "t"), paths))

    assert server.got[0].body["messages"][0]["content"] == "a\n---\nb"


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_address_of_xai_may_be_whole_or_not(run: Run, serve: MakeServer, ending: str) -> None:
    server = serve(said("x"))
    run.execute(server.address + ending, Xai)

    assert server.got[0].path == "/v1/chat/completions"


@pytest.mark.parametrize("name", ["XAI_API_ENDPOINT", "XAI_BASE_URL", "XAI_API_BASE"])
def test_xai_has_variables_of_its_own(run: Run, serve: MakeServer, name: str) -> None:
    server = serve(said("x"))
    own = {name: server.address}
    run.execute("", Xai, XAI_MODEL="grok-9", **own)  # type: ignore[arg-type]  # it is a variable
    run.execute(server, Xai, XAI_MODEL="grok-9", MODEL="mine", XAI_BASE_URL="http://127.0.0.1:9")

    assert [got.body["model"] for got in server.got] == ["grok-9", "mine"]


def test_an_address_of_the_host_gets_no_token(
    run: Run, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, stray = serve(said("x")), serve(said("y"))
    monkeypatch.setenv("BASE_URL", stray.address)
    run.execute("", Xai, XAI_BASE_URL=server.address)

    assert (len(server.got), len(stray.got)) == (1, 0)


def test_a_proxy_is_not_asked_for_this_machine(
    run: Run, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    run.execute(serve(said("x")))

    assert run.out == "x"


def test_an_answer_is_there_as_soon_as_it_comes(run: Run, serve: MakeServer) -> None:
    server = serve(Reply((delta("first part"),), then="stall"))
    said_so_far: list[str] = []

    def look() -> None:
        eventually(lambda: (run.folder / "out").exists() and run.out)
        said_so_far.append(run.out)
        server.release.set()

    watcher = threading.Thread(target=look)
    watcher.start()
    run.failure(server)
    watcher.join()

    assert said_so_far == ["first part"]


# --- forms of an answer


def test_what_was_said_so_far_is_not_said_twice(run: Run, serve: MakeServer) -> None:
    both = {"choices": [{"delta": {"content": "lo"}, "message": {"content": "Hello"}}]}
    whole = [event({"choices": [{"message": {"content": text}}]}) for text in ("Hel", "Hello!")]
    run.execute(serve(Reply((whole[0], event(both), *whole[1:], DONE))))

    assert run.out == "Hello!"


def test_deltas_that_grow_are_told_once(run: Run, serve: MakeServer) -> None:
    run.execute(serve(said("Hello", "Hello wörld", "Hello wörld.")))

    assert run.out == "Hello wörld."


def test_deltas_that_are_alike_are_kept(run: Run, serve: MakeServer) -> None:
    run.execute(serve(said("1", "10", "0", "10")))

    assert run.out == "110010"


def test_a_stream_may_be_cut_anywhere_between_its_parts(run: Run, serve: MakeServer) -> None:
    stream = b": hello\r\nevent: x\r\n" + delta("wörld").replace(b"\n", b"\r\n") + delta("!") + DONE
    run.execute(serve(Reply(tuple(stream[at : at + 1] for at in range(len(stream))))))

    assert run.out == "wörld!"


def test_an_event_may_have_several_lines_of_data(run: Run, serve: MakeServer) -> None:
    lines = b'data: {"choices":\ndata: [{"delta": {"content": "x"}}]}\n\n'
    run.execute(serve(Reply((lines, b"data: [DONE]"))))

    assert run.out == "x"


def test_an_answer_may_be_one_document(
    run: Run, serve: MakeServer, backend: type[ChatBackend]
) -> None:
    document = json.dumps({"choices": [{"message": {"content": "wörld"}}]}).encode()
    run.execute(serve(Reply((document,), kind="application/json")), backend)

    assert run.out == "wörld"


@pytest.mark.parametrize(
    "reply",
    [
        Reply((b'{"choices": []}',), kind="application/json"),
        Reply((DONE,)),
        Reply((event({"choices": [{"delta": {}}]}), DONE)),
    ],
)
def test_an_answer_without_content_is_a_failure(run: Run, serve: MakeServer, reply: Reply) -> None:
    assert run.failure(serve(reply), Xai) == "api call failed: xai response missing content"


@pytest.mark.parametrize(
    "more",
    [
        {"citations": ["https://a.test/1", "https://b.test/2"]},
        {
            "search_results": [
                {"title": "A", "url": "https://a.test/1"},
                {"url": "https://b.test/2"},
            ]
        },
        {"citations": [{"url": "https://a.test/1"}, "https://b.test/2"], "search_results": []},
    ],
)
def test_the_sources_stand_behind_the_answer(
    run: Run, serve: MakeServer, more: dict[str, object]
) -> None:
    run.execute(serve(Reply((delta("It is so [1].", **more), delta(""), DONE))))

    assert run.out == "It is so [1].\n\nSources:\n1. https://a.test/1\n2. https://b.test/2\n"


# --- what fails


@pytest.mark.parametrize(
    ("parts", "then"),
    [((delta("half"),), "end"), ((delta("half"),), "cut"), ((delta("half"), b"data: {"), "end")],
)
def test_a_stream_without_its_end_is_a_failure(
    run: Run, serve: MakeServer, backend: type[ChatBackend], parts: tuple[bytes, ...], then: str
) -> None:
    server = serve(Reply(parts, then=then))
    message = run.failure(server, backend)

    assert message.startswith("api call failed: ")
    assert "cut before its end" in message or "no JSON" in message
    assert run.out == "half"
    assert len(server.got) == 1


def test_a_stream_that_stalls_is_given_up(run: Run, serve: MakeServer) -> None:
    message = run.failure(serve(Reply((delta("half"),), then="stall")), idle=0.3)

    assert message == "api call failed: perplexity stream idle timeout: nothing for 0.3 s"
    assert run.out == "half"


def test_a_server_that_says_nothing_is_given_up_at_once(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        message = run.failure(f"http://127.0.0.1:{silent.getsockname()[1]}", idle=0.3)

    assert "idle timeout" in message
    assert run.err == ""


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"error": {"message": "quota is used up"}}, "quota is used up"),
        ({"error": "no"}, "no"),
        ({"error": {"code": 7}}, "{'code': 7}"),
        ({"choices": [{"finish_reason": "error"}]}, "it ended with an error"),
    ],
)
def test_an_error_within_the_stream_is_a_failure(
    run: Run, serve: MakeServer, document: dict[str, object], words: str
) -> None:
    message = run.failure(serve(Reply((delta("half"), event(document), DONE))))

    assert message == f"api call failed: perplexity api error: {words}"


def test_another_status_is_told_with_its_body_and_not_tried_again(
    run: Run, serve: MakeServer, backend: type[ChatBackend]
) -> None:
    server = serve(Reply((b'{"error":\n "bad key ', TOKEN.encode(), b'"}'), status=401))
    message = run.failure(server, backend)

    name = backend.service.name
    assert message.startswith(f"api call failed: {name} api error: status 401: ")
    assert '{"error": "bad key sha256:' in message
    assert len(server.got) == 1


@pytest.mark.parametrize("lead", range(4))
def test_a_long_body_is_cut_between_characters(run: Run, serve: MakeServer, lead: int) -> None:
    body = b"x" * lead + ("ü" * 8190 + TOKEN + "ü" * 40_000).encode()
    message = run.failure(serve(Reply((body,), status=400)))

    assert message.endswith("...")
    assert "\ufffd" not in message
    assert len(message) < 8300
    assert TOKEN[:4] not in message


def test_a_server_that_sends_elsewhere_is_not_followed(run: Run, serve: MakeServer) -> None:
    other = serve(said("x"))
    server = serve(Reply(status=307, headers={"Location": f"{other.address}/chat/completions"}))

    assert "status 307" in run.failure(server)
    assert other.got == []


# --- what is tried again


@pytest.mark.parametrize(
    "first", [Reply(status=429), Reply(status=500), Reply(status=503), Reply(status=0)]
)
def test_what_may_pass_is_tried_again_and_told(
    run: Run, serve: MakeServer, backend: type[ChatBackend], first: Reply
) -> None:
    server = serve(first, said("x"))

    run.execute(server, backend)

    assert run.out == "x"
    assert len(server.got) == 2
    assert run.err.startswith(f"{backend.service.name}: try 1 of 5: ")
    assert TOKEN not in run.err


def test_five_faults_are_enough(run: Run, serve: MakeServer) -> None:
    server = serve(Reply((b"broken",), status=500))
    message = run.failure(server)

    assert message == "api call failed: perplexity api error: status 500; tried 5 times"
    assert len(server.got) == 5
    assert len(run.err.splitlines()) == 4


def test_nobody_there_is_tried_again(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    message = run.failure(f"http://127.0.0.1:{port}")

    assert message.startswith("api call failed: 127.0.0.1 cannot be reached (")
    assert message.endswith("Connection refused); tried 5 times")


def test_a_server_may_say_when_to_come_back(run: Run, serve: MakeServer) -> None:
    server = serve(Reply(status=429, headers={"Retry-After": "1"}), said("x"))

    run.execute(server)

    assert server.got[1].at - server.got[0].at >= 1.0
    assert "trying again in 1.0 s" in run.err


def test_the_moment_may_be_a_date(run: Run, serve: MakeServer) -> None:
    server = serve(
        Reply(status=503, headers={"Retry-After": formatdate(0, usegmt=True)}), said("x")
    )

    run.execute(server)

    assert "trying again in 0.0 s" in run.err


def test_a_moment_too_far_away_is_not_waited_for(run: Run, serve: MakeServer) -> None:
    server = serve(Reply(status=429, headers={"Retry-After": "3600"}))

    assert "status 429; it wants 3600 s to pass" in run.failure(server)
    assert len(server.got) == 1


def test_a_cancelled_run_does_not_wait(run: Run, serve: MakeServer) -> None:
    server = serve(Reply(status=429, headers={"Retry-After": "100"}))
    cancel = Cancel()
    timer = threading.Timer(0.2, cancel.set, ["enough"])
    timer.start()
    message = run.failure(server, cancel=cancel)
    timer.join()

    assert message == "agent was stopped: enough"


# --- before anything is sent


@pytest.mark.parametrize("key", ["", " \n"])
def test_a_key_is_needed(run: Run, key: str) -> None:
    assert run.failure("http://127.0.0.1:9", Xai, XAI_API_KEY=key) == "api key is empty"


@pytest.mark.parametrize("key", ["a\nb", "schlüssel", "a b", "a\x00b", "a\r\nX: y"])
def test_what_is_no_key_is_not_sent_and_not_shown(run: Run, key: str) -> None:
    message = run.failure("http://127.0.0.1:9", Xai, XAI_API_KEY=key)

    assert message == "api key holds something that no key has"


def test_a_question_is_needed(run: Run) -> None:
    assert run.failure("http://127.0.0.1:9", prompt=" \n") == "prompt is empty"


@pytest.mark.parametrize("address", ["ftp://x", "nonsense", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(run: Run, address: str) -> None:
    assert "the base url is none" in run.failure(address)


def test_a_file_that_cannot_be_written_is_a_failure(run: Run) -> None:
    (run.folder / "out").mkdir()

    assert run.failure("http://127.0.0.1:9") == f"open {run.folder}/out: Is a directory"


def test_a_full_disk_is_a_failure(run: Run, serve: MakeServer) -> None:
    (run.folder / "out").symlink_to("/dev/full")

    assert run.failure(serve(said("x"))).endswith("No space left on device")


def test_nothing_of_the_token_is_logged(
    run: Run, serve: MakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    run.execute(serve(Reply(status=500), said("x")))

    assert TOKEN not in caplog.text
    assert "httpx" not in {record.name.partition(".")[0] for record in caplog.records}


def test_an_event_without_end_is_a_failure(
    run: Run, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gascity.runs.rest.sse.LONGEST", 1000)

    assert "too long" in run.failure(serve(Reply((delta("x" * 2000), DONE))))


def test_a_document_without_end_is_a_failure(
    run: Run, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call, "_LARGEST", 1000)
    reply = Reply((b'{"x": "' + b"x" * 2000,), kind="application/json")

    assert "too long" in run.failure(serve(reply))


# --- what servers do that nobody expects


@pytest.mark.parametrize("lead", [(b"\xef\xbb\xbf",), (b"\xef", b"\xbb\xbf")])
def test_a_mark_of_utf8_at_the_beginning_takes_nothing_away(
    run: Run, serve: MakeServer, lead: tuple[bytes, ...]
) -> None:
    run.execute(serve(Reply((*lead, delta("a"), delta("b"), DONE))))

    assert run.out == "ab"


@pytest.mark.parametrize("end", [b"\r", b"\r\n", b"\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_line_may_end_in_three_ways_wherever_it_is_cut(
    run: Run, serve: MakeServer, end: bytes, size: int
) -> None:
    whole = (delta("a") + b": a comment\n\n" + delta("b") + DONE).replace(b"\n", end)
    parts = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    run.execute(serve(Reply(parts)))

    assert run.out == "ab"


def test_an_event_without_data_is_a_sign_of_life(run: Run, serve: MakeServer) -> None:
    run.execute(serve(Reply((delta("a"), b"data:\n\n", b"data: \n\n", delta("b"), DONE))))

    assert run.out == "ab"


@pytest.mark.parametrize("then", ["cut", "stall"])
def test_a_refusal_counts_though_its_body_does_not_come(
    run: Run, serve: MakeServer, then: str
) -> None:
    server = serve(Reply((b"no such key",), status=401, then=then))
    message = run.failure(server, idle=0.3)

    assert message == "api call failed: perplexity api error: status 401: no such key"
    assert len(server.got) == 1


@pytest.mark.parametrize(
    "moment", ["Wed, 99 Oct 99999999999 99:99:99 GMT", "-1", "soon", "1e400", "\u00b2"]
)
def test_a_moment_that_is_none_is_left_out(run: Run, serve: MakeServer, moment: str) -> None:
    server = serve(Reply(status=429, headers={"Retry-After": moment}), said("x"))
    run.execute(server)

    assert run.out == "x"


def test_deltas_that_begin_alike_are_kept(run: Run, serve: MakeServer) -> None:
    run.execute(serve(said("----", "----", "----")), Xai)

    assert run.out == "-" * 12


def test_a_delta_that_begins_like_the_answer_is_told_by_the_message(
    run: Run, serve: MakeServer
) -> None:
    def both(new: str, whole: str) -> bytes:
        return event({"choices": [{"delta": {"content": new}, "message": {"content": whole}}]})

    run.execute(serve(Reply((both("haha", "haha"), both("haha", "hahahaha"), DONE))))

    assert run.out == "hahahaha"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SSL_CERT_FILE", "/nowhere/to/be/found"),
        ("SSL_CERT_FILE", __file__),
        ("HTTPS_PROXY", "garbage://me:hidden-pw@127.0.0.1:1"),
        ("ALL_PROXY", "nothing://[::1"),
    ],
)
def test_what_the_environment_says_wrong_of_connections_is_told(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    for other in ("NO_PROXY", "no_proxy", "HTTPS_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, value)
    message = run.failure("https://nowhere.invalid/v1")

    assert message.startswith("api call failed: the certificates or the proxy that the environment")
    assert "hidden-pw" not in message


@pytest.mark.parametrize("host", ["a..b", "a" * 300])
def test_a_host_that_cannot_be_one_is_told(run: Run, host: str) -> None:
    message = run.failure(f"http://{host}/v1")

    assert message == "api call failed: the base url has a host that cannot be one"
