"""The page about screens names every key, kind and dialog there is, and its example works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.conftest import ROOT, blocks

from gascity.config.load import load_city
from gascity.config.screen_schema import SCREEN_KEYS
from gascity.config.screens import shipped, shipped_names
from gascity.screens.reading import Kind, Policy
from gascity.screens.rules import NO_RULES, Region

PAGE = ROOT / "docs/reference/screens.md"


def section(heading: str) -> str:
    text = PAGE.read_text("utf-8")
    return text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def first_column(part: str) -> set[str]:
    return set(re.findall(r"^\| `([a-z_]+)`", part, re.MULTILINE))


@pytest.mark.parametrize("heading", SCREEN_KEYS)
def test_the_page_has_every_key(heading: str) -> None:
    part = section(f"`{heading}`" if heading else "The top of the file")

    assert first_column(part) == set(SCREEN_KEYS[heading])


def test_the_page_has_every_kind_region_and_policy() -> None:
    assert first_column(section("Kinds")) == set(Kind)
    assert first_column(section("Regions")) == set(Region)
    policies = re.findall(r'^\| `"([a-z]+)"`', section("Dialogs"), re.MULTILINE)
    assert set(policies) == set(Policy)


def test_the_page_has_every_dialog() -> None:
    row = re.compile(r"^\| `([a-z]+)` \| `([a-z-]+)` \| (\w+) \|", re.MULTILINE)
    there = {
        (backend, rule.name, str(rule.policy))
        for backend in shipped_names()
        for rule in (shipped(backend) or NO_RULES).rules
        if rule.kind is Kind.DIALOG
    }

    assert set(row.findall(section("Dialogs"))) == there


def test_the_example_is_a_file_of_rules(tmp_path: Path) -> None:
    (tmp_path / "screens").mkdir()
    (tmp_path / "screens/claude.toml").write_text(blocks(PAGE, "toml")[0], "utf-8")
    (tmp_path / "city.toml").write_text('[[agents]]\nname = "a"\nprovider = "claude"\n')
    city = load_city(tmp_path / "city.toml", known_providers=("tmux",), auto_provider="tmux")
    rules = city.screens.of("claude")

    assert rules.rules[0].name == "newsletter"
    assert rules.rule("resume-picker") is None
