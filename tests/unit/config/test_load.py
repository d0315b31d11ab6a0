from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config import find
from gascity.core.model import City
from gascity.errors import NotFound

Load = Callable[[str | bytes], City]


def find_city(start: Path) -> Path:
    return Path(find.find_city(str(start)))


def test_the_nearest_city_upwards_is_found(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "city.toml").touch()
    (tmp_path / "a" / "city.toml").mkdir()  # a folder is no city file

    assert find_city(below) == tmp_path / "city.toml"


def test_no_city_is_told_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no city\.toml in") as missing:
        find_city(tmp_path)

    assert "gc init" in missing.value.hint


def test_a_hundred_agents_load_at_once(load: Load) -> None:
    entries = (
        f'[[agents]]\nname = "a{number}"\ndir = "rig"\nprovider = "claude"\n'
        'env = { A = "{{.Name}}" }\nnudge = "go"\n'
        for number in range(100)
    )
    text = '[workspace]\nname = "city"\n' + "".join(entries)
    took = []
    for _ in range(4):  # the first one loads what loads it
        began = time.thread_time()
        city = load(text)
        took.append(time.thread_time() - began)

    assert len(city.desired.agents) == 100
    assert min(took) < 0.1


def test_pydantic_is_not_imported_before_a_city_is_read() -> None:
    code = (
        "import sys, gascity.config.load, gascity.config.show; sys.exit('pydantic' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
