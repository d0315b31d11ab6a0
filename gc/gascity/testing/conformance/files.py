"""Files that go into the work folder, and none that leave it."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from gascity.core.model import CopyEntry, StartupHints
from gascity.errors import GascityError
from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import LASTING, Configure, Contract
from gascity.testing.eventually import eventually


class FileRules(Contract):
    """What `copy_to`, `copy_files` and `overlay_dir` promise."""

    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        """Return a folder with a file at the top and one below."""
        folder = tmp_path / "source"
        (folder / "below").mkdir(parents=True)
        (folder / "top.txt").write_text("top")
        (folder / "below" / "deep.txt").write_text("deep")
        return folder

    def test_a_file_is_copied_to_the_place_that_is_named(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, source: Path
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.copy_to(name, str(source / "top.txt"), "new/place.txt", timeout=self.limit)

        assert (work / "new" / "place.txt").read_text() == "top"

    def test_a_folder_is_copied_with_all_that_is_in_it(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, source: Path
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.copy_to(name, str(source), "copy", timeout=self.limit)

        assert (work / "copy" / "top.txt").read_text() == "top"
        assert (work / "copy" / "below" / "deep.txt").read_text() == "deep"

    def test_a_missing_source_leaves_the_work_folder_as_it_is(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, source: Path
    ) -> None:
        provider.start(name, config(), timeout=self.limit)

        provider.copy_to(name, str(source / "missing"), "copy", timeout=self.limit)

        assert not (work / "copy").exists()

    @pytest.mark.parametrize(
        "way_out", ["../escaped", "a/../../escaped", "link/escaped", "absolute"]
    )
    def test_nothing_is_written_outside_the_work_folder(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        work: Path,
        source: Path,
        way_out: str,
    ) -> None:
        outside = work.parent
        (work / "link").symlink_to(outside)
        target = str(outside / "escaped") if way_out == "absolute" else way_out
        provider.start(name, config(), timeout=self.limit)

        with contextlib.suppress(GascityError):
            provider.copy_to(name, str(source / "top.txt"), target, timeout=self.limit)

        assert not (outside / "escaped").exists()

    def test_files_are_there_when_the_command_starts(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, source: Path
    ) -> None:
        hints = StartupHints(
            overlay_dir=str(source), copy_files=(CopyEntry(str(source / "top.txt"), "copied.txt"),)
        )

        provider.start(
            name,
            config(f"cat top.txt below/deep.txt copied.txt > seen; {LASTING}", hints=hints),
            timeout=self.limit,
        )

        eventually(lambda: (work / "seen").exists() and (work / "seen").stat().st_size)
        eventually(lambda: (work / "seen").read_text() == "topdeeptop")

    def test_an_overlay_never_replaces_what_is_there(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, source: Path
    ) -> None:
        (work / "below").mkdir()
        (work / "top.txt").write_text("mine")
        (work / "below" / "other.txt").write_text("mine")

        provider.start(
            name, config(hints=StartupHints(overlay_dir=str(source))), timeout=self.limit
        )

        assert (work / "top.txt").read_text() == "mine"
        assert (work / "below" / "other.txt").read_text() == "mine"
        assert (work / "below" / "deep.txt").read_text() == "deep"
