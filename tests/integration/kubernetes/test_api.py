"""One request to an API: what is raised for what it answers, and that it always ends in time."""

from __future__ import annotations

import base64
import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import certifi
import kmock
import pytest
from tests.integration.kubernetes.conftest import LIMIT, PODS, Double, header, kubeconfig, refusal

from gascity.errors import ConfigError, GascityError
from gascity.testing.eventually import eventually
from gascity_kubernetes.api import Api
from gascity_kubernetes.credentials import load_access
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent, Expired, Forbidden, Taken
from gascity_kubernetes.settings import Settings


@pytest.fixture
def silent() -> Iterator[int]:
    """Listen on a port, and never say a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def ask(api: Api, path: str = PODS + "/one", timeout: float = LIMIT) -> dict[str, object]:
    return api.request("GET", path, timeout=timeout)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ApiRefused),
        (401, Forbidden),
        (403, Forbidden),
        (404, Absent),
        (409, Taken),
        (410, Expired),
        (422, ApiRefused),
        (429, ApiSilent),
        (500, ApiSilent),
        (503, ApiSilent),
    ],
)
def test_a_refusal_is_told_by_its_class_and_in_the_words_of_the_api(
    double: Double, api: Api, status: int, kind: type[GascityError]
) -> None:
    double.answers.extend([refusal(status, "Because", "it is so")] * 2)

    with pytest.raises(GascityError, match=r"it is so") as problem:
        ask(api)

    assert type(problem.value) is kind
    assert "\n" not in problem.value.message
    if isinstance(problem.value, ApiRefused):
        assert (problem.value.status, problem.value.reason) == (status, "Because")


def test_what_is_sent_arrives_as_json(double: Double, api: Api) -> None:
    double.answers.append({"kind": "Pod"})

    made = api.request(
        "PATCH",
        PODS + "/one",
        body={"metadata": {"annotations": {"a": "ü"}}},
        query={"dryRun": "All"},
        content_type="application/merge-patch+json",
        timeout=LIMIT,
    )

    asked = double.asked[-1]
    assert made == {"kind": "Pod"}
    assert asked.method.value == "PATCH"
    assert json.loads(asked.body) == {"metadata": {"annotations": {"a": "ü"}}}
    assert asked.params == {"dryRun": "All"}
    assert header(asked, "content-type") == "application/merge-patch+json"
    assert api.requests == {"write": 1}


def test_a_log_is_text(double: Double, api: Api) -> None:
    double.answers.append(b"one line\nanother \xff")

    text = api.request_text("GET", PODS + "/one/log", query={}, timeout=LIMIT)

    assert text == "one line\nanother �"


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    api = Api(kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}"))

    with pytest.raises(ApiSilent) as problem:
        ask(api)

    assert problem.value.message == (
        f"the Kubernetes API at http://127.0.0.1:{port} cannot be reached (connection refused) "
        "while reading pod one"
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_says_nothing_is_given_up_in_time(
    tmp_path: Path, silent: int, scheme: str
) -> None:
    api = Api(kubeconfig(tmp_path / "kubeconfig", f"{scheme}://127.0.0.1:{silent}"))

    with pytest.raises(ApiSilent, match=r"did not answer within 0\.\d+ s while reading pod one"):
        ask(api, timeout=0.2)


def test_an_answer_that_stops_in_the_middle_is_given_up_in_time(double: Double, api: Api) -> None:
    double.answers.append((b'{"kind": ', double.hold))

    with pytest.raises(ApiSilent, match=r"did not answer within"):
        ask(api, timeout=0.3)


def abort(request: kmock.Request) -> bytes:
    """Cut the connection instead of an answer."""
    assert request._raw_request is not None
    assert request._raw_request.transport is not None
    request._raw_request.transport.abort()
    return b""


def test_a_connection_that_breaks_off_is_silence(double: Double, api: Api) -> None:
    double.answers.extend([abort] * 2)

    with pytest.raises(ApiSilent, match=r"while reading pod one"):
        ask(api)


def test_a_write_is_never_sent_twice(double: Double, api: Api) -> None:
    double.answers.append(abort)

    with pytest.raises(ApiSilent, match=r"while creating pods"):
        api.request("POST", PODS, body={}, timeout=LIMIT)

    assert [one.method.value for one in double.asked] == ["POST"]


def test_what_is_no_api_is_named_as_such(double: Double, api: Api) -> None:
    double.answers.append(b"<html>login</html>")

    with pytest.raises(ApiSilent, match=r"is not a Kubernetes API \(while reading pod one\)"):
        ask(api)


def test_a_name_nobody_knows(tmp_path: Path) -> None:
    api = Api(kubeconfig(tmp_path / "kubeconfig", "https://nowhere.invalid:6443"))

    with pytest.raises(ApiSilent, match=r"nowhere.invalid:6443 has a name that is not known"):
        ask(api)


def test_a_token_is_sent_and_never_told(double: Double, tmp_path: Path) -> None:
    api = Api(kubeconfig(tmp_path / "kubeconfig", double.url, {"token": "s3cret"}))
    double.answers.extend([refusal(401, "Unauthorized", "Unauthorized")] * 2)

    with pytest.raises(Forbidden) as problem:
        ask(api)

    assert header(double.asked[0], "authorization") == "Bearer s3cret"
    assert "s3cret" not in problem.value.message + problem.value.hint + repr(problem.value)


def test_a_token_file_that_was_replaced_is_read_anew(
    double: Double, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gascity_kubernetes.api._RELOADED_AT_MOST_EVERY", 0.0)
    token = tmp_path / "token"
    token.write_text("old")
    api = Api(kubeconfig(tmp_path / "kubeconfig", double.url, {"tokenFile": str(token)}))
    double.answers.append({"kind": "Pod"})
    ask(api)
    token.write_text("new")
    double.answers.extend([refusal(401, "Unauthorized", "Unauthorized"), {"kind": "Pod"}])

    assert ask(api) == {"kind": "Pod"}

    sent = [header(one, "authorization") for one in double.asked]
    assert sent == ["Bearer old", "Bearer old", "Bearer new"]


def plugin(tmp_path: Path, program: str) -> dict[str, object]:
    script = tmp_path / "plugin.py"
    script.write_text(program)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": [str(script)]}}


FETCH = """
import json, pathlib
count = pathlib.Path(__file__).with_name("count")
n = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(n))
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
    "status": {"token": f"t{n}", "expirationTimestamp": "2020-01-01T00:00:00Z"}}))
