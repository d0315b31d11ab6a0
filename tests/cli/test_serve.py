"""`gc runs serve` by the real `gc`: whom it answers, and what a reader gets who comes and goes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from tests.cli.place import LIMIT, Place

from gascity.testing.eventually import eventually

SLOW = "for n in 1 2 3; do echo line $n; done; touch said; until [ -e go ]; do sleep 0.05; done"


@dataclass(frozen=True)
class Event:
    id: str
    kind: str
    data: dict[str, Any]  # Any: as JSON gives it


class Web:
    """A server of a place's runs, and a client that shows its key."""

    def __init__(self, place: Place, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.place, self.process = place, process
        self.said = json.loads(process.stdout.readline())
        self.url = self.said["url"]
        self.key = json.loads(Path(self.said["key_file"]).read_text())["key"]

    def get(self, path: str, **headers: str) -> httpx.Response:
        shown = {"Authorization": f"Bearer {self.key}", **headers}
        return httpx.get(self.url + path, headers=shown, timeout=LIMIT, trust_env=False)

    @contextlib.contextmanager
    def stream(self, path: str, **headers: str) -> Iterator[Iterator[Event]]:
        shown = {"Authorization": f"Bearer {self.key}", **headers}
        with httpx.stream(
            "GET", self.url + path, headers=shown, timeout=LIMIT, trust_env=False
        ) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            yield _events(answer.iter_lines())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def web(place: Place) -> Iterator[Web]:
    with place.popen("runs", "serve", "--json", err=None) as process:
        try:
            yield Web(place, process)
        finally:
            process.terminate()
            assert process.wait(LIMIT) == 0


def test_a_reader_who_comes_in_the_middle_gets_all_of_it(place: Place, web: Web) -> None:
    with place.popen("run", "--", "sh", "-c", f"{SLOW}; printf 'the rest'") as run:
        eventually((place.work / "said").exists, within=LIMIT)
        (folder,) = place.folders()
        with web.stream(f"/runs/{folder.name}/logs") as events:
            first = [next(events) for _ in range(3)]
            (place.work / "go").touch()
            rest = list(events)
        assert run.wait(LIMIT) == 0

    assert [one.data["text"] for one in first] == ["line 1\n", "line 2\n", "line 3\n"]
    assert [one.kind for one in rest] == ["message", "end"]
    assert rest[0].data == {"text": "the rest"}
    assert rest[1].data["state"] == "completed"
    assert rest[1].data["exit_code"] == 0


def test_a_reader_who_was_cut_off_goes_on_where_it_was(place: Place, web: Web) -> None:
    folder = place.run("echo one; echo two; echo three")["folder"]
    path = f"/runs/{Path(folder).name}/logs"
    with web.stream(path) as events:
        seen = next(events)
    with web.stream(path, **{"Last-Event-ID": seen.id}) as events:
        rest = list(events)
    with web.stream(path, **{"Last-Event-ID": rest[-2].id}) as events:
        last = list(events)

    assert [one.data.get("text") for one in (seen, *rest)] == ["one\n", "two\n", "three\n", None]
    assert [one.kind for one in last] == ["end"]
    assert web.get(path, **{"Last-Event-ID": last[0].id}).status_code == 204


def test_what_it_says_comes_exactly(place: Place, web: Web) -> None:
    script = r"printf '\377a\rb\r\n\n\303\244: x\ndata: y\n' >&2; head -c 200000 /dev/zero >&2"
    folder = Path(place.run(script)["folder"])
    with web.stream(f"/runs/{folder.name}/logs?stream=stderr") as events:
        texts = [one.data["text"] for one in events if one.kind == "message"]

    said = "".join(texts).encode("utf-8", "surrogateescape")
    assert said == (folder / "agent-stderr.txt").read_bytes()


def test_a_runner_that_is_killed_ends_the_stream_with_the_truth(place: Place, web: Web) -> None:
    with place.popen("run", "--", "sh", "-c", SLOW) as run:
        eventually((place.work / "said").exists, within=LIMIT)
        (folder,) = place.folders()
        with web.stream(f"/runs/{folder.name}/logs") as events:
            next(events)
            run.kill()
            *_, last = events

    assert (last.kind, last.data["state"]) == ("end", "failed")
    assert "killed" in last.data["end"]
    eventually(lambda: place.living() == [], within=LIMIT)


def test_the_runs_are_shown_as_the_command_shows_them(place: Place, web: Web) -> None:
    first, second = (Path(place.run("true")["folder"]).name for _ in range(2))

    assert [one["run_id"] for one in web.get("/runs").json()["runs"]] == [second, first]
    assert [one["run_id"] for one in web.get("/runs?lines=1").json()["runs"]] == [second]
    assert web.get(f"/runs/{first}").json() == place.show(first)


@pytest.mark.parametrize(
    ("path", "headers", "status", "told"),
    [
        ("/", {}, 404, "there is /runs"),
        ("/runs/nobody", {}, 404, 'there is no run "nobody"'),
        ("/runs/%2e%2e%2f/logs", {}, 404, "there is no run"),
        ("/runs?lines=x", {}, 400, "lines is a number"),
        ("/runs/{run}/logs?stream=both", {}, 400, "stream is stdout or stderr"),
        ("/runs/{run}/logs", {"Last-Event-ID": "-1"}, 400, "Last-Event-ID is a number"),
        ("/runs/{run}/logs", {"Last-Event-ID": "1 x"}, 400, "Last-Event-ID is no id"),
    ],
)
def test_a_wrong_question_gets_a_sentence(
    place: Place, web: Web, path: str, headers: Mapping[str, str], status: int, told: str
) -> None:
    run = Path(place.run("true")["folder"]).name
    answer = web.get(path.replace("{run}", run), **headers)

    assert answer.status_code == status
    assert answer.json()["error"].startswith(told)


def test_only_who_shows_the_key_is_answered(place: Place, web: Web) -> None:
    run = Path(place.run("echo secret thing")["folder"]).name
    for path in ("/runs", f"/runs/{run}/logs", "/nothing"):
        for key in ("", "wrong", "ä"):
            bearer = {b"Authorization": f"Bearer {key}".strip().encode()}
            answers = [
                httpx.get(web.url + path, headers=bearer, timeout=LIMIT, trust_env=False),
                httpx.get(web.url + path, params={"key": key}, timeout=LIMIT, trust_env=False),
                httpx.get(web.url + path, timeout=LIMIT, trust_env=False),
            ]
            assert {one.status_code for one in answers} == {401}
            assert not any("secret thing" in one.text for one in answers)

    asked = httpx.get(f"{web.url}/runs", params={"key": web.key}, timeout=LIMIT, trust_env=False)
    assert asked.status_code == 200
    assert Path(web.said["key_file"]).stat().st_mode & 0o077 == 0


def test_only_this_machine_is_listened_to(web: Web) -> None:
    listening = psutil.Process(web.process.pid).net_connections("inet")

    assert [one.laddr.ip for one in listening] == ["127.0.0.1"]


def test_callers_who_say_nothing_keep_nobody_out_and_none_is_answered_for_ever(web: Web) -> None:
    port = int(web.url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        assert web.get("/runs").status_code == 200


def test_a_run_is_told_where_it_is_served(place: Place, web: Web) -> None:
    folder = Path(place.run("echo $JRUN_CONDUCTOR_URL")["folder"])

    assert (folder / "output.md").read_text() == f"{web.url}\n"


def test_without_a_server_nobody_is_told_of_one(place: Place) -> None:
    script = "echo ${JRUN_CONDUCTOR_URL-none}"
    place.home.mkdir(parents=True)
    process = psutil.Process(os.getpid())
    stale = {"url": "http://127.0.0.1:1", "key": "k", "pid": process.pid, "pid_started": "long ago"}
    for left in ("", "[]", json.dumps(stale)):
        (place.home / "serve.json").write_text(left)
        folder = Path(place.run(script)["folder"])
        assert (folder / "output.md").read_text() == "none\n"


def test_one_serves_a_home(place: Place, web: Web) -> None:
    second = place.gc("runs", "serve")

    assert second.returncode == 7
    assert second.stderr.decode().startswith(f"error: the runs of {place.home} are served at ")
    assert web.get("/runs").status_code == 200


def test_a_port_that_is_taken_is_told(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = place.gc("runs", "serve", "--port", str(port))

    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"error: port {port} cannot be listened on: Address already in use\n"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_its_end_leaves_nothing(place: Place, number: int) -> None:
    with place.popen("runs", "serve", "--json") as process:
        Web(place, process)
        process.send_signal(number)
        assert process.wait(LIMIT) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""

    assert not (place.home / "serve.json").exists()


def test_one_that_was_killed_is_in_nobodys_way(place: Place) -> None:
    with place.popen("runs", "serve", "--json") as process:
        Web(place, process)
        process.kill()
    with place.popen("runs", "serve", "--json") as process:
        assert Web(place, process).get("/runs").json() == {"runs": []}
        process.terminate()


def _events(rows: Iterator[str]) -> Iterator[Event]:
    """Read server-sent events, as the standard says."""
    fields: dict[str, str] = {}
    for row in rows:
        if not row and "data" in fields:
            kind = fields.get("event", "message")
            yield Event(fields["id"], kind, json.loads(fields["data"]))
            fields = {}
        elif row and not row.startswith(":"):
            name, _, value = row.partition(": ")
            fields[name] = value
