"""What an agent is started with: exactly what was asked, and nothing of whoever runs it."""

from __future__ import annotations

import ast
import os
import pty
import select
import stat
import sys
from pathlib import Path

import psutil
import pytest
from tests.integration.runs.desk import PYTHON, Desk, field

import gascity
from gascity.errors import SpawnFailed

RAW = bytes(range(1, 256))
TOLD = (
    "import os, sys; sys.stdout.buffer.write(repr((open('/proc/self/cmdline','rb').read(),"
    " open('/proc/self/environ','rb').read(), sys.stdin.buffer.read())).encode())"
)


def test_what_it_prints_is_in_the_files_byte_by_byte(desk: Desk) -> None:
    (desk.folder / "raw").write_bytes(RAW)

    assert desk.run("sh", "-c", "cat raw; cat raw raw >&2") == 0

    assert desk.out.read_bytes() == RAW
    assert desk.err.read_bytes() == RAW + RAW


def test_its_files_are_for_their_owner_alone(desk: Desk) -> None:
    before = os.umask(0)
    try:
        desk.run("true")
    finally:
        os.umask(before)

    assert stat.S_IMODE(desk.out.stat().st_mode) == 0o600
    assert stat.S_IMODE(desk.err.stat().st_mode) == 0o600


def test_nothing_is_seen_on_the_terminal_of_the_runner(desk: Desk) -> None:
    ours, its = pty.openpty()
    script = "echo out; echo err >&2; (echo tty >/dev/tty) 2>/dev/null; exit 3"
    done = f"print = lambda *_: open({str(desk.folder / 'code')!r}, 'w').write(str(_[0]))"
    with desk.runner("sh", "-c", script, before=done, terminal=its) as runner:
        os.close(its)
        runner.wait()

    assert desk.out.read_text() == "out\n"
    assert not select.select([ours], [], [], 0)[0] or _rest(ours) == b""
    os.close(ours)


def _rest(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1000)
    except OSError:
        return b""  # everyone has closed it


def test_arguments_variables_and_prompt_are_exact_whatever_bytes_they_hold(desk: Desk) -> None:
    raw = os.fsdecode(RAW)
    (desk.folder / "prompt").write_bytes(b"\0" + RAW * 1000)
    words = [*PYTHON, TOLD, raw, "", "-x", "two words"]
    env = {"B": raw, "A": "", "ä" + raw.replace("=", ""): "x=y", "GC_RUN_MARK": "forged"}

    assert desk.run(*words, stdin=str(desk.folder / "prompt"), env=env) == 0

    argv, environ, prompt = ast.literal_eval(desk.out.read_text())
    assert argv == b"".join(os.fsencode(word) + b"\0" for word in words)
    given = {**env, "GC_RUN_MARK": desk.mark}
    wanted = {os.fsencode(f"{name}={value}") for name, value in given.items()}
    assert set(environ.split(b"\0")[:-1]) == wanted
    assert prompt == b"\0" + RAW * 1000


def test_a_megabyte_of_variables_arrives(desk: Desk) -> None:
    env = desk.env({f"V{number}": "x" * 100_000 for number in range(10)})

    assert desk.run("sh", "-c", 'echo "${#V9}"', env=env) == 0

    assert desk.out.read_text() == "100000\n"


def test_without_a_prompt_it_reads_nothing(desk: Desk) -> None:
    assert desk.run("readlink", "/proc/self/fd/0") == 0

    assert desk.out.read_text() == "/dev/null\n"


def test_a_token_stands_in_no_argument_list_and_not_in_the_environment_of_the_guard(
    desk: Desk,
) -> None:
    agent = desk.guarded("sleep", "60")
    pid = agent.start().pid

    lists = [_bytes(f"/proc/{one}/cmdline") for one in psutil.pids()]
    guard = int(field(pid, "PPid"))
    environ = Path(f"/proc/{guard}/environ").read_bytes()
    agent.close()

    assert guard != os.getpid()
    assert not any(desk.token.encode() in one for one in lists)
    assert [entry.partition(b"=")[0] for entry in environ.split(b"\0") if entry] == [b"GC_RUN_MARK"]


