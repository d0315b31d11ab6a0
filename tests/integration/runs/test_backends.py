"""Backends that are commands, with stub programs in place of the tools."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from gascity.config.oneshots import built_in
from gascity.core.oneshot import Format, OneShot, PromptBy, RunCommand
from gascity.errors import BackendError, SpawnFailed
from gascity.runs.backends import find, types
from gascity.runs.context import Cancel, RunContext
from gascity.runs.streams import text_of
from gascity.testing.eventually import eventually

RECORDED = Path(__file__).parents[2] / "unit" / "runs" / "streams"
TOKEN = "sk-secret-1234"
DUMP = """\
#!{python}
import json, os, sys
with open("seen.json", "w") as file:
    stdin = sys.stdin.buffer.read().decode("latin-1")
    json.dump([sys.argv, stdin, dict(os.environ), os.getcwd()], file)
"""


@dataclass(frozen=True)
class Desk:
    """A run's folder, a folder to work in, and programs of our own in front of all others."""

    root: Path

    @property
    def context(self) -> RunContext:
        return RunContext(
            "r1",
            "p",
            "t",
            "do it",
            str(self.root / "work"),
            str(self.root / "agent-stdout.txt"),
            str(self.root / "agent-stderr.txt"),
            {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"},
        )

    def program(self, name: str, text: str) -> Path:
        path = self.root / "bin" / name
        path.write_text(text.replace("{python}", sys.executable))
        path.chmod(0o755)
        return path

    def execute(
        self,
        backend: str = "claude",
        known: Mapping[str, OneShot] | None = None,
        cancel: Cancel | None = None,
        **changes: object,
    ) -> None:
        context = replace(self.context, **changes)  # type: ignore[arg-type]  # real fields
        find(backend, known, grace=2.0).execute(context, cancel or Cancel())

    def failure(self, backend: str = "claude", **more: object) -> BackendError:
        with pytest.raises(BackendError) as failed:
            self.execute(backend, **more)  # type: ignore[arg-type]  # real arguments
        return failed.value

    def seen(self) -> tuple[list[str], bytes, dict[str, str], str]:
        argv, stdin, env, cwd = json.loads((self.root / "work" / "seen.json").read_text())
        return argv, stdin.encode("latin-1"), env, cwd

    @property
    def out(self) -> bytes:
        return (self.root / "agent-stdout.txt").read_bytes()

    @property
    def err(self) -> bytes:
        return (self.root / "agent-stderr.txt").read_bytes()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "work").mkdir()
    (tmp_path / "bin").mkdir()
    return Desk(tmp_path)


# --- which there are


def test_five_kinds_are_built_in() -> None:
    assert types() == ("claude", "codex", "gemini", "perplexity", "xai")
    assert [find(name).type for name in types()] == list(types())
    assert find("Claude").type == "claude"


def test_a_kind_nobody_knows() -> None:
    with pytest.raises(BackendError) as refused:
        find("foo")

    assert refused.value.message == "unknown agent type: foo"
    assert refused.value.code == 2


def test_a_backend_that_cannot_be_run_once_says_how_to_mend_it() -> None:
    with pytest.raises(BackendError) as refused:
        find("cursor")

    assert refused.value.message == 'backend "cursor" has no command for one-shot runs'
    assert "[providers.cursor.run]" in refused.value.hint


def test_the_backends_of_a_city_are_found(desk: Desk) -> None:
    own = OneShot("own", RunCommand(("mine", "a b"), ("-x",), PromptBy.ARG))
    desk.program("mine", DUMP)
    desk.execute("own", {**built_in(), "own": own}, prompt="-y \nü")
    argv, stdin, _, cwd = desk.seen()

    assert argv[1:] == ["a b", "-x", "-y \nü"]
    assert stdin == b""
    assert cwd == str(desk.root / "work")


@pytest.mark.parametrize("kind", ["claude", "perplexity"])
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("run_id", "run id is empty"),
        ("working_dir", "working directory is empty"),
        ("stdout_path", "stdout path is empty"),
        ("stderr_path", "stderr path is empty"),
    ],
)
def test_a_context_must_be_whole(desk: Desk, kind: str, field: str, said: str) -> None:
    assert desk.failure(kind, **{field: ""}).message == said
    with pytest.raises(BackendError, match=r"^run context is nil$"):
        find(kind).execute(None, Cancel())  # type: ignore[arg-type]  # what the check is for


# --- what the tools are given


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_a_tool_gets_its_arguments_and_the_prompt_exactly(desk: Desk, name: str) -> None:
    desk.program(name, DUMP)
    prompt = b"who?\r\n \xff\x00 --- \xc3\xbc\n"
    (desk.root / "prompt.md").write_bytes(prompt)
    environment = {**desk.context.environment, "JRUN_RUN_FOLDER": str(desk.root)}
    desk.execute(name, environment=environment)
    argv, stdin, _, _ = desk.seen()
    command = built_in()[name].run

    assert command is not None
    assert argv[1:] == list(command.args)
    assert stdin == prompt


