"""What an agent is given, and what is made of what it does: the protocol, by the real `gc`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.testing.eventually import eventually

EXAMPLE = Path(__file__).parent / "example-agent.txt"
LIMIT = 60.0
MARKER = "cocode ready for check"
STAMP = 'echo "$$" >>stamp.txt'


def test_an_agent_is_told_the_five_variables(shop: Workshop) -> None:
    text = "Überall ☃ — “quotes”\n\ttabs and \U0001f600, no line end"
    shop.issue("unicode", text)
    dump = f'cd . && env -0 >"{shop.folder}/env"; pwd >"{shop.folder}/cwd"\n'
    dump += f'cp "$COCODE_ISSUE_BODY_FILE" "{shop.folder}/body"; {READY}'
    code, _ = shop.solve(
        shop.agent("a", dump),
        issue="unicode",
        options=("--number", "12", "--url", "https://example.com/12"),
    )
    told = dict(one.split("=", 1) for one in (shop.folder / "env").read_text().split("\0") if one)

    assert code == 0
    cwd = (shop.folder / "cwd").read_text().strip()
    assert {key: value for key, value in told.items() if key.startswith("COCODE_")} == {
        "COCODE_REPO_PATH": cwd,
        "COCODE_ISSUE_NUMBER": "12",
        "COCODE_ISSUE_URL": "https://example.com/12",
        "COCODE_ISSUE_BODY_FILE": told["COCODE_ISSUE_BODY_FILE"],
        "COCODE_READY_MARKER": MARKER,
    }
    assert (shop.folder / "body").read_bytes() == text.encode()
    assert os.path.isabs(told["COCODE_ISSUE_BODY_FILE"])
    assert os.path.commonpath([cwd, shop.work]) != str(shop.work)


def test_what_others_say_is_not_what_an_agent_is_told(shop: Workshop) -> None:
    dump = f'echo "$COCODE_ISSUE_NUMBER $COCODE_READY_MARKER" >"{shop.folder}/told"; {READY}'
    forged = {"COCODE_ISSUE_NUMBER": "666", "COCODE_READY_MARKER": "forged"}
    shop.solve(shop.agent("a", dump), env=forged)

    assert (shop.folder / "told").read_text() == f"0 {MARKER}\n"


def test_a_worktree_is_a_clean_checkout_of_the_default_branch(shop: Workshop) -> None:
    newer = _somebody_pushes(shop, "theirs.txt")
    (shop.work / "main.py").write_text("what I am at\n")
    (shop.work / "draft.txt").write_text("mine\n")
    shop.git("checkout", "-q", "-b", "feature")
    look = f'git status --porcelain >"{shop.folder}/status"\n'
    look += f'git rev-parse HEAD >"{shop.folder}/head"; {READY}'
    code, document = shop.solve(shop.agent("a", look))

    assert code == 0
    assert (shop.folder / "status").read_text() == ""
    assert (shop.folder / "head").read_text().strip() == newer == document["base"]["commit"]
    assert document["base"]["name"] == "origin/main"
    assert shop.git("status", "--porcelain").split() == ["M", "main.py", "??", "draft.txt"]


def test_a_remote_that_does_not_answer_is_no_reason_to_stop(shop: Workshop) -> None:
    shop.git("remote", "set-url", "origin", str(shop.folder / "nowhere.git"))
    done = shop.gc(*shop.words(shop.agent("a", READY)))

    assert done.returncode == 0
    assert b"warning: origin/main is used as it was last fetched: " in done.stderr


def test_parallel_agents_do_not_disturb_each_other(shop: Workshop) -> None:
    before = shop.seen()
    step = 'echo "$0 $i" >same.txt; git add .; git commit -qm "step $i"'
    script = f"for i in 1 2 3 4 5; do {step}; done"
    agents = [shop.agent(name, f"{script}; {READY}") for name in ("a", "b", "c")]
    code, document = shop.solve(*agents)

    assert code == 0
    assert [one["state"] for one in document["agents"]] == ["ready"] * 3
    for one, called in zip(document["agents"], agents, strict=True):
        assert shop.git("show", f"{one['branch']}:same.txt") == f"{called} 5"
        assert one["progress"]["commits"] == 6
    assert shop.seen() == before
    assert not (shop.work / "same.txt").exists()


def test_the_worktree_of_one_issue_survives_another_and_a_second_attempt(shop: Workshop) -> None:
    half = shop.agent("half", "echo precious >half.txt; exit 1")
    _, first = shop.solve(half)
    shop.issue("other", "Another one")
    _, second = shop.solve(half, issue="other")
    _, third = shop.solve(half)

    trees = [Path(one["agents"][0]["worktree"]) for one in (first, second, third)]
    assert len(set(trees)) == 3
    assert [(tree / "half.txt").read_text() for tree in trees] == ["precious\n"] * 3
    assert [one["attempt"] for one in (first, second, third)] == [1, 1, 2]


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (f'git commit -q --allow-empty -m "{MARKER}"', "ready"),
        (f'git commit -q --allow-empty -m "Fix issue" -m "{MARKER}"', "ready"),
        (f'git commit -q --allow-empty -m "feat: add feature - {MARKER}"', "ready"),
        (f"{READY}; git commit -q --allow-empty -m afterwards", "ready"),
        (f'echo "// {MARKER}" >file.js; git add .; git commit -qm "Add comment"', "failed"),
        (f'echo "{MARKER}" >README.md; git add .; git commit -qm "Update README"', "failed"),
        (f'git notes add -m "{MARKER}"; git commit -q --allow-empty -m other', "failed"),
        (f'git tag -a -m "{MARKER}" t; git commit -q --allow-empty -m other', "failed"),
        ("true", "failed"),
        ("git checkout -q -b mine; " + READY, "ready"),
        ("git checkout -q --detach; " + READY, "ready"),
    ],
)
def test_ready_is_said_in_the_message_of_a_commit(shop: Workshop, script: str, state: str) -> None:
    code, document = shop.solve(shop.agent("a", script))
    (one,) = document["agents"]

    assert one["state"] == state, one
    assert code == (0 if state == "ready" else 1)


def test_an_old_marker_makes_nobody_ready(shop: Workshop) -> None:
    shop.commit(f"an issue of last week\n\n{MARKER}")
    shop.git("push", "-q", "origin", "main")
    _, nothing = shop.solve(shop.agent("a", "true"))
    _, other = shop.solve(shop.agent("b", "git commit -q --allow-empty -m other"))
    code, done = shop.solve(shop.agent("c", READY))

    assert nothing["agents"][0]["state"] == other["agents"][0]["state"] == "failed"
    assert (code, done["agents"][0]["state"]) == (0, "ready")


@pytest.mark.parametrize("how", ["merge -q --no-edit", "rebase -q"])
def test_a_marker_that_was_taken_in_from_others_makes_nobody_ready(
    shop: Workshop, how: str
) -> None:
    """The work of another agent is merged while this one is still at work."""
    script = f"git commit -q --allow-empty -m mine; {_pause(shop)}"
    script += f"; git fetch -q; git {how} origin/main"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually((shop.folder / "begun").exists, within=LIMIT)
        _somebody_pushes(shop, "theirs.txt", MARKER)
        (shop.folder / "go").touch()
        process.communicate(timeout=LIMIT)
    (one,) = shop.status()["agents"]

    assert one["state"] == "failed"
    assert one["why"] == "it ended well, and none of its commits has the marker"
    assert (one["progress"]["files"], process.returncode) == (0, 1)


def test_a_pull_alone_is_no_work(shop: Workshop) -> None:
    script = f"{_pause(shop)}; git pull -q --ff-only origin main"
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        eventually((shop.folder / "begun").exists, within=LIMIT)
        _somebody_pushes(shop, "theirs.txt", MARKER)
        (shop.folder / "go").touch()
        process.communicate(timeout=LIMIT)

    assert shop.status()["agents"][0]["why"] == "it ended well, and committed nothing"


def test_an_agent_goes_through_its_states(shop: Workshop) -> None:
    """Each step waits until the one before it was seen from outside."""
    step = f"while [ ! -e {shop.folder}/step-$1 ]; do sleep 0.05; done"
    wait = shop.agent("wait", step)
    script = f'"{wait}" 1; git commit -q --allow-empty -m one; "{wait}" 2; {READY}; "{wait}" 3'
    shop.hook("post-checkout", f"{wait} 0")
    seen = []
    with shop.popen(*shop.words(shop.agent("a", script))) as process:
        for number, state in enumerate(["starting", "running", "working", "ready"]):
            eventually(lambda wanted=state: _is(shop, wanted), within=LIMIT)  # type: ignore[misc]  # bound now
            seen.append(state)
            (shop.folder / f"step-{number}").touch()
        process.communicate(timeout=LIMIT)
    (one,) = shop.status()["agents"]

    assert seen == ["starting", "running", "working", "ready"]
    assert (one["state"], one["over"], process.returncode) == ("ready", True, 0)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (1, ""),
        (2, "it says that it was called wrongly: look at its command and settings"),
        (3, "it says that something is not installed: `gc doctor` tells what is here"),
        (124, "it took too long: --timeout gives it more; its work is kept"),
        (130, ""),  # nothing is left to clean up
        (42, ""),
    ],
)
def test_each_exit_code_has_its_state_and_advice(shop: Workshop, code: int, hint: str) -> None:
    done = shop.gc(*shop.words(shop.agent("a", f"echo the reason >&2; exit {code}")))
    (one,) = shop.status()["agents"]

    assert done.returncode == code
    assert (one["state"], one["exit_code"]) == ("failed", code)
    assert one["why"] == f"agent exited with code {code}: the reason"
    assert one["hint"] == hint
    assert (f"hint: a: {hint}\n".encode() in done.stderr) is bool(hint)
    assert one["worktree_exists"] is (code != 130)


def test_what_an_agent_says_with_its_exit_code_outranks_its_marker(shop: Workshop) -> None:
    code, document = shop.solve(shop.agent("a", f"{READY}; exit 1"))

    assert (code, document["agents"][0]["state"]) == (1, "failed")
    assert ", after commit " in document["agents"][0]["why"]


def test_one_that_is_ready_is_enough(shop: Workshop) -> None:
    code, _ = shop.solve(shop.agent("good", READY), shop.agent("bad", "exit 2"))

    assert code == 0


def test_a_limit_ends_the_whole_tree_and_keeps_the_work(shop: Workshop) -> None:
    script = f"""echo partial >partial.txt; git add .; git commit -qm "a part"; echo half >half.txt