def _bytes(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def test_it_leads_a_session_and_a_group_of_its_own_in_its_folder(desk: Desk) -> None:
    (desk.folder / "here").mkdir()

    desk.run(
        *PYTHON,
        "import os; print(os.getpid() == os.getsid(0) == os.getpgrp(), os.getcwd())",
        cwd=str(desk.folder / "here"),
    )

    assert desk.out.read_text() == f"True {desk.folder}/here\n"


def test_its_signals_are_as_at_the_start_of_the_world(desk: Desk) -> None:
    before = (
        "for one in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1):"
        " signal.signal(one, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"
    )
    with desk.runner("cat", "/proc/self/status", before=before) as runner:
        said, _ = runner.communicate()

    assert said == b"0\n"
    lines = (line.split(":\t") for line in desk.out.read_text().splitlines())
    signals = {
        name: int(mask, 16) for name, mask in lines if name in {"SigBlk", "SigIgn", "SigCgt"}
    }
    # The C library keeps 32 and 33 to itself, and ignores them in what `make` starts.
    assert {mask & ~(3 << 31) for mask in signals.values()} == {0}
    assert len(signals) == 3


@pytest.mark.parametrize(
    ("program", "said"), [("true", b"0\n"), ("false", b"1\n"), ("no-such-program", b"127 ")]
)
def test_its_end_is_seen_where_the_ends_of_children_are_ignored(
    desk: Desk, program: str, said: bytes
) -> None:
    before = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nos.environ['PATH'] = '/usr/bin:/bin'"
    with desk.runner(program, before=before) as runner:
        told, _ = runner.communicate()

    assert told.startswith(said)


@pytest.mark.parametrize(("own", "its"), [(0, "0022"), (0o022, "0022"), (0o077, "0077")])
def test_its_umask_is_the_usual_one_or_a_stricter_one_of_the_user(
    desk: Desk, own: int, its: str
) -> None:
    before = os.umask(own)
    try:
        desk.run("sh", "-c", "umask")
    finally:
        os.umask(before)

    assert desk.out.read_text() == f"{its}\n"


def test_it_has_no_descriptor_but_its_three(desk: Desk) -> None:
    leaky = "os.set_inheritable(os.open('/dev/null', 0), True)\nos.dup2(0, 77)"
    with desk.runner("sh", "-c", "ls /proc/$$/fd", before=leaky) as runner:
        runner.communicate()

    assert desk.out.read_text().split() == ["0", "1", "2"]


def test_a_runner_without_standard_files_is_as_good(desk: Desk) -> None:
    before = "for one in (0, 1, 2): os.close(one)"
    with desk.runner("sh", "-c", "ls /proc/$$/fd; echo e >&2", before=before) as runner:
        runner.communicate()

    assert desk.out.read_text().split() == ["0", "1", "2"]
    assert desk.err.read_text() == "e\n"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("exit 255", 255),
        ("kill -TERM $$", 143),
        ("kill -KILL $$", 137),
        ("kill -INT $$", 130),
        ("kill -SEGV $$", 139),
    ],
)
def test_its_exit_code_is_told_and_a_signal_as_a_shell_tells_it(
    desk: Desk, script: str, code: int
) -> None:
    assert desk.run("sh", "-c", f"ulimit -c 0; {script}") == code


def test_the_agent_is_named_beyond_doubt_even_if_it_has_ended(desk: Desk) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for _ in range(10):
        desk.out.unlink(missing_ok=True)
        agent = desk.guarded("sh", "-c", "echo $$")
        found = agent.start()
        agent.wait(20)
        agent.close()

        assert found.pid == int(desk.out.read_text())
        assert found.started.startswith(f"{boot}:")