def test_without_a_file_the_prompt_of_the_context_counts(desk: Desk) -> None:
    desk.program("claude", DUMP)
    desk.execute(prompt="ü\r\n")

    assert desk.seen()[1] == "ü\r\n".encode()
    assert sorted(path.name for path in desk.root.iterdir()) == [
        "agent-stderr.txt",
        "agent-stdout.txt",
        "bin",
        "work",
    ]


def test_a_prompt_can_be_left_out(desk: Desk) -> None:
    desk.program("claude", DUMP)
    run = RunCommand(("claude",), ("-x",), PromptBy.NONE)
    desk.execute(known={"claude": OneShot("claude", run)})

    assert desk.seen()[:2] == ([str(desk.root / "bin" / "claude"), "-x"], b"")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude", ["--model", "m1"]),
        ("codex", ["--model", "m1", "-c", "openai_base_url=http://gate/v1"]),
        ("gemini", ["--model", "m1"]),
    ],
)
def test_model_and_address_reach_the_tools(desk: Desk, name: str, words: list[str]) -> None:
    desk.program(name, DUMP)
    one = replace(built_in()[name], model="m1", base_url="http://gate/v1")
    desk.execute(name, {**built_in(), name: one})
    argv, _, env, _ = desk.seen()

    assert argv[-len(words) :] == words
    assert (env["MODEL"], env["BASE_URL"]) == ("m1", "http://gate/v1")
    assert env[one.base_url_env] == "http://gate/v1"