"""


def test_a_plugin_is_asked_again_when_its_token_has_ended(double: Double, tmp_path: Path) -> None:
    api = Api(kubeconfig(tmp_path / "kubeconfig", double.url, plugin(tmp_path, FETCH)))
    double.answers.extend([{"kind": "Pod"}] * 2)

    ask(api)
    ask(api)

    sent = [header(one, "authorization") for one in double.asked]
    assert len(set(sent)) == 2


def test_a_plugin_that_fails_says_so(
    double: Double, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    user = plugin(tmp_path, "import sys; sys.exit('log in first')")

    with pytest.raises(
        ConfigError, match=r"the kubeconfig cannot be used: exec: .*returned 1.*log in"
    ):
        Api(kubeconfig(tmp_path / "kubeconfig", double.url, user))

    assert capfd.readouterr() == ("", "")


def test_a_plugin_that_hangs_does_not_hang_us(double: Double, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    waits = "import os, time\nwhile os.path.exists(os.environ['GATE']): time.sleep(0.01)\n"
    user = plugin(tmp_path, waits + FETCH)
    user["exec"]["env"] = [{"name": "GATE", "value": str(gate)}]  # type: ignore[index] # a dict
    api = Api(kubeconfig(tmp_path / "kubeconfig", double.url, user))
    gate.touch()

    with pytest.raises(ApiSilent, match=r"no credentials for .* came in time"):
        ask(api, timeout=0.2)

    gate.unlink()
    double.answers.append({"kind": "Pod"})
    assert ask(api) == {"kind": "Pod"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be used"),
        ("- 1", "cannot be used"),
        ("{", "cannot be used"),
        ("kind: Config\ncurrent-context: other\ncontexts: []", "cannot be used"),
    ],
)
def test_a_kubeconfig_that_is_none_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(text)

    with pytest.raises(ConfigError, match=said) as problem:
        Api(Settings.read({"kubeconfig": str(path)}, {}))

    assert "\n" not in problem.value.message


def test_an_unknown_context_is_named(tmp_path: Path) -> None:
    settings = kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")

    with pytest.raises(ConfigError, match=r'with context "prod".*prod'):
        Api(Settings.read({"kubeconfig": settings.kubeconfig, "context": "prod"}, {}))


def test_no_kubeconfig_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no Kubernetes cluster is known here: .*nowhere"):
        Api(Settings.read({"kubeconfig": str(tmp_path / "nowhere")}, {}))


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "container other is not valid for pod one", ApiRefused),
        (401, "Unauthorized", Forbidden),
        (403, 'user "x" cannot create resource "pods/exec"', Forbidden),
        (404, 'pods "one" not found', Absent),
        (500, 'container not found ("agent")', Absent),
        (500, "error dialing backend: connection refused", ApiSilent),
    ],
)
def test_a_program_that_may_not_run_is_told_as_a_request_is(
    double: Double, api: Api, status: int, message: str, kind: type[GascityError]
) -> None:
    double.answers.append(refusal(status, "Because", message))

    with pytest.raises(GascityError) as problem:
        api.open_stream("one", "agent", ["echo", "a b"], stdin=True, timeout=LIMIT)

    assert type(problem.value) is kind
    assert message in problem.value.message
    assert api.requests == {"exec": 1}
    asked = double.asked[0]
    assert asked.url.query.getall("command") == ["echo", "a b"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_stream_that_nobody_opens_is_given_up_in_time(
    tmp_path: Path, silent: int, scheme: str
) -> None:
    api = Api(kubeconfig(tmp_path / "kubeconfig", f"{scheme}://127.0.0.1:{silent}"))

    with pytest.raises(ApiSilent, match=r"did not answer within .* running a program in pod one"):
        api.open_stream("one", "agent", ["true"], stdin=False, timeout=0.2)


def test_a_stream_to_nobody(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    api = Api(kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{port}"))

    with pytest.raises(ApiSilent, match=r"cannot be reached \(connection refused\)"):
        api.open_stream("one", "agent", ["true"], stdin=False, timeout=LIMIT)


def test_in_a_cluster_its_own_account_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("t1")
    for name, path in (("TOKEN", str(token)), ("CERT", certifi.where())):
        monkeypatch.setattr(f"kubernetes.config.incluster_config.SERVICE_{name}_FILENAME", path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    settings = kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")

    access = load_access(settings, timeout=LIMIT)

    assert access.host == "https://10.0.0.1:443"
    assert access.headers(time.monotonic() + LIMIT) == {"authorization": "bearer t1"}
    assert Api(settings).about() == "https://10.0.0.1:443, namespace gc"


def test_no_certificate_stays_behind_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1")
    config = json.loads(Path(settings.kubeconfig).read_text())
    authority = base64.b64encode(Path(certifi.where()).read_bytes()).decode()
    config["clusters"][0]["cluster"]["certificate-authority-data"] = authority
    Path(settings.kubeconfig).write_text(json.dumps(config))

    for _ in range(2):
        assert load_access(settings, timeout=LIMIT).tls is not None

    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_watch_ends_when_it_is_closed(double: Double, api: Api) -> None:
    watch = api.open_watch(PODS, query={"resourceVersion": "100"}, idle=LIMIT, timeout=LIMIT)
    ended: list[bool] = []
    reader = threading.Thread(target=lambda: ended.append(list(watch) == []))
    reader.start()

    watch.close()
    reader.join(LIMIT)

    assert ended == [True]
    eventually(lambda: not watch._thread.is_alive(), within=LIMIT)


def test_silence_does_not_end_a_watch(double: Double, api: Api) -> None:
    watch = api.open_watch(PODS, query={"resourceVersion": "100"}, idle=0.05, timeout=LIMIT)
    with pytest.raises(TimeoutError):
        next(watch)
    double.add("one")

    def event() -> object:
        try:
            return next(watch)["object"]["metadata"]["name"]
        except TimeoutError:
            return None

    assert eventually(event, within=LIMIT) == "one"
    watch.close()


def test_many_threads_ask_at_once(double: Double, api: Api) -> None:
    threads = [threading.Thread(target=ask, args=[api, PODS]) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)

    assert api.requests == {"list": 64}
    assert double.count(watch=False) == 64