class TestPrograms:
    """Which program is run, and what is said when there is none."""

    def test_it_is_looked_for_on_the_path_of_the_agent(self, desk: Desk) -> None:
        for name in ("plain", "good"):
            (desk.folder / name).mkdir()
        _program(desk.folder / "plain" / "claude", mode=0o644)
        _program(desk.folder / "good" / "claude", text="#!/bin/sh\necho mine $0 $1\n")
        path = f"{desk.folder}/none:{desk.folder}/plain:{desk.folder}/good"

        assert desk.run("claude", "x", env={"PATH": path}) == 0

        assert desk.out.read_text() == f"mine {desk.folder}/good/claude x\n"

    def test_a_path_is_taken_from_the_working_folder(self, desk: Desk) -> None:
        _program(desk.folder / "tool", text="#!/bin/sh\nexit 9\n")

        assert desk.run("./tool") == 9

    def test_one_that_is_not_there_is_said_in_the_agreed_words(self, desk: Desk) -> None:
        self._is_refused(desk, 127, 'exec: "claude": executable file not found in $PATH', "claude")

    def test_one_that_only_the_runner_could_find_is_not_there(self, desk: Desk) -> None:
        with pytest.raises(SpawnFailed) as problem:
            desk.run("sh", env={"PATH": str(desk.folder)})
        assert problem.value.code == 127
        with pytest.raises(SpawnFailed) as problem:
            desk.run("sh", env={})
        assert problem.value.code == 127

    def test_a_path_to_nothing(self, desk: Desk) -> None:
        self._is_refused(desk, 127, 'exec: "./x": no such file or directory', "./x")

    def test_one_that_is_not_executable(self, desk: Desk) -> None:
        _program(desk.folder / "x", mode=0o644)
        self._is_refused(desk, 126, 'exec: "./x": permission denied', "./x")

    def test_one_that_is_not_executable_on_the_path(self, desk: Desk) -> None:
        _program(desk.folder / "claude", mode=0o644)
        with pytest.raises(SpawnFailed) as problem:
            desk.run("claude", env={"PATH": str(desk.folder)})
        assert problem.value.code == 126
        assert problem.value.message.endswith('exec: "claude": permission denied')

    def test_one_without_a_first_line_that_says_what_it_is(self, desk: Desk) -> None:
        _program(desk.folder / "x", text="echo no\n")
        self._is_refused(desk, 126, 'exec: "./x": exec format error', "./x")

    def test_one_whose_interpreter_is_not_there(self, desk: Desk) -> None:
        _program(desk.folder / "x", text="#!/no/such/thing\n")
        said = 'exec: "./x": bad interpreter: no such file or directory'
        self._is_refused(desk, 126, said, "./x")

    def test_a_folder(self, desk: Desk) -> None:
        self._is_refused(desk, 126, 'exec: "/tmp": is a directory', "/tmp")

    def test_more_arguments_than_a_program_can_have(self, desk: Desk) -> None:
        said = 'exec: "true": argument list too long'
        self._is_refused(desk, 126, said, "true", "x" * 200_000)

    def test_a_working_folder_that_is_not_there(self, desk: Desk) -> None:
        said = f"chdir {desk.folder}/no: no such file or directory"
        self._is_refused(desk, 126, said, "true", cwd=f"{desk.folder}/no")

    def test_a_prompt_that_is_not_there(self, desk: Desk) -> None:
        said = f"open {desk.folder}/no: no such file or directory"
        self._is_refused(desk, 126, said, "true", stdin=f"{desk.folder}/no")

    def test_an_output_that_cannot_be_written(self, desk: Desk) -> None:
        desk.out = desk.folder / "no" / "out"
        self._is_refused(desk, 126, f"open {desk.out}: no such file or directory", "true")

    @pytest.mark.parametrize("words", [(), ("a\0b",), ("\ud800",)])
    def test_what_no_program_can_be_given(self, desk: Desk, words: tuple[str, ...]) -> None:
        with pytest.raises(SpawnFailed) as problem:
            desk.run(*words)
        assert problem.value.code == 126

    def _is_refused(
        self, desk: Desk, code: int, said: str, *argv: str, cwd: str = "", stdin: str = ""
    ) -> None:
        with pytest.raises(SpawnFailed) as problem:
            desk.run(*argv, cwd=cwd, stdin=stdin)

        assert problem.value.message == f"start agent process: {said}"
        assert problem.value.code == code


def _program(path: Path, *, text: str = "#!/bin/sh\n", mode: int = 0o755) -> None:
    path.write_text(text)
    path.chmod(mode)


def test_a_python_that_is_not_there_is_a_program_that_cannot_be_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    with pytest.raises(SpawnFailed) as problem:
        desk.run("true")

    assert problem.value.code == 126
    assert problem.value.message == "start agent process: guard: no such file or directory"


def test_a_signal_that_the_runner_gets_from_its_terminal_does_not_reach_the_agent(
    desk: Desk,
) -> None:
    agent = desk.guarded("sleep", "60")
    pid = agent.start().pid
    groups = {os.getpgid(int(field(pid, "PPid"))), os.getpgid(pid)}
    agent.close()

    assert os.getpgrp() not in groups
    assert len(groups) == 2


def test_the_guard_imports_next_to_nothing(desk: Desk) -> None:
    """Each of these costs more than the guard itself."""
    root = str(Path(gascity.__file__).parent.parent)
    code = (
        "import sys; sys.path.append(sys.argv[1]); import gascity.runs.guard; print(*sys.modules)"
    )
    desk.run(*PYTHON, code, root)

    loaded = set(desk.out.read_text().split())
    assert "gascity.runs.guard" in loaded
    assert loaded.isdisjoint(
        {"json", "signal", "enum", "typing", "subprocess", "collections", "re"}
    )
