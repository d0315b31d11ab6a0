from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.problems import ConfigProblems
from gascity.core.model import City


class Folder:
    """A folder for a city: write files, load it, or see what is wrong with it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def load(self, text: str | bytes) -> City:
        path = self.write("city.toml", text)
        return load_city(path, known_providers=("tmux", "subprocess"), auto_provider="tmux")

    def problems(self, text: str | bytes) -> str:
        with pytest.raises(ConfigProblems) as refused:
            self.load(text)
        return str(refused.value)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "town")


@pytest.fixture
def load(folder: Folder) -> Callable[[str | bytes], City]:
    return folder.load


@pytest.fixture
def problems(folder: Folder) -> Callable[[str | bytes], str]:
    return folder.problems


@pytest.fixture
def write(folder: Folder) -> Callable[[str, str | bytes], Path]:
    return folder.write
