"""Files go into the work folder, never over others (unless told) and never outside."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gascity.errors import ProviderError
from gascity.session import overlay


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "overlay"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("a of the overlay")
    (folder / "sub" / "deep" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "sub" / "deep" / "run.sh").chmod(0o755)
    return folder


def test_a_tree_is_copied_with_its_modes(work: Path, source: Path) -> None:
    overlay.place(str(work), str(source), overwrite=False)

    assert (work / "a.txt").read_text() == "a of the overlay"
    assert stat.S_IMODE((work / "sub" / "deep" / "run.sh").stat().st_mode) == 0o755
    assert sorted(os.listdir(work)) == ["a.txt", "sub"]


def test_an_overlay_keeps_what_is_there(work: Path, source: Path) -> None:
    (work / "a.txt").write_text("mine")

    overlay.place(str(work), str(source), overwrite=False)

    assert (work / "a.txt").read_text() == "mine"
    assert (work / "sub" / "deep" / "run.sh").exists()


def test_a_copy_replaces_what_is_there(work: Path, source: Path) -> None:
    (work / "a.txt").write_text("old")

    overlay.place(str(work), str(source / "a.txt"), "a.txt", overwrite=True)

    assert (work / "a.txt").read_text() == "a of the overlay"


def test_a_file_in_the_place_of_a_folder_is_kept(work: Path, source: Path) -> None:
    (work / "sub").write_text("a file")

    overlay.place(str(work), str(source), overwrite=False)

    assert (work / "sub").read_text() == "a file"


@pytest.mark.parametrize("rel_dst", ["", "there/", "folder"])
def test_a_file_lies_in_a_folder_under_its_own_name(work: Path, source: Path, rel_dst: str) -> None:
    (work / "folder").mkdir()

    overlay.place(str(work), str(source / "a.txt"), rel_dst, overwrite=True)

    assert (work / rel_dst / "a.txt").exists()


@pytest.mark.parametrize("rel_dst", ["../out", "/tmp/out", "sub/../../out", "link/out"])
def test_nothing_is_written_outside(work: Path, source: Path, rel_dst: str) -> None:
    (work / "link").symlink_to(work.parent)

    with pytest.raises(ProviderError, match="outside"):
        overlay.place(str(work), str(source / "a.txt"), rel_dst, overwrite=True)

    assert not (work.parent / "out").exists()


def test_a_folder_that_is_a_link_to_outside_is_not_entered(work: Path, source: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (work / "sub").symlink_to(outside)

    with pytest.raises(ProviderError, match="outside"):
        overlay.place(str(work), str(source), overwrite=False)

    assert list(outside.iterdir()) == []


def test_a_file_that_is_a_link_is_replaced_not_followed(work: Path, source: Path) -> None:
    victim = work.parent / "victim"
    victim.write_text("untouched")
    (work / "a.txt").symlink_to(victim)

    overlay.place(str(work), str(source / "a.txt"), "a.txt", overwrite=True)

    assert victim.read_text() == "untouched"
    assert not (work / "a.txt").is_symlink()


def test_a_dangling_link_counts_as_there(work: Path, source: Path) -> None:
    (work / "a.txt").symlink_to(work.parent / "nowhere")

    overlay.place(str(work), str(source), overwrite=False)

    assert not (work.parent / "nowhere").exists()
    assert (work / "a.txt").is_symlink()


def test_a_link_inside_is_followed(work: Path, source: Path) -> None:
    (work / "real").mkdir()
    (work / "sub").symlink_to("real")

    overlay.place(str(work), str(source), overwrite=False)

    assert (work / "real" / "deep" / "run.sh").exists()


def test_links_are_copied_as_links_and_pipes_left_out(work: Path, source: Path) -> None:
    (source / "link").symlink_to("a.txt")
    os.mkfifo(source / "pipe")

    overlay.place(str(work), str(source), overwrite=False)

    assert os.readlink(work / "link") == "a.txt"
    assert not (work / "pipe").exists()


def test_a_second_time_changes_nothing(work: Path, source: Path) -> None:
    (source / "link").symlink_to("a.txt")
    overlay.place(str(work), str(source), overwrite=False)
    before = sorted((p, p.lstat().st_ino) for p in work.rglob("*"))

    overlay.place(str(work), str(source), overwrite=False)

    assert sorted((p, p.lstat().st_ino) for p in work.rglob("*")) == before
