"""Looking at attempts: the table, what agents said, what they changed, side by side."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from tests.cli.solve.screen import Screen
from tests.cli.solve.workshop import READY, Workshop

from gascity.screens.sequences import without_sequences
from gascity.testing.eventually import eventually

LIMIT = 60.0
FIX = f'echo fixed >main.py; echo new >new.py; git add .; git commit -qm "fix it"; {READY}'
TALK = f"""echo '{{"timestamp": "2024-01-01T12:00:00Z", "level": "info", "message": "Starting"}}'
echo '{{"level": "error", "message": "Failed to parse"}}'
echo '[WARN] careful'; echo '[1/3] compiling'; echo plain
printf 'broken \\377 byte\\n'; printf '\\033[31mred\\033[0m \\007\\n' >&2; {READY}"""


def test_the_table_has_state_commits_files_lines_and_time(shop: Workshop) -> None:
    shop.solve(shop.agent("good", FIX), shop.agent("bad", "echo why >&2; exit 1"))
    head, good, bad = shop.gc("solve", "status").stdout.decode().splitlines()

    assert " ".join(head.split()) == "ISSUE AGENT STATE COMMITS FILES LINES TIME WHY"
    assert re.fullmatch(
        r"bug +good +ready +2 +2 +\+2 -1 +\d+s +commit [0-9a-f]{10} says so", good
    ), good
    assert re.fullmatch(r"bug +bad +failed +0 +0 +- +\d+s +agent exited with code 1: why", bad), bad


def test_an_issue_that_is_named_has_its_title_above_the_table(shop: Workshop) -> None:
    shop.issue("bug", "# Fix the \x1b[2Jbug\n\nThere is one.")
    shop.solve(shop.agent("a", READY))
    named = shop.gc("solve", "status", "bug").stdout.decode().splitlines(keepends=True)

    assert named[0] == f"issue bug: {shop.status()['title']}\n"
    assert named[0].startswith("issue bug: Fix the ")
    assert named[0].strip().isprintable()
    assert "".join(named[1:]) == shop.gc("solve", "status").stdout.decode()


def test_a_near_miss_of_an_issue_or_an_agent_is_told_what_was_meant(shop: Workshop) -> None:
    shop.solve(shop.agent("good", READY))
    calls = [("status", "bgu"), ("logs", "bug", "goood"), ("clean", "bug", "--agent", "goood")]
    said = [shop.gc("solve", *words) for words in calls]

    assert [done.returncode for done in said] == [4, 4, 4]
    hints = [done.stderr.decode().splitlines()[-1] for done in said]
    assert hints == [f'hint: did you mean "{name}"?' for name in ("bug", "good", "good")]


def test_a_reason_in_colours_is_told_without_them(shop: Workshop) -> None:
    _, document = shop.solve(shop.agent("a", r"printf '\033[31mtext\033[0m\n' >&2; exit 1"))
    (run,) = shop.folders()

    assert document["agents"][0]["why"] == "agent exited with code 1: text"
    assert b"agent exited with code 1: text\n" in shop.gc("solve", "status").stdout
    assert "agent exited with code 1: text" in shop.gc("runs", "show", run.name).stdout.decode()


def test_what_can_be_done_is_said_once_for_all(shop: Workshop) -> None:
    late, wrong = shop.agent("late", "exit 124"), shop.agent("wrong", "echo why >&2; exit 1")
    good, mute = shop.agent("good", READY), shop.agent("mute", "exit 1")
    done = shop.gc(*shop.words(late, wrong, late, good, wrong, good, mute))
    told = [line for line in done.stderr.decode().splitlines() if line.startswith("hint: ")]

    assert told == [
        "hint: late, late-2: it took too long: --timeout gives it more; its work is kept",
        "hint: `gc solve logs bug AGENT` shows what they said",
        "hint: `gc solve compare bug`, then `gc solve pick bug AGENT`",
    ]


def test_the_only_one_that_is_meant_is_named(shop: Workshop) -> None:
    wrong, good = shop.agent("wrong", "echo why >&2; exit 1"), shop.agent("good", READY)
    done = shop.gc(*shop.words(wrong, good))
    told = [line for line in done.stderr.decode().splitlines() if line.startswith("hint: ")]

    assert told == [
        "hint: `gc solve logs bug wrong` shows what it said",
        "hint: `gc solve compare bug`, then `gc solve pick bug good`",
    ]


def test_the_last_attempt_is_shown_unless_all_are_wanted(shop: Workshop) -> None:
    for _ in range(2):
        shop.solve(shop.agent("a", "true"))
    last = shop.gc("solve", "status").stdout.decode()
    every = shop.gc("solve", "status", "--all").stdout.decode()
    first = shop.gc("solve", "status", "bug", "--attempt", "1").stdout.decode()

    assert (len(last.splitlines()), len(every.splitlines()), len(first.splitlines())) == (2, 3, 3)
    assert "bug (2)" in last
    assert "bug (2)" not in first


def test_what_agents_say_streams_with_its_level(shop: Workshop) -> None:
    done = shop.gc(*shop.words(shop.agent("a", TALK)))
    said = {line for line in done.stdout.decode().splitlines() if line.startswith("a  | ")}

    assert said == {
        "a  | Starting",
        "a  | ERROR Failed to parse",
        "a  | WARNING careful",
        "a  | [1/3] compiling",
        "a  | plain",
        "a  | broken \\xff byte",
        "a  | red \\x07",
    }
    assert set(shop.gc("solve", "logs", "bug").stdout.decode().splitlines()) == said
    (folder,) = shop.folders()
    assert b"broken \xff byte\n" in (folder / "agent-stdout.txt").read_bytes()


def test_what_agents_say_can_be_had_as_json(shop: Workshop) -> None:
    shop.solve(shop.agent("a", TALK))
    lines = [
        json.loads(line)
        for line in shop.gc("solve", "logs", "bug", "--json").stdout.split(b"\n")
        if line
    ]

    assert {(one["stream"], one["level"], one["message"]) for one in lines} == {
        ("stdout", "info", "Starting"),
        ("stdout", "error", "Failed to parse"),
        ("stdout", "warning", "careful"),
        ("stdout", "info", "[1/3] compiling"),
        ("stdout", "info", "plain"),
        ("stdout", "info", "broken \\xff byte"),
        ("stderr", "info", "\x1b[31mred\x1b[0m \x07"),
    }
    assert lines[0]["timestamp"] == "2024-01-01T12:00:00Z"
    assert {one["agent"] for one in lines} == {"a"}


def test_a_line_is_shown_when_it_is_said(shop: Workshop) -> None:
    """The agent waits until somebody has read what it said."""
    script = (
        f'echo "[INFO] hello"; while [ ! -e {shop.folder}/heard ]; do sleep 0.05; done; {READY}'
    )
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == b"a  | hello\n":
                (shop.folder / "heard").touch()
        process.communicate(timeout=LIMIT)

    assert process.returncode == 0


def test_a_huge_line_loses_nothing(shop: Workshop) -> None:
    shop.solve(shop.agent("a", f"head -c 5000000 /dev/zero | tr '\\0' x; echo; {READY}"))
    shown = shop.gc("solve", "logs", "bug").stdout

    assert shown.count(b"x") == 5_000_000
    (folder,) = shop.folders()
    assert (folder / "agent-stdout.txt").stat().st_size == 5_000_001


def test_logs_are_followed_to_the_end(shop: Workshop) -> None:
    script = f"echo first; while [ ! -e {shop.folder}/go ]; do sleep 0.05; done; echo last; {READY}"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        with shop.popen("solve", "logs", "bug", "a", "--follow") as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == b"a  | first\n"
            (shop.folder / "go").touch()
            assert follower.stdout.read() == b"a  | last\n"
            follower.communicate(timeout=LIMIT)
        process.communicate(timeout=LIMIT)

    assert (follower.returncode, process.returncode) == (0, 0)


def test_a_reader_who_leaves_does_not_end_the_work(shop: Workshop) -> None:
    script = f"for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done; {READY}"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=LIMIT) == 0

    assert shop.states() == {"a": "ready"}


def test_the_diff_is_that_of_git(shop: Workshop) -> None:
    shop.solve(shop.agent("a", f"{FIX}; echo loose >>main.py"))
    whole = shop.gc("solve", "diff", "bug", "a")
    stat = shop.gc("solve", "diff", "bug", "a", "--stat")
    loose = shop.gc("solve", "diff", "bug", "a", "--uncommitted")

    assert whole.returncode == 0
    assert b"-print" in whole.stdout
    assert b"+fixed" in whole.stdout
    assert b"+loose" not in whole.stdout
    assert b"hint: 1 file is not committed; --uncommitted shows" in whole.stderr
    assert b"2 files changed" in stat.stdout
    assert b"+loose" in loose.stdout


@pytest.mark.parametrize(("wish", "is_coloured"), [("", True), ("1", False)])
def test_the_diff_has_the_colours_that_are_wanted(
    shop: Workshop, wish: str, is_coloured: bool
) -> None:
    shop.solve(shop.agent("a", FIX))
    env = {"NO_COLOR": wish, "GIT_PAGER": "cat"}
    with Screen(shop, 80, 24, "solve", "diff", "bug", "a", env=env) as terminal:
        code, written = terminal.ends()

    assert code == 0
    assert "+fixed" in without_sequences(written)
    assert ("\x1b[" in written) is is_coloured


def test_agents_stand_side_by_side_with_a_check(shop: Workshop) -> None:
    shop.solve(shop.agent("good", FIX), shop.agent("bad", READY))
    done = shop.gc("solve", "compare", "bug", "--check", "grep -q fixed main.py")
    text = done.stdout.decode()

    assert done.returncode == 0
    assert re.search(r"^check +passed +failed \(1\)$", text, re.MULTILINE)
    assert re.search(r"^main.py +\+1 -1 +-$", text, re.MULTILINE)
    assert re.search(r"^lines +\+2 -1 +-$", text, re.MULTILINE)
    assert re.search(r"^  [0-9a-f]{7} fix it$", text, re.MULTILINE)
    assert b"`gc runs logs " in done.stderr


@pytest.mark.parametrize(
    ("check", "limit", "code", "why"),
    [
        ("exit 2", "60s", 1, "failed (2)"),
        ("sleep 1000", "1s", 1, "took too long"),
        ("test -d .git || test -f .git", "60s", 0, "passed"),
    ],
)
def test_a_check_has_a_limit_and_an_exit_code(
    shop: Workshop, check: str, limit: str, code: int, why: str
) -> None:
    shop.solve(shop.agent("a", READY), shop.agent("b", READY))
    done = shop.gc("solve", "compare", "bug", "--check", check, "--timeout", limit, "--json")
    document = json.loads(done.stdout)

    assert done.returncode == code
    assert [one["check"]["why"] for one in document["agents"]] == [why, why]
    assert shop.living() == []


def test_a_table_is_watched_until_all_is_over(shop: Workshop) -> None:
    script = f"while [ ! -e {shop.folder}/go ]; do sleep 0.05; done; {READY}"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually(lambda: shop.states() == {"a": "running"}, within=LIMIT)
        with shop.popen("solve", "status", "--watch", "--json") as watcher:
            assert watcher.stdout is not None
            first = json.loads(watcher.stdout.readline())
            (shop.folder / "go").touch()
            rest = [json.loads(line) for line in watcher.stdout]
            watcher.communicate(timeout=LIMIT)
        process.communicate(timeout=LIMIT)

    assert first["solves"][0]["agents"][0]["state"] == "running"
    assert rest[-1]["solves"][0]["agents"][0]["state"] == "ready"
    assert (rest[-1]["solves"][0]["running"], watcher.returncode) == (False, 0)


def test_a_run_of_an_issue_is_a_run_like_others(shop: Workshop) -> None:
    shop.solve(shop.agent("a", f"echo said; {READY}"))
    (folder,) = shop.folders()
    shown = shop.show(folder.name)

    assert (shown["kind"], shown["status"], shown["exit_code"]) == ("solve", "completed", 0)
    assert shown["work_dir"].endswith("/bug/a-1")
    assert shop.messages() == ["RUN_START", "RUN_STOP"]
    assert (folder / "issue.md").read_text() == "Fix the bug in main.py"
    assert subprocess.run(["ls", folder], capture_output=True, check=True).stdout.split() == [
        b"agent-stderr.txt", b"agent-stdout.txt", b"issue.md", b"output.md", b"prompt.md",
        b"run-info.yaml",
    ]  # fmt: skip


def test_a_full_disk_where_it_is_shown_does_not_end_the_work(shop: Workshop) -> None:
    with open("/dev/full", "wb") as full:
        process = shop.popen(*shop.words(shop.agent("a", f"echo x; {READY}")), out=full.fileno())
        _, err = process.communicate(timeout=LIMIT)

    assert process.returncode == 0
    assert b"warning: nothing is shown any more: No space left on device" in err
    assert shop.states() == {"a": "ready"}