trap '' TERM; sleep 1000 & (setsid sleep 1000 &) ; touch {shop.folder}/on; sleep 1000; sleep 1000"""
    code, document = shop.solve(shop.agent("a", script), options=("--timeout", "10s"))
    (one,) = document["agents"]
    tree = Path(one["worktree"])

    assert (code, one["state"], one["exit_code"]) == (124, "failed", 124)
    assert one["why"] == "timed out after 10s"
    assert (shop.folder / "on").exists()
    assert shop.living() == []
    assert (tree / "half.txt").read_text() == "half\n"
    assert shop.git("show", f"{one['branch']}:partial.txt") == "partial"


def test_a_limit_takes_nothing_from_who_is_ready(shop: Workshop) -> None:
    code, document = shop.solve(
        shop.agent("a", f"{READY}; exec sleep 1000"), options=("--timeout", "10s")
    )
    (one,) = document["agents"]

    assert (code, one["state"], one["exit_code"]) == (0, "ready", 124)
    assert one["why"].endswith(" says so; after that it timed out after 10s")


def test_ctrl_c_ends_all_agents_and_removes_what_holds_no_work(shop: Workshop) -> None:
    work = f"echo work >w.txt; touch {shop.folder}/busy; exec sleep 1000"
    agents = [shop.agent("busy", work), shop.agent("lazy", "exec sleep 1000")]
    with shop.popen(*shop.words(*agents)) as process:
        eventually(lambda: shop.states() == {"busy": "running", "lazy": "running"}, within=LIMIT)
        eventually((shop.folder / "busy").exists, within=LIMIT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)
    busy, lazy = shop.status()["agents"]

    assert process.returncode == 130
    assert busy["why"] == lazy["why"] == "interrupted"
    assert (Path(busy["worktree"]) / "w.txt").exists()
    assert (lazy["gone"], lazy["worktree_exists"]) == (True, False)
    assert shop.git("branch", "--list", "gc/*").split() == ["+", busy["branch"]]
    assert shop.living() == []


def test_the_example_of_the_protocol_runs_unchanged(shop: Workshop) -> None:
    """It commits twice and changes nothing itself: in this repository hooks write a stamp."""
    for name in ("post-checkout", "post-commit"):
        shop.hook(name, STAMP)
    agent = shop.agents / "my-agent"
    agent.write_bytes(EXAMPLE.read_bytes())
    agent.chmod(0o755)
    done = shop.gc(*shop.words(str(agent), options=("--number", "123")))
    (one,) = shop.status("123")["agents"]

    assert done.returncode == 0, done.stderr.decode()
    assert (one["state"], one["progress"]["commits"]) == ("ready", 2)
    assert shop.git("log", "-1", "--format=%B", one["branch"]) == f"Fix issue #123\n\n{MARKER}"
    said = [line for line in done.stdout.decode().splitlines() if " | " in line]
    assert said[0] == "my-agent  | Starting work on issue #123"
    assert said[-1] == "my-agent  | Work complete"


def test_the_prompt_tells_an_agent_that_reads_one(shop: Workshop) -> None:
    shop.solve(shop.agent("a", f'cat >"{shop.folder}/prompt"; {READY}'))
    prompt = (shop.folder / "prompt").read_text()

    assert prompt.endswith("Fix the bug in main.py")
    assert f"\n{MARKER}\n" in prompt
    assert "/DONE" not in prompt


def _pause(shop: Workshop) -> str:
    """Return what an agent does until it may go on."""
    return f"touch {shop.folder}/begun; while [ ! -e {shop.folder}/go ]; do sleep 0.05; done"


def _is(shop: Workshop, wanted: str) -> bool:
    found = json.loads(shop.gc("solve", "status", "--json").stdout)["solves"]
    return [one["state"] for solve in found for one in solve["agents"]] == [wanted]


def _somebody_pushes(shop: Workshop, name: str, message: str = "of somebody else") -> str:
    other = shop.folder / "other"
    shop.git("clone", "-q", str(shop.origin), str(other), cwd=shop.folder)
    (other / name).write_text("theirs\n")
    commit = shop.commit(message, cwd=other)
    shop.git("push", "-q", "origin", "main", cwd=other)
    return commit
