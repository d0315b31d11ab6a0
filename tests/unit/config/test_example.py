from __future__ import annotations

import re
from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.schema import KEYS
from gascity.core.model import City

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "city.example.toml"
REFERENCE = ROOT / "docs" / "reference" / "city-toml.md"


def load(path: Path) -> City:
    return load_city(path, known_providers=("tmux", "subprocess"), auto_provider="tmux")


def test_the_example_declares_three_agents_on_the_demo_backend() -> None:
    desired = load(EXAMPLE).desired
    up = [spec.name for spec in desired.agents]
    up += [spec.name for pool in desired.pools for spec in pool.members[: pool.min]]

    assert up == ["mayor", "rigs/smith", "helper-1"]
    assert {spec.backend for spec in desired.agents} == {"demo"}


def test_every_default_in_the_example_is_the_default(tmp_path: Path) -> None:
    text = EXAMPLE.read_text("utf-8")
    path = tmp_path / "city.toml"
    path.write_text(text, "utf-8")
    as_it_is = load(path)
    path.write_text(re.sub(r"^#(?=[a-z\[])", "", text, flags=re.MULTILINE), "utf-8")

    assert load(path) == as_it_is


def section(text: str, heading: str, mark: str) -> str:
    """Return what follows the heading, up to the next."""
    return re.split(mark, text.split(heading, 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("heading", [heading for heading in KEYS if heading.startswith("[")])
def test_the_example_has_every_key(heading: str) -> None:
    text = EXAMPLE.read_text("utf-8")
    name = heading.replace("NAME", "demo")
    part = section(text, f"\n{name}\n" if f"\n{name}\n" in text else f"\n#{name}\n", r"^#?\[")
    known = set(KEYS[heading]) - {"pool", "run"}  # tables of their own

    assert known == set(re.findall(r"^#?([a-z_]+) =", part, flags=re.MULTILINE))


@pytest.mark.parametrize("heading", [heading for heading in KEYS if heading])
def test_the_reference_has_every_key(heading: str) -> None:
    part = section(REFERENCE.read_text("utf-8"), f"\n## `{heading}`", r"^## ")

    assert set(KEYS[heading]) <= set(re.findall(r"^\| `([a-z_]+)`", part, flags=re.MULTILINE))