def test_the_environment_of_the_host_is_there_and_overrides_win(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_HOST", "1")
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.setenv("CLAUDECODE", "1")
    for one in built_in().values():
        for name in one.token_env:
            monkeypatch.setenv(name, f"host {name}")
    desk.program("claude", DUMP)
    desk.execute(environment={**desk.context.environment, "EDITOR": "vi"})
    env = desk.seen()[2]

    assert (env["FROM_HOST"], env["EDITOR"]) == ("1", "vi")
    mine = {*built_in()["claude"].token_env}
    assert {name for name, value in env.items() if value.startswith("host ")} == mine
    assert "CLAUDECODE" not in env


def test_an_environment_that_names_its_run_is_taken_as_it_is(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_HOST", "1")
    desk.program("claude", DUMP)
    desk.execute(environment={**desk.context.environment, "JRUN_ID": "r1", "GC_RUN_MARK": "m"})
    env = desk.seen()[2]

    assert "FROM_HOST" not in env
    assert (env["JRUN_ID"], env["GC_RUN_MARK"]) == ("r1", "m")


def test_a_token_is_in_its_variable_and_in_no_list_of_arguments(desk: Desk) -> None:
    key = desk.root / "key"
    key.write_text(f"{TOKEN}\n")
    desk.program(
        "claude",
        "#!{python}\nimport contextlib, glob, os\nlines = []\n"
        "for path in glob.glob('/proc/[0-9]*/cmdline'):\n"
        "    with contextlib.suppress(OSError):  # it has ended meanwhile\n"
        "        lines.append(open(path, 'rb').read())\n"
        f"print(any(b'{TOKEN}' in line for line in lines), os.environ['ANTHROPIC_API_KEY'][:3])\n",
    )
    one = replace(built_in()["claude"], token_file=str(key))
    desk.execute(known={**built_in(), "claude": one})

    assert desk.out == b"False sk-\n"


# --- what comes of it


def test_both_streams_are_in_their_files_byte_for_byte(desk: Desk) -> None:
    desk.program("claude", "#!/bin/sh\nprintf 'a\\377\\000b\\r\\n'; printf 'c\\376' >&2\n")
    desk.execute()

    assert desk.out == b"a\xff\x00b\r\n"
    assert desk.err == b"c\xfe"
    assert stat.S_IMODE((desk.root / "agent-stdout.txt").stat().st_mode) == 0o600


def test_the_terminal_gets_nothing(desk: Desk) -> None:
    quietly = "(echo to the terminal >/dev/tty) 2>/dev/null"
    desk.program("claude", f"#!/bin/sh\necho loud; echo louder >&2; {quietly}; exit 0\n")
    code = (
        "from gascity.runs.backends import find\n"
        "from gascity.runs.context import Cancel, RunContext\n"
        f"context = RunContext(**{asdict(desk.context)!r})\n"
        "find('claude').execute(context, Cancel())\n"
    )
    master, slave = pty.openpty()
    done = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    received = b""
    while True:
        try:
            received += os.read(master, 1024)
        except OSError:
            break
    os.close(master)

    assert done.wait() == 0, received
    assert received == b""
    assert desk.out == b"loud\n"


@pytest.mark.parametrize("form", [Format.CLAUDE, Format.CODEX, Format.GEMINI])
def test_an_answer_is_taken_out_of_what_a_tool_prints(desk: Desk, form: Format) -> None:
    desk.program(form, f"#!/bin/sh\ncat {RECORDED / form}.jsonl\n")
    desk.execute(form)

    assert "".join(text_of(form, desk.context.stdout_path) or ()) == "Hello wörld"


# --- what fails


def test_a_tool_that_is_not_there(desk: Desk) -> None:
    problem = desk.failure(environment={"PATH": str(desk.root / "bin")})

    assert isinstance(problem, SpawnFailed)
    assert problem.message == (
        'execute agent: start agent process: exec: "claude": executable file not found in $PATH'
    )
    assert problem.code == 127


def test_a_tool_that_cannot_be_run(desk: Desk) -> None:
    desk.program("claude", "#!/bin/sh\n").chmod(0o644)
    problem = desk.failure(environment={"PATH": str(desk.root / "bin")})

    assert problem.message.startswith('execute agent: start agent process: exec: "claude": ')
    assert problem.code == 126


def test_a_folder_that_is_not_there(desk: Desk) -> None:
    desk.program("claude", DUMP)
    problem = desk.failure(working_dir="/nowhere")

    assert problem.message.startswith("execute agent: start agent process: chdir /nowhere: ")


def test_an_output_that_cannot_be_written(desk: Desk) -> None:
    desk.program("claude", DUMP)
    problem = desk.failure(stdout_path="/nowhere/out")

    assert "/nowhere/out" in problem.message
    assert "no such file or directory" in problem.message.lower()


@pytest.mark.parametrize(
    ("script", "said", "code"),
    [
        ("echo one >&2; echo ' two \x07' >&2; echo >&2; exit 3", "two", 3),
        ("exit 7", "exit status 7", 7),
        ("kill -9 $$", "ended by SIGKILL", 137),
        ("kill -15 $$", "ended by SIGTERM", 143),
        (
            f"export X_API_KEY={TOKEN}; echo bad key $ANTHROPIC_API_KEY >&2; exit 1",
            "bad key sha256:",
            1,
        ),
    ],
)
def test_a_tool_that_fails(desk: Desk, script: str, said: str, code: int) -> None:
    desk.program("claude", f"#!/bin/sh\n{script}\n")
    environment = {**desk.context.environment, "ANTHROPIC_API_KEY": TOKEN}
    problem = desk.failure(environment=environment)

    assert problem.message.startswith(f"agent exited with code {code}: {said}")
    assert problem.code == code
    assert TOKEN not in problem.message


def test_the_last_words_are_those_without_colours(desk: Desk) -> None:
    desk.program(
        "claude", "#!/bin/sh\nprintf '\\033[31mtwo\\033[0m words\\n\\033[0m\\n' >&2; exit 3\n"
    )

    assert desk.failure().message == "agent exited with code 3: two words"


def test_a_token_in_two_colours_is_not_in_the_last_words(desk: Desk) -> None:
    half = len(TOKEN) // 2
    said = f"{TOKEN[:half]}\x1b[1m{TOKEN[half:]}\x1b[0m"
    desk.program("claude", f"#!/bin/sh\necho 'bad {said}' >&2; exit 3\n")
    environment = {**desk.context.environment, "ANTHROPIC_API_KEY": TOKEN}
    message = desk.failure(environment=environment).message

    assert message.startswith("agent exited with code 3: bad sha256:")
    assert TOKEN not in message


def test_the_last_words_are_few(desk: Desk) -> None:
    desk.program("claude", "#!{python}\nimport sys\nsys.exit('ü' * 100_000)\n")

    assert len(desk.failure().message) < 400


def test_a_cancelled_tool_is_ended_with_all_it_began(desk: Desk) -> None:
    desk.program("claude", "#!/bin/sh\nsleep 300 & echo $!; trap 'exit 0' TERM; wait\n")
    cancel = Cancel()

    def stop() -> None:
        eventually(lambda: (desk.root / "agent-stdout.txt").exists() and desk.out)
        cancel.set("enough")

    watcher = threading.Thread(target=stop)
    watcher.start()
    problem = desk.failure(cancel=cancel)
    watcher.join()

    assert problem.message == "agent was stopped: enough"
    assert problem.code == 143
    assert not Path(f"/proc/{int(desk.out)}").exists()


@pytest.mark.parametrize("before", [280, 290, 299])
@pytest.mark.parametrize("after", [0, 3980, 4085, 4090])
def test_no_half_of_a_token_is_in_the_last_words(desk: Desk, before: int, after: int) -> None:
    desk.program(
        "claude",
        "#!{python}\nimport os, sys\n"
        f"sys.exit('x' * {before} + os.environ['ANTHROPIC_API_KEY'] + 'y' * {after})\n",
    )
    environment = {**desk.context.environment, "ANTHROPIC_API_KEY": TOKEN}
    message = desk.failure(environment=environment).message

    assert not any(TOKEN[at : at + 4] in message for at in range(len(TOKEN) - 3))
