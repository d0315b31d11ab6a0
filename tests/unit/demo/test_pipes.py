"""The demo agent on pipes, as a provider without a terminal runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CURSOR = "❯"  # noqa: RUF001  the mark real agents use
Start = Callable[..., "subprocess.Popen[bytes]"]


def talk(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gascity.demo", "--work-seconds", "0", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[bytes]] = []

    def open_one(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "gascity.demo", "--trust", *arguments]
        started.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        )
        return started[-1]

    yield open_one
    for process in started:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[bytes], end: str) -> str:
    assert process.stdout is not None
    seen = b""
    while not seen.endswith(end.encode()):
        data = process.stdout.read(1)
        assert data, f"ended after {seen!r}"
        seen += data
    return seen.decode()


@pytest.mark.parametrize("answer", ["", "1", " 1 "])
def test_a_line_answers_the_trust_dialog(answer: str) -> None:
    done = talk(f"{answer}\nhello\n")

    assert done.returncode == 0
    assert f"{CURSOR} 1. Yes, I trust this folder\n  2. No, exit\n" in done.stdout
    assert 'You said: "hello"' in done.stdout


def test_the_second_option_leaves() -> None:
    done = talk("2\nhello\n")

    assert done.returncode == 1
    assert "You said" not in done.stdout


def test_an_empty_line_takes_the_default_even_when_it_is_no() -> None:
    done = talk("\nhello\n", "--dialog-default", "no")

    assert done.returncode == 1
    assert f"  1. Yes, I trust this folder\n{CURSOR} 2. No, exit\n" in done.stdout


def test_a_wrong_answer_is_asked_for_again() -> None:
    done = talk("maybe\n1\nhello\n")

    assert "Answer 1 or 2." in done.stdout
    assert 'You said: "hello"' in done.stdout


@pytest.mark.parametrize("text", ["", "1\n"], ids=["at the dialog", "at the prompt"])
def test_the_end_of_input_is_a_good_end(text: str) -> None:
    assert talk(text).returncode == 0


def test_a_last_line_without_an_end_is_still_a_message() -> None:
    assert 'You said: "unfinished"' in talk("unfinished", "--trust").stdout


@pytest.mark.parametrize(("line", "status"), [("/crash", 1), ("/crash 42", 42), ("/exit", 0)])
def test_commands_end_with_their_status(line: str, status: int) -> None:
    done = talk(f"{line}\nhello\n", "--trust")

    assert done.returncode == status
    assert "You said" not in done.stdout
    assert ("DemoCrash" in done.stderr) == (status != 0)


def test_kill_ends_by_signal() -> None:
    assert talk("/kill\n", "--trust").returncode == -signal.SIGKILL


def test_help_names_every_command() -> None:
    shown = talk("/help\n", "--trust").stdout

    assert all(command in shown for command in ("/help", "/crash", "/kill", "/exit"))


def test_the_prompt_given_as_an_argument_is_answered_first() -> None:
    shown = talk("second\n", "--no-dialog", "the first").stdout

    assert shown.index('You said: "the first"') < shown.index('You said: "second"')


def test_at_its_limit_it_answers_nothing_else() -> None:
    shown = talk("hello\n", "--trust", "--limit", "2:02am (UTC)").stdout

    assert shown.count("You've hit your usage limit · resets 2:02am (UTC)") == 2
    assert "You said" not in shown


def test_the_prompt_comes_without_a_line_end(start: Start) -> None:
    assert read_until(start(), "> ").endswith("\n> ")


def test_an_interrupt_ends_the_work_and_two_at_the_prompt_end_the_agent(start: Start) -> None:
    agent = start("--work-seconds", "60")
    assert agent.stdin is not None
    read_until(agent, "\n> ")
    agent.stdin.write(b"a long task\n")
    read_until(agent, "(esc to interrupt)\n")

    agent.send_signal(signal.SIGINT)
    read_until(agent, "Interrupted · What should I do instead?\n\n> ")
    agent.send_signal(signal.SIGINT)
    read_until(agent, "again to exit\n> ")
    agent.send_signal(signal.SIGINT)

    assert agent.wait(20) == 130


def test_a_closed_output_is_no_traceback() -> None:
    agent = subprocess.Popen(
        [sys.executable, "-m", "gascity.demo", "--trust", "--work-seconds", "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert agent.stdout is not None
    agent.stdout.close()

    _, complaints = agent.communicate(b"hello\n" * 10, timeout=30)

    assert complaints == b""
    assert agent.returncode == 1


def test_a_drain_that_nobody_asked_for_is_answered_by_gc(tmp_path: Path) -> None:
    folder = os.path.dirname(sys.executable)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "GC_AGENT": "nobody"}
    done = subprocess.run(
        [sys.executable, "-m", "gascity.demo", "--trust"],
        input="/drain\nhello\n",
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert "error: there is no city.toml in" in done.stdout
    assert 'You said: "hello"' in done.stdout


def test_a_drain_without_gc_is_said() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gascity.demo", "--trust"],
        input="/drain\n",
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )

    assert "gascity cannot be run: No such file or directory" in done.stdout
