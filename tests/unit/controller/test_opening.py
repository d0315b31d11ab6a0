"""Reading a city with what the settings of its providers say and name."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from gascity.controller.opening import read_city
from gascity.errors import ConfigError
from gascity.session.registry import SHIPPED
from gascity.testing.fake import FakeProvider

CITY = """\
[session]
provider = "kubernetes"
[session.kubernetes]
image = "agent"
pod_template = "pod.yaml"
[[agents]]
name = "mayor"
start_command = "true"
"""


class Torn(FakeProvider):
    """Has a file that was being written when it was read for the first time."""

    @classmethod
    def shape(cls, settings: Mapping[str, object], folder: str) -> Mapping[str, str]:
        raise ConfigError("pod.yaml is not YAML")


def test_a_file_that_settings_name_is_a_source_of_the_city(tmp_path: Path) -> None:
    (tmp_path / "city.toml").write_text(CITY)
    (tmp_path / "pod.yaml").write_text("metadata: {}\n")

    sources = read_city(tmp_path / "city.toml").sources

    assert str(tmp_path / "pod.yaml") in sources


def test_settings_that_cannot_be_read_are_not_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHIPPED, "torn", f"{__name__}:Torn")
    monkeypatch.setitem(sys.modules, __name__, ModuleType(__name__))
    monkeypatch.setattr(sys.modules[__name__], "Torn", Torn, raising=False)
    (tmp_path / "city.toml").write_text(
        '[[agents]]\nname = "mayor"\nstart_command = "true"\nsession = "torn"\n'
    )

    with pytest.raises(ConfigError, match="not YAML"):
        read_city(tmp_path / "city.toml")
