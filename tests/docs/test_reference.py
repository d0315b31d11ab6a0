"""The reference pages name everything there is, and nothing that is not."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import typer.main
from tests.docs.conftest import ROOT

from gascity.cli.commands import _typer
from gascity.config.backends import presets
from gascity.controller.status import status_document
from gascity.core.actions import EventType
from gascity.core.views import AgentView, State
from gascity.errors import Exit
from gascity.patrol.metrics import Counted, metrics

REFERENCE = ROOT / "docs" / "reference"


def sections() -> dict[str, str]:
    """Return the commands of the page, each with its part."""
    text = (REFERENCE / "commands.md").read_text("utf-8")
    parts = re.findall(
        r"^## `gc ([a-z -]+?)(?: [\[A-Z][^\n]*)?`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return dict(parts)


def commands() -> dict[str, set[str]]:
    """Return the commands there are, each with its options."""
    found: dict[str, set[str]] = {}

    def walk(command: object, path: tuple[str, ...]) -> None:
        below = getattr(command, "commands", None)
        if below is not None:
            for name, each in below.items():
                walk(each, (*path, name))
            if not path or not getattr(command, "invoke_without_command", False):
                return
        options = {
            option
            for parameter in command.params  # type: ignore[attr-defined]  # a command has them
            for option in parameter.opts
            if option.startswith("-")
        }
        found[" ".join(path)] = options - {"--help", "-h"}

    walk(typer.main.get_command(_typer), ())
    return found


def test_every_command_and_option_is_on_the_page() -> None:
    told = sections()

    assert set(told) == set(commands())
    for name, options in commands().items():
        for option in options:
            assert f"`{option}`" in told[name], f"gc {name} {option}"


def test_every_option_on_the_page_exists() -> None:
    real = commands()

    for name, text in sections().items():
        told = set(re.findall(r"^\| `(-[^`]+)`", text, re.MULTILINE))
        assert told <= real[name]


def test_the_options_of_gc_itself_are_on_the_page() -> None:
    text = (REFERENCE / "commands.md").read_text("utf-8")
    root = typer.main.get_command(_typer)

    for option in (option for parameter in root.params for option in parameter.opts):
        assert option in text


def test_the_exit_codes_on_the_page_are_those_of_the_program() -> None:
    text = (REFERENCE / "exit-codes.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", text, re.MULTILINE)
    told = {name: int(code) for code, name in rows}

    assert told == {code.name: code.value for code in Exit}


def test_the_states_on_the_page_are_those_of_the_program() -> None:
    told = sections()["status"]

    assert all(f"`{state}`" in told for state in State)


def test_the_events_on_the_page_are_those_of_the_program() -> None:
    text = (REFERENCE / "events.md").read_text("utf-8")
    told = re.findall(r"^\| `([^`]+)` \| [A-Z].*\. \|$", text, re.MULTILINE)

    assert sorted(told) == sorted(EventType)


def test_every_command_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    table = text.partition("## Commands")[2].partition("##")[0]
    told = set(re.findall(r"`gc ([a-z-]+)", table))

    assert told == {name.partition(" ")[0] for name in commands()}


def test_every_backend_is_in_the_howto() -> None:
    text = (ROOT / "docs/howto/use-a-backend.md").read_text("utf-8")

    assert all(f"`{name}`" in text for name in presets())


def test_what_lies_in_the_state_folder_is_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "city.toml").write_text(
        '[session]\nprovider = "subprocess"\n[[agents]]\nname = "a"\nstart_command = "cat"\n'
    )
    gc = [f"{Path(sys.executable).parent}/gc", "-C", str(tmp_path)]
    try:
        for words in (["start", "--detach"], ["restart", "a"], ["nudge", "a", "hello"]):
            subprocess.run([*gc, *words], check=True, capture_output=True, timeout=60)
        there = [path.relative_to(tmp_path) for path in (tmp_path / ".gc").rglob("*")]
        with sqlite3.connect(tmp_path / ".gc" / "city.db") as db:
            assert db.execute("SELECT count(*) FROM event").fetchone()[0] > 0
        db.close()
    finally:
        subprocess.run([*gc, "stop"], check=True, capture_output=True, timeout=60)
    text = (REFERENCE / "files.md").read_text("utf-8")
    told = [
        re.compile(re.escape(path.rstrip("/")).replace("NAME", "[^/]+").replace("RUN", "[^/]+"))
        for path in re.findall(r"^\| `(\.gc/[^`]+)`", text, re.MULTILINE)
    ]

    assert len(there) > 8
    for path in there:
        assert any(pattern.match(str(path)) for pattern in told), path


def test_every_metric_is_in_the_howto() -> None:
    text = (ROOT / "docs/howto/monitor.md").read_text("utf-8")
    table = re.findall(r"^\| (`gc_.*?) \|", text, re.MULTILINE)
    view = AgentView("a", "s", "p", State.READY, since=1.0, next_at=2.0)
    printed = metrics(
        status_document("town", 1, [view]), Counted(last_event=1.0), answers=True, version="1"
    )

    assert set(re.findall(r"`(\w+)`", " ".join(table))) == set(
        re.findall(r"^# TYPE (\w+)", printed, re.MULTILINE)
    )


def test_each_heading_stands_apart_and_no_row_of_a_table_stands_twice() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    wrong: list[str] = []
    for page in pages:
        text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        wrong += [f"{page.name}: {line}" for line in re.findall(r"[^\n]\n(#+ .*)", text)]
        for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
            rows = [row.strip("| ").split(" | ") for row in table.splitlines()]
            firsts = [tuple(row[: max(1, len(row) - 1)]) for row in rows]
            wrong += [f"{page.name}: {row}" for row in set(firsts) if firsts.count(row) > 1]

    assert len(pages) > 20
    assert wrong == []
