"""How the house is built, kept true by looking at it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from gascity import __version__
from gascity.config import classes
from gascity.core.actions import EventType
from gascity.session.registry import GROUP, SHIPPED

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("gc", "providers") for path in (ROOT / folder).rglob("*.py"))
SCRIPTS = [*ROOT.glob("tests/**/*.py"), *ROOT.glob("bench/*.py"), *ROOT.glob(".ci/*")]
LOADED = (
    "import sys; from gascity.cli.app import main; main(); print(*sys.modules, file=sys.stderr)"
)


def names(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_folder_gc_is_no_package() -> None:
    """The interpreter's built-in module `gc` wins every import: a package could not be reached."""
    assert not (ROOT / "gc" / "__init__.py").exists()
    assert "gc" in sys.builtin_module_names


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_a_module_says_what_it_is_for_and_holds_one_idea(path: Path) -> None:
    text = path.read_text("utf-8")

    assert ast.get_docstring(ast.parse(text))
    assert text.count("\n") <= 350


def test_processes_are_ended_by_id_alone() -> None:
    words = ["p" + "kill", "kill" + "all"]
    files = [*SOURCES, *SCRIPTS]

    assert len(files) > 100
    assert not [path for path in files if any(word in path.read_text("utf-8") for word in words)]


def test_the_layers_are_contracts_that_the_linter_checks() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    contracts = {contract["name"]: contract for contract in config["contracts"]}

    layers = contracts["Layers of gascity"]["layers"]
    assert layers[:2] == ["gascity.cli", "gascity.controller"]
    assert layers[-1] == "gascity.errors"
    assert (
        "gascity.core"
        in contracts["The core decides and never touches the world"]["source_modules"]
    )
    assert {path.name for path in (ROOT / "providers").iterdir() if path.is_dir()} <= {
        *config["root_packages"],
        "__pycache__",
    }


def test_the_shipped_providers_are_the_entry_points() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["entry-points"][GROUP] == SHIPPED


def test_the_shipped_backends_are_the_entry_points() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["entry-points"][classes.GROUP] == classes.SHIPPED


def test_installing_gives_the_commands() -> None:
    scripts = {
        point.name: point
        for point in entry_points(group="console_scripts")
        if point.dist is not None and point.dist.name == "gascity"
    }

    assert set(scripts) == {"gc", "gascity", "gc-demo"}
    assert all(callable(point.load()) for point in scripts.values())


def test_help_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "--help"], capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.split())

    assert "gascity.cli.commands" in loaded
    assert not loaded & {"kubernetes", "libtmux", "pydantic", "rich", "watchfiles", "sqlite3"}


def test_the_quick_commands_do_not_load_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "city.toml").write_text('[[agents]]\nname = "a"\nstart_command = "true"\n')
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "-C", str(tmp_path), "status"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert "1 agent: " in done.stdout
    assert not set(done.stderr.split()) & {"typer", "rich", "libtmux", "kubernetes"}


def test_the_version_stands_in_one_place() -> None:
    gc = os.path.join(os.path.dirname(sys.executable), "gc")
    said = subprocess.run([gc, "version"], capture_output=True, text=True, check=True).stdout

    assert said.split()[1] == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", __version__)


@pytest.mark.parametrize("kind", EventType)
def test_every_kind_of_event_happens(kind: EventType) -> None:
    elsewhere = [path for path in SOURCES if path.name != "actions.py" and "cli" not in path.parts]

    assert [path for path in elsewhere if f"EventType.{kind.name}" in path.read_text("utf-8")]
