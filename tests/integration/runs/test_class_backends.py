"""Backends that are classes, each run in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.runs.conftest import MakeServer, Reply, delta, said, serve

from gascity.errors import BackendError
from gascity.runs.backends import find
from gascity.runs.context import Cancel, RunContext
from gascity.testing.eventually import eventually

__all__ = ["serve"]  # a fixture

TOKEN = "sk-secret-1234"
PACKAGE = """\
import ctypes, os, signal, sys, time
from gascity.errors import BackendError

class Mine:
    type = "mine"

    def execute(self, context, cancel):
        with open(context.stdout_path, "a") as out:
            {body}
"""


@dataclass(frozen=True)
class Desk:
    """A run's folder, and a place for packages."""

    root: Path

    def execute(self, name: str, cancel: Cancel | None = None, **environment: str) -> None:
        context = RunContext(
            "r1",
            "p",
            "t",
            "do ü",
            str(self.root / "work"),
            str(self.root / "out"),
            str(self.root / "err"),
            {"PYTHONPATH": str(self.root / "site"), **environment},
        )
        find(name, grace=2.0).execute(context, cancel or Cancel())

    def failure(self, name: str, cancel: Cancel | None = None, **environment: str) -> BackendError:
        with pytest.raises(BackendError) as failed:
            self.execute(name, cancel, **environment)
        return failed.value

    def stop_when_there_is_output(self, cancel: Cancel) -> threading.Thread:
        def stop() -> None:
            eventually(lambda: (self.root / "out").exists() and self.out)
            cancel.set("enough")

        watcher = threading.Thread(target=stop)
        watcher.start()
        return watcher

    @property
    def out(self) -> str:
        return (self.root / "out").read_text("utf-8")

    @property
    def err(self) -> str:
        return (self.root / "err").read_text("utf-8")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "work").mkdir()
    return Desk(tmp_path)


