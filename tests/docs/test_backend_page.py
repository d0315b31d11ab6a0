"""The page about one-shot backends: both that it makes are run."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.docs.conftest import ROOT, Reader, steps

from gascity.config.load import load_city
from gascity.core.oneshot import OneShot
from gascity.errors import BackendError
from gascity.runs.backends import find
from gascity.runs.context import Cancel, RunContext

PAGE = ROOT / "docs/howto/add-a-backend.md"


@dataclass(frozen=True)
class Followed:
    """A folder in which somebody did what the page says."""

    folder: Path

    @property
    def backends(self) -> dict[str, OneShot]:
        path = self.folder / "city.toml"
        city = load_city(path, known_providers=("subprocess",), auto_provider="subprocess")
        assert city.warnings == ()
        return dict(city.backends)

    def answer(self, backend: str, prompt: str) -> str:
        out = self.folder / "agent-stdout.txt"
        context = RunContext(
            "r1",
            "p",
            "t",
            prompt,
            str(self.folder),
            str(out),
            str(self.folder / "agent-stderr.txt"),
            {"PYTHONPATH": str(self.folder)},
        )
        find(backend, self.backends).execute(context, Cancel())
        return out.read_text("utf-8")


@pytest.fixture
def followed(reader: Reader) -> Followed:
    for step in steps(PAGE):
        reader.follow(step)
    return Followed(reader.folder)


def test_the_command_answers(followed: Followed) -> None:
    assert followed.answer("scribe", "Who?\n") == "The model small was asked:\nWho?\n"


def test_the_class_answers(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((followed.folder / "pyproject.toml").read_text("utf-8"))["project"]
    facts = followed.folder / f"{project['name']}-{project['version']}.dist-info"
    facts.mkdir()  # as installing the package does
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    ]
    (facts / "entry_points.txt").write_text("".join(lines))
    monkeypatch.syspath_prepend(str(followed.folder))

    assert followed.answer("counting", "one two  three") == "3 words\n"
    with pytest.raises(BackendError, match=r"^prompt is empty$") as refused:
        followed.answer("counting", " ")
    assert refused.value.code == 2
