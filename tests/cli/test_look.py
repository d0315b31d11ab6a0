"""Looking: status, plan, peek; on a terminal, in a pipe, with and without a controller."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys

import pytest
from tests.cli.conftest import GC, HEAD, LIMIT, City, MakeCity

from gascity.testing.eventually import eventually

KEYS = (
    "name session provider state reason pid run since restarts failures requests fingerprint"
    " drift attached next_at muted_until terminal state_since next"
)
LONG_WAY = "import sys; from gascity.cli.commands import app; sys.exit(app(standalone_mode=False))"


def on_a_terminal(city: City, *words: str, **env: str) -> str:
    """Run `gc` on a pseudo terminal; return all it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [GC, *words],
        cwd=city.folder,
        env=city.environment(**{"TERM": "xterm", "COLUMNS": "120", **env}),
        stdin=slave,
        stdout=slave,
        stderr=slave,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # how Linux says that nobody has it open any more
            break
        if not data:
            break
        shown += data
    os.close(master)
    assert process.wait(timeout=LIMIT) == 0
    return shown.decode()


def the_long_way(city: City, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LONG_WAY, *words],
        cwd=city.folder,
        env=city.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_the_status_document_has_the_promised_keys(quiet: City) -> None:
    document = quiet.status()

    assert list(document) == ["city", "controller", "agents", "foreign", "alerts"]
    assert document["city"] == "town"
    assert set(document["controller"]) == {"running", "pid", "config_problem", "journal_problem"}
    assert document["controller"]["running"] is True
    assert [agent["name"] for agent in document["agents"]] == ["a", "b", "c", "rigs/talker"]
    for agent in document["agents"]:
        assert list(agent) == KEYS.split()


def test_the_status_without_a_controller_has_the_same_keys(city: City) -> None:
    document = city.status()

    assert list(document) == ["city", "controller", "agents", "foreign", "alerts"]
    problems = {"config_problem": None, "journal_problem": None}
    assert document["controller"] == {"running": False, "pid": None, **problems}
    for agent in document["agents"]:
        assert list(agent) == KEYS.split()
        assert (agent["state"], agent["reason"]) == ("stopped", "no controller runs")


def test_the_status_table_tells_the_same_as_the_document(quiet: City) -> None:
    lines = quiet.ok("status").splitlines()
    pids = quiet.pids()

    assert lines[0] == f"town: 4 agents: 4 ready; controller {quiet.controller()}"
    assert " ".join(lines[1].split()) == "AGENT STATE PID SINCE RESTARTS PROVIDER REASON NEXT"
    assert [line.split()[:3] for line in lines[2:]] == [
        [name, "ready", str(pid)] for name, pid in pids.items()
    ]


@pytest.mark.parametrize("words", [["status", "--json"], ["status"]])
def test_the_quick_way_looks_alone_as_the_long_way(city: City, words: list[str]) -> None:
    quick, long_way = city.gc(*words), the_long_way(city, *words)

    assert quick.stdout == long_way.stdout
    assert (quick.returncode, quick.stderr) == (long_way.returncode, long_way.stderr) == (0, "")


def test_the_quick_way_answers_as_the_long_way(quiet: City) -> None:
    for words in (["status", "--json"], ["status"]):
        long_way = the_long_way(quiet, *words)

        def same(words: list[str] = words) -> bool:
            return the_long_way(quiet, *words).stdout == quiet.gc(*words).stdout

        assert long_way.returncode == 0, long_way.stderr
        assert not long_way.stderr
        eventually(same, within=LIMIT)  # `SINCE` may turn over between the two


def test_the_quick_way_stops_as_the_long_way(make_city: MakeCity) -> None:
    text = HEAD + '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\n'
    quick, long_way = make_city(text, folder="quick"), make_city(text, folder="long")
    quick.start()
    long_way.start()
    stopped = quick.gc("stop"), the_long_way(long_way, "stop")

    assert [done.returncode for done in stopped] == [0, 0]
    assert [done.stdout for done in stopped] == ["stopped 1 agent and the controller\n"] * 2
    eventually(
        lambda: not quick.living() and not long_way.living()
    )  # the keeper goes when nobody asks it any more