@pytest.fixture
def package(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install a package with a backend `mine` that does what it is told."""

    def install(body: str, where: str = "mine_package:Mine") -> None:
        site = desk.root / "site"
        facts = site / "mine_package-1.0.dist-info"
        facts.mkdir(parents=True)
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: mine-package\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[gascity.backends]\nmine = {where}\n")
        lines = body.replace("\n", "\n            ")
        (site / "mine_package.py").write_text(PACKAGE.replace("{body}", lines))
        monkeypatch.syspath_prepend(str(site))

    return install


def test_a_class_of_another_package_does_the_work(desk: Desk, package: Callable[..., None]) -> None:
    package(
        "out.write(repr([context.run_id, context.project_id, context.task_id, context.prompt,"
        " context.working_dir, context.environment['MINE'], cancel.is_set()]))\n"
        "print('printed', flush=True)"
    )
    desk.execute("mine", MINE="1")

    assert desk.out == f"printed\n{['r1', 'p', 't', 'do ü', str(desk.root / 'work'), '1', False]!r}"
    assert desk.err == ""


@pytest.mark.parametrize(
    ("body", "said", "code"),
    [
        ("raise ValueError('boom\\nbang')", "agent panic: ValueError: boom bang", 1),
        ("sys.exit(3)", "agent panic: SystemExit: 3", 1),
        ("raise KeyboardInterrupt", "agent panic: KeyboardInterrupt: ", 1),
        ("raise BackendError('it is\\ntired', code=9)", "it is tired", 9),
        ("raise BackendError('it is fine', code=0)", "it is fine", 1),
        ("raise BackendError('it is fine', code=256)", "it is fine", 1),
        ("raise RuntimeError(context.environment['X_TOKEN'])", "agent panic: RuntimeError: sha", 1),
        ("raise RuntimeError(context.environment['BASE_URL'])", "agent panic: RuntimeError: ht", 1),
        ("os.kill(os.getpid(), 9)", "agent exited with code 137: ended by SIGKILL", 137),
        ("ctypes.string_at(0)", "agent exited with code 139: ended by SIGSEGV", 139),
    ],
)
def test_whatever_a_class_raises_is_one_runs_affair(
    desk: Desk, package: Callable[..., None], body: str, said: str, code: int
) -> None:
    package(body)
    url = "http://me:hidden-password@127.0.0.1:1/"
    problem = desk.failure("mine", X_TOKEN=TOKEN, BASE_URL=url)

    assert problem.message.startswith(said.rstrip())
    assert "\n" not in problem.message
    assert problem.code == code
    assert TOKEN not in problem.message + desk.err
    assert "hidden-password" not in problem.message + desk.err


def test_a_panic_leaves_its_trace_in_the_file(desk: Desk, package: Callable[..., None]) -> None:
    package("raise ValueError('boom')")
    desk.failure("mine")

    assert desk.err.startswith("Traceback (most recent call last):\n")
    assert desk.err.endswith("\nagent panic: ValueError: boom\n")


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("nowhere_package:Mine", "backend mine cannot be loaded: No module named"),
        ("mine_package:Nothing", "backend mine cannot be loaded: module 'mine_package' has no"),
    ],
)
def test_a_class_that_cannot_be_loaded(
    desk: Desk, package: Callable[..., None], where: str, said: str
) -> None:
    package("pass", where)

    assert desk.failure("mine").message.startswith(said)


def test_files_of_the_folder_it_works_in_are_no_part_of_python(
    desk: Desk, package: Callable[..., None]
) -> None:
    for name in ("json", "signal", "gascity"):
        (desk.root / "work" / f"{name}.py").write_text("raise SystemExit('taken')\n")
    package("out.write('done')")
    desk.execute("mine")

    assert desk.out == "done"


def test_a_class_that_hangs_is_interrupted(desk: Desk, package: Callable[..., None]) -> None:
    package(
        "try:\n"
        "    out.write('begun '); out.flush(); time.sleep(300)\n"
        "finally:\n"
        "    out.write(cancel.reason)"
    )
    cancel = Cancel()
    watcher = desk.stop_when_there_is_output(cancel)
    problem = desk.failure("mine", cancel)
    watcher.join()

    assert (problem.message, problem.code) == ("agent was stopped: enough", 143)
    assert desk.out == "begun SIGTERM"


def test_a_class_that_will_not_end_is_killed(desk: Desk, package: Callable[..., None]) -> None:
    package(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nout.write('begun'); out.flush()\n"
        "while True: time.sleep(1)"
    )
    cancel = Cancel()
    watcher = desk.stop_when_there_is_output(cancel)
    problem = desk.failure("mine", cancel)
    watcher.join()

    assert problem.code >= 128


# --- the two that come with gc


@pytest.mark.parametrize("name", ["perplexity", "xai"])
def test_a_model_is_asked(desk: Desk, serve: MakeServer, name: str) -> None:
    server = serve(said("wörld"))
    keys = {"XAI_API_KEY": TOKEN, "PERPLEXITY_API_KEY": TOKEN}
    desk.execute(name, None, BASE_URL=server.address, **keys)

    assert desk.out == "wörld"
    assert desk.err == ""
    assert server.got[0].body["messages"] == [{"role": "user", "content": "do ü"}]


def test_a_refusal_is_told_without_the_token(desk: Desk, serve: MakeServer) -> None:
    server = serve(Reply((b"no ", TOKEN.encode()), status=401))
    problem = desk.failure("xai", XAI_API_KEY=TOKEN, BASE_URL=server.address)

    assert problem.message.startswith("api call failed: xai api error: status 401: no sha256:")
    assert problem.code == 1
    assert TOKEN not in desk.err


def test_a_key_is_needed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XAI_API_KEY", raising=False)

    assert desk.failure("xai").message == "api key is empty"


def test_stopping_ends_that_run_alone_and_keeps_what_came(
    desk: Desk, serve: MakeServer, package: Callable[..., None]
) -> None:
    package("out.write('begun '); out.flush()\nwhile not os.path.exists('go'): time.sleep(0.01)")
    other = Desk(desk.root / "other")
    (other.root / "work").mkdir(parents=True)
    site = str(desk.root / "site")
    beside = threading.Thread(target=lambda: other.execute("mine", PYTHONPATH=site))
    beside.start()
    server = serve(Reply((delta("half"),), then="stall"))
    eventually(lambda: (other.root / "out").exists() and other.out)
    cancel = Cancel()
    watcher = desk.stop_when_there_is_output(cancel)
    problem = desk.failure("perplexity", cancel, PERPLEXITY_API_KEY=TOKEN, BASE_URL=server.address)
    watcher.join()
    assert beside.is_alive()
    (other.root / "work" / "go").touch()
    beside.join()

    assert problem.message == "agent was stopped: enough"
    assert desk.out == "half"
    assert desk.err == other.err == ""
