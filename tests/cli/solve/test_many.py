"""Ten agents at once on a repository of 5,000 files, and what limits how many work at once."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.cli.solve.workshop import READY, Workshop

from gascity.testing.eventually import eventually

LIMIT = 60.0
TEN = [f"agent-{number}" for number in range(10)]


@pytest.mark.timeout(900)  # fifty thousand files are written and removed
def test_ten_agents_at_once_are_isolated_and_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.cli.place.LIMIT", 600.0)  # for the slowest of disks
    shop = Workshop(tmp_path, files=5000)
    before = shop.seen()
    script = """git status --porcelain >"$0.status"; git ls-files | wc -l >"$0.count"
echo "$0" >part-7/file-7.txt; git commit -qam "mine alone\""""
    agents = [shop.agent(name, f"{script}; {READY}") for name in TEN]
    code, document = shop.solve(*agents)

    assert code == 0
    assert [(one["agent"], one["state"]) for one in document["agents"]] == [
        (name, "ready") for name in TEN
    ]
    for one, called in zip(document["agents"], agents, strict=True):
        assert Path(f"{called}.status").read_text() == ""
        assert Path(f"{called}.count").read_text().strip() == "5001"
        assert shop.git("show", f"{one['branch']}:part-7/file-7.txt") == called
        assert (one["progress"]["commits"], one["progress"]["files"]) == (2, 1)
    assert shop.seen() == before
    assert shop.gc("solve", "clean", "bug", "--force").returncode == 0
    assert shop.litter() == []


def test_no_more_work_at_once_than_is_wanted(shop: Workshop) -> None:
    """Each leaves a file while it works, and counts those of the others."""
    busy = shop.folder / "busy"
    busy.mkdir()
    name = '"$(basename "$0")"'
    script = f'touch "{busy}"/{name}; ls "{busy}" | wc -l >>"{shop.folder}/counts"; sleep 0.3'
    agents = [
        shop.agent(f"a{number}", f'{script}; rm "{busy}"/{name}; {READY}') for number in range(5)
    ]
    code, document = shop.solve(*agents, options=("--parallel", "2"))
    counts = [int(line) for line in (shop.folder / "counts").read_text().split()]

    assert code == 0
    assert len(counts) == 5
    assert max(counts) <= 2
    assert [one["state"] for one in document["agents"]] == ["ready"] * 5


def test_the_places_of_a_city_are_shared_with_all_other_runs(shop: Workshop) -> None:
    shop.city('[workspace]\nname = "town"\n\n[runs]\nmax_concurrent = 1\n')
    busy = shop.folder / "busy"
    script = f'mkdir "{busy}"; sleep 0.2; rmdir "{busy}"; {READY}'
    code, document = shop.solve(*(shop.agent(name, script) for name in ("a", "b", "c")))

    assert code == 0, document


def test_a_city_in_the_repository_leaves_its_status_as_it_was(shop: Workshop) -> None:
    shop.city('[workspace]\nname = "town"\n')
    shop.commit("a city")
    code, _ = shop.solve(shop.agent("a", READY), options=("--base", "main"))

    assert code == 0
    assert shop.git("status", "--porcelain", "--untracked-files=all") == ""
    assert (shop.home / "solves").is_dir()


def test_who_never_began_is_told_so_and_leaves_nothing(shop: Workshop) -> None:
    agents = [shop.agent("first", "exec sleep 1000"), shop.agent("second", READY)]
    with shop.popen(*shop.words(*agents, options=("--parallel", "1"))) as process:
        eventually(lambda: "running" in shop.states().values(), within=LIMIT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
    found = {one["why"]: one for one in shop.status()["agents"]}

    assert process.returncode == 143
    assert set(found) == {"stopped", "stopped before it began"}
    assert not found["stopped before it began"]["worktree_exists"]


def test_one_agent_is_stopped_and_the_others_go_on(shop: Workshop) -> None:
    agents = [shop.agent(name, "exec sleep 1000") for name in ("a", "b")]
    with shop.popen(*shop.words(*agents)) as process:
        eventually(lambda: shop.states() == {"a": "running", "b": "running"}, within=LIMIT)
        run = shop.status()["agents"][0]["run"]
        done = shop.gc("runs", "stop", run)
        eventually(lambda: shop.states() == {"a": "failed", "b": "running"}, within=LIMIT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)

    assert (done.returncode, done.stdout) == (0, f"stopped run {run}\n".encode())
    first, second = shop.status()["agents"]
    assert (first["why"], first["exit_code"]) == ("stopped", 143)
    assert second["why"] == "interrupted"
    assert shop.living() == []


def test_two_attempts_at_once_do_not_meet(shop: Workshop) -> None:
    agents = [shop.agent(name, f"sleep 0.2; {READY}") for name in ("a", "b", "c")]
    both = [shop.popen(*shop.words(*agents)) for _ in range(3)]
    for process in both:
        _, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err.decode()
    branches = shop.git("branch", "--list", "gc/*", "--format=%(refname:short)").split()

    assert branches == sorted(f"gc/bug/{one}-{number}" for one in "abc" for number in (1, 2, 3))
