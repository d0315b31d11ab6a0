"""The page about agents in a VM, with a daemon on this machine that stands for it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator

import pytest
from tests.docs.conftest import ROOT, Reader, blocks, steps

from gascity.testing.eventually import eventually
from gascity_guest.settings import Settings

PAGE = ROOT / "docs" / "howto" / "run-agents-in-a-vm.md"


@pytest.fixture
def visitor(reader: Reader) -> Iterator[Reader]:
    """Return a reader whose daemon ends with the test, however far they came."""
    yield reader
    reader.leave()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((reader.folder / "guest.pid").read_text()), signal.SIGTERM)


@pytest.mark.tmux
def test_a_reader_who_follows_the_page_sees_what_it_shows(visitor: Reader) -> None:
    for step in steps(PAGE):
        visitor.follow(step)

    assert (visitor.folder / "back.log").exists()
    eventually(lambda: not (visitor.folder / "vm.sock").exists())


def test_the_settings_on_the_page_make_sense() -> None:
    import tomllib

    tables = [tomllib.loads(text)["session"]["guest"] for text in blocks(PAGE, "toml")]

    assert [str(Settings.read(table, "/city").address) for table in tables] == [
        "/srv/vm/v.sock?connect=52"
    ]
