"""What makes no sense is told in a sentence, and nothing is made."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

BACKENDS = "claude, codex, demo, gemini, perplexity, xai"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("bug.md",), 2, f"nobody says who works on it\nhint: --agent NAME for each: {BACKENDS}"),
        (("bug.md", "--agent", ""), 2, "--agent is empty"),
        (("bug.md", "--agent", "nobody"), 2, 'there is no backend, agent or program "nobody"'),
        (("bug.md", "--agent", "./nobody"), 2, 'there is no program "./nobody"'),
        (("bug.md", "--agent", "./bug.md"), 2, '"./bug.md" cannot be executed\nhint: `chmod +x'),
        (("bug.md", "--agent", "'x"), 2, '--agent "\'x" is no command: No closing quotation'),
        (("bug.md", "--agent", "a=true", "--agent", "a=true"), 2, 'the name "a" stands for two'),
        (("nothing.md", "--agent", "true"), 2, '"nothing.md": No such file or directory\nhint: an'),
        ((".", "--agent", "true"), 2, '".": Is a directory'),
        (("empty.md", "--agent", "true"), 2, "the issue says nothing"),
        (("bug.md", "--agent", "true", "--base", "no"), 2, 'there is no branch or commit "no" in'),
        (("bug.md", "--agent", "true", "--base", "-x"), 2, 'there is no branch or commit "-x" in'),
        (("bug.md", "--agent", "true", "--repo", "no"), 2, 'there is no folder "no"'),
        (
            ("bug.md", "--agent", "true", "--repo", "/"),
            2,
            "/ is in no git repository\nhint: --repo",
        ),
        (("bug.md", "--agent", "true", "--timeout", "x"), 2, '--timeout cannot be "x": expected'),
        (("bug.md", "--agent", "true", "--name", "a/b"), 2, '"a/b" is no name for an issue'),
        (("bug.md", "--agent", "true", "--marker", " "), 2, "--marker must be one line"),
        (("bug.md", "--agent", "true", "--worktrees", "x"), 2, "worktrees cannot be in "),
        (("0", "--agent", "true"), 2, "0 is no number of an issue"),
        (("status", "nothing"), 4, 'there is no attempt at an issue "nothing"'),
        (("logs", "nothing"), 4, 'there is no attempt at an issue "nothing"'),
        (("diff", "nothing", "a"), 4, 'there is no attempt at an issue "nothing"'),
        (("compare", "nothing"), 4, 'there is no attempt at an issue "nothing"'),
        (("pick", "nothing", "a"), 4, 'there is no attempt at an issue "nothing"'),
        (("clean", "nothing"), 4, 'there is no attempt at an issue "nothing"'),
        (("pick", "x", "a", "--push", "--pr"), 2, "--push and --pr: give one"),
        (("pick", "x", "a", "--into", "b", "--pr"), 2, "--into says where to merge"),
        (("pick", "x", "a", "--as", "b"), 2, "--remote and --as go with --push or --pr"),
        (("pick", "x", "a", "--title", "b"), 2, "--title goes with --pr"),
        (("9" * 5000, "--agent", "true"), 2, f"{'9' * 20} is no number of an issue"),
        (("bug.md", "--agent", "船=true"), 2, '"船" is no name for an agent'),
        (("bug.md", "--agent", "-x=true"), 2, '"-x" is no name for an agent'),
        (("bug.md", "--agent", "x="), 2, '--agent "x=" names nobody'),
        (("bug.md", "--agent", f"{'x' * 21}=true"), 2, f'the name "{"x" * 21}" has more than 20'),
        (("漏.md", "--agent", "true"), 2, '"漏.md": No such file or directory'),
        (("statsu",), 2, 'there is no file or command "statsu"\nhint: `gc solve status`?'),
        (
            ("bug.md", "--agent", "true", "--worktrees", "/dev/null"),
            2,
            "worktrees cannot be in /dev",
        ),
    ],
)
def test_it_is_told_in_a_sentence_and_nothing_is_made(
    shop: Workshop, words: tuple[str, ...], code: int, told: str
) -> None:
    os.rename(shop.folder / "bug.md", shop.work / "bug.md")
    (shop.work / "empty.md").write_text("\n \n")
    done = shop.gc("solve", *words)

    assert done.returncode == code
    assert done.stderr.decode().startswith(f"error: {told}"), done.stderr.decode()
    assert shop.litter() == []
    assert shop.folders() == []


def test_a_repository_without_a_commit_is_told(shop: Workshop, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    shop.git("init", "-q", cwd=empty)
    done = shop.gc(*shop.words("true", options=("--repo", str(empty))))

    assert done.returncode == 2
    assert b"has no commit to begin with" in done.stderr


def test_a_branch_in_the_way_fails_the_agent_and_says_so(shop: Workshop) -> None:
    shop.git("branch", "gc")
    code, document = shop.solve(shop.agent("a", READY))
    (one,) = document["agents"]

    assert (code, one["state"]) == (1, "failed")
    assert "no worktree can be made: " in one["why"]
    assert "'refs/heads/gc' exists" in one["why"]
    assert shop.gc("solve", "clean", "bug").returncode == 0


def test_an_issue_comes_from_standard_input(shop: Workshop) -> None:
    given = b"# The lamp flickers\n\nAt night \xff.\n"
    script = f'cp "$COCODE_ISSUE_BODY_FILE" "{shop.folder}/got"; {READY}'
    done = shop.gc("solve", "-", "--agent", shop.agent("a", script), given=given)

    assert done.returncode == 0, done.stderr.decode()
    assert (shop.folder / "got").read_bytes() == given
    assert shop.status("the-lamp-flickers")["title"] == "The lamp flickers"


def test_no_secret_is_written_down_or_in_an_argument_list(shop: Workshop) -> None:
    env = {"MY_API_TOKEN": "hunter2-hunter2", "ANTHROPIC_API_KEY": "sk-other-vendor"}
    agent = shop.agent("a", f'test -z "$ANTHROPIC_API_KEY"; {READY}')
    code, _ = shop.solve(f"a={agent} --token hunter2-hunter2", env=env)
    written = [path for path in shop.home.rglob("*") if path.is_file()]

    assert code == 0
    assert len(written) > 5
    for path in written:
        assert b"hunter2-hunter2" not in path.read_bytes(), path


def test_the_same_agent_may_work_twice(shop: Workshop) -> None:
    agent = shop.agent("a", READY)
    _, document = shop.solve(agent, agent, f"other={agent}")

    assert [one["agent"] for one in document["agents"]] == ["a", "a-2", "other"]
    assert [one["branch"] for one in document["agents"]] == [
        "gc/bug/a-1", "gc/bug/a-2-1", "gc/bug/other-1",
    ]  # fmt: skip


def test_a_backend_of_the_city_works_with_its_own_command(shop: Workshop) -> None:
    fixer = shop.agent("fixer", f'cat >"{shop.folder}/prompt"; {READY}')
    shop.city(f'[workspace]\nname = "town"\n\n[providers.fixer.run]\ncommand = "{fixer}"\n')
    code, document = shop.solve("fixer")

    assert (code, document["agents"][0]["by"]) == (0, "fixer")
    assert "Fix the bug in main.py" in (shop.folder / "prompt").read_text()