def test_a_terminal_gets_colours_unless_the_user_wants_none(quiet: City) -> None:
    shown = on_a_terminal(quiet, "status")
    plain = on_a_terminal(quiet, "status", NO_COLOR="1")

    assert "\x1b[32m" in shown
    assert "talker" in shown
    assert "\x1b[3" not in plain
    assert "talker" in plain


def test_a_terminal_gets_signs_where_its_locale_has_them(quiet: City) -> None:
    shown = on_a_terminal(quiet, "status", LANG="C.UTF-8", LC_ALL="C.UTF-8")
    plain = on_a_terminal(quiet, "status", LANG="C", LC_ALL="")

    assert "○ ready" in shown
    assert "o ready" in plain
    assert plain.isascii()


def test_a_table_on_a_terminal_needs_no_library(quiet: City) -> None:
    """Loading rich, or the command line, takes longer than all the rest."""
    loaded = on_a_terminal(quiet, "status", PYTHONPROFILEIMPORTTIME="1")

    assert "talker" in loaded
    assert "gascity.cli.board" in loaded
    assert not re.search(r"\| +(rich|typer)\b", loaded)


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["plan"],
        pytest.param(["doctor"], marks=pytest.mark.git),
        ["peek", "a"],
        ["--help"],
    ],
)
def test_a_pipe_gets_no_escape_codes(quiet: City, words: list[str]) -> None:
    done = quiet.gc(*words, env={"TERM": "xterm-256color"})

    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["plan", "--json"], ["config", "show"], ["--help"]]
)
def test_a_reader_that_leaves_early_is_no_error_to_see(quiet: City, words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [GC, *words],
        cwd=quiet.folder,
        env=quiet.environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    os.close(writing)

    assert not done.stderr


def test_a_city_in_order_has_an_empty_plan(quiet: City) -> None:
    document = json.loads(quiet.ok("plan", "--json"))

    assert (document["actions"], document["waiting"]) == ([], [])
    assert document["agents"] == json.loads(quiet.ok("status", "--json"))["agents"]
    assert quiet.ok("plan") == "nothing to do: everything is as it should be\n"


def test_a_plan_tells_what_would_be_done_and_does_nothing(city: City) -> None:
    table = city.ok("plan").splitlines()
    dry_run = city.ok("start", "--dry-run").splitlines()
    steps = json.loads(city.ok("plan", "--json"))["actions"]

    assert table == dry_run
    assert [line.split() for line in table[1:]] == [
        ["start", name, "wanted", "by", "the", "city", "now"] for name in "abc"
    ]
    assert steps[0] == {
        "action": "start",
        "agent": "a",
        "session": "gc-town-a",
        "why": "wanted by the city",
        "when": "now",
    }
    eventually(lambda: not city.living())  # the keeper goes when nobody asks it any more
    assert not (city.state / "controller.sock").exists()


def test_peek_shows_as_many_lines_as_asked(make_city: MakeCity) -> None:
    city = make_city(HEAD + '[[agents]]\nname = "a"\nstart_command = "seq 60; sleep 1000"\n')
    city.start()
    eventually(lambda: city.ok("peek", "a", "-n", "1") == "60\n")

    assert city.ok("peek", "a", "-n", "2") == "59\n60\n"
    assert city.ok("peek", "a").splitlines() == [str(number) for number in range(11, 61)]
    assert len(city.ok("peek", "a", "--lines", "0").splitlines()) == 60


def test_peek_follows_what_comes_and_ends_with_ctrl_c(make_city: MakeCity) -> None:
    read = "seq 9; while read word; do echo got $word; done"
    city = make_city(HEAD + f'[[agents]]\nname = "a"\nstart_command = "{read}"\n')
    city.start()
    eventually(lambda: city.ok("peek", "a", "-n", "1") == "9\n")
    process = city.popen("peek", "a", "-n", "2", "--follow")
    assert process.stdout is not None
    seen = [process.stdout.readline(), process.stdout.read(1)]
    for word in ("one", "two"):
        city.ok("nudge", "a", word)
    seen += [process.stdout.readline() for _ in range(2)] + [process.stdout.read(7)]
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=LIMIT)

    assert seen == ["8\n", "9", "\n", "got one\n", "got two"]
    assert "Traceback" not in rest
    assert process.returncode == 130


def test_peek_at_what_does_not_run_says_so(city: City) -> None:
    done = city.gc("peek", "a")

    assert done.returncode == 5
    assert done.stderr == "error: a is not running\nhint: `gc status` tells why\n"
