"""What the pages show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.conftest import ROOT, Reader, Step, agrees, blocks, steps

from gascity.config.load import load_city

ON_TMUX = ("send-messages", "answer-dialogs", "teach-a-screen")
ON_GIT = ("tutorial/solve-an-issue", "howto/issue-work")
TOLD = [
    ROOT / "README.md",
    ROOT / "docs/tutorial/first-city.md",
    ROOT / "docs/howto/change-a-running-city.md",
    ROOT / "docs/howto/ask-why.md",
    ROOT / "docs/howto/follow-events.md",
    ROOT / "docs/howto/agents-talk.md",
    ROOT / "docs/howto/tasks.md",
    ROOT / "docs/howto/one-shot-runs.md",
    ROOT / "docs/howto/crash-reports.md",
    ROOT / "docs/howto/hooks.md",
    ROOT / "docs/howto/drain-and-reset.md",
    ROOT / "docs/howto/alerts.md",
    ROOT / "docs/howto/monitor.md",
    ROOT / "docs/howto/run-as-a-service.md",
    *(pytest.param(ROOT / f"docs/howto/{n}.md", marks=pytest.mark.tmux) for n in ON_TMUX),
    *(pytest.param(ROOT / f"docs/{n}.md", marks=pytest.mark.git) for n in ON_GIT),
]
CITIES = [
    ROOT / "README.md",
    *(ROOT / f"docs/howto/{name}.md" for name in ("use-a-backend", "pools", "alerts")),
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", TOLD, ids=lambda page: page.name)
def test_a_reader_who_follows_the_page_sees_what_it_shows(page: Path, reader: Reader) -> None:
    for step in steps(page):
        reader.follow(step)

    assert not list(reader.folder.rglob("controller.sock"))


def test_a_page_that_lies_is_noticed(reader: Reader) -> None:
    with pytest.raises(AssertionError, match="but the page says"):
        reader.follow(Step("echo truth", "lie\n"))
    with pytest.raises(AssertionError, match="no such command"):
        reader.follow(Step("gc frobnicate", None))


def test_numbers_and_dots_are_all_that_may_differ() -> None:
    assert agrees("pid 42 since 3s\n...\nend\n", "pid 7  since 10s\nx\ny\nend\n")
    assert not agrees("one\n", "one\ntwo\n")
    assert not agrees("a ready\n", "a stopped\n")


@pytest.mark.parametrize("page", ON_GIT)
def test_a_file_is_named_before_what_is_in_it(page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text("utf-8")
    files = list(re.finditer(r"^```\w+ (\S+)$", text, re.MULTILINE))

    assert files
    for file in files:
        before = text[: file.start()].rstrip().split("\n\n")[-1]
        assert f"`{file[1]}`" in before, before


@pytest.mark.parametrize("page", ON_GIT)
def test_titles_stand_above_their_columns(page: str) -> None:
    shown = "\n".join(blocks(ROOT / f"docs/{page}.md", "console"))
    tables = re.findall(r"^(ISSUE  .*)\n((?:\w.*  .*\n)+)", shown, re.MULTILINE)

    assert tables
    for titles, rows in tables:
        starts = [found.start() for found in re.finditer(r"(?<=  )\S", titles)]
        for row in rows.splitlines():
            assert all(row[at - 2 : at] == "  " and row[at] != " " for at in starts), row


@pytest.mark.parametrize("page", CITIES, ids=lambda page: page.name)
def test_every_city_file_on_the_page_loads(page: Path, tmp_path: Path) -> None:
    files = blocks(page, "toml")
    for text in files:
        (tmp_path / "city.toml").write_text(text, "utf-8")
        load_city(
            tmp_path / "city.toml", known_providers=("subprocess",), auto_provider="subprocess"
        )

    assert files


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target
