"""What is watched for a city, and when its files count as changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gascity.controller.sources import ABSENT, UNSETTLED, signed, watched


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "town"
    (made / "prompts").mkdir(parents=True)
    (made / "city.toml").write_text("x")
    (made / "prompts/a.md").write_text("hello")
    return made


def test_folders_are_watched_and_nothing_above_or_below_them(root: Path) -> None:
    (root / ".gc").mkdir()
    (root / "src/deep").mkdir(parents=True)
    place = watched([f"{root}/city.toml", f"{root}/prompts/a.md"], str(root))

    assert place.folders == {str(root), f"{root}/prompts"}


def test_only_what_leads_to_a_source_matters(root: Path) -> None:
    place = watched([f"{root}/city.toml", f"{root}/prompts/a.md"], str(root))

    assert all(place.matters(f"{root}/{name}") for name in ("city.toml", "prompts", "prompts/a.md"))
    assert not any(
        place.matters(f"{root}/{name}") for name in (".gc", "city.toml~", "prompts/b.md", "src")
    )


def test_a_folder_that_is_listed_matters_with_all_in_it(root: Path) -> None:
    (root / "screens").mkdir()
    place = watched([f"{root}/screens/"], str(root))

    assert place.matters(f"{root}/screens/new.toml")
    assert not place.matters(f"{root}/new.toml")


def test_what_is_missing_is_waited_for_where_it_would_appear(root: Path) -> None:
    place = watched([f"{root}/later/deep/a.md"], str(root))

    assert place.folders == {str(root)}
    assert place.matters(f"{root}/later")


def test_a_city_that_is_gone_is_waited_for_in_the_folder_above(root: Path) -> None:
    place = watched([f"{root}/gone/city.toml"], f"{root}/gone")

    assert place.folders == {str(root)}
    assert place.matters(f"{root}/gone")


def test_every_link_on_the_way_matters_and_so_does_its_end(root: Path, tmp_path: Path) -> None:
    (root / "..one").mkdir()
    (root / "..one/b.md").write_text("one")
    (root / "..data").symlink_to("..one")
    (root / "b.md").symlink_to("..data/b.md")
    elsewhere = tmp_path.resolve() / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "c.md").write_text("c")
    (root / "c.md").symlink_to(elsewhere / "c.md")
    place = watched([f"{root}/b.md", f"{root}/c.md"], str(root))

    assert place.folders == {str(root), f"{root}/..one", str(elsewhere)}
    assert all(place.matters(f"{root}/{name}") for name in ("b.md", "..data", "..one/b.md"))
    assert place.matters(f"{elsewhere}/c.md")


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "x").symlink_to("y")
    (root / "y").symlink_to("x")

    assert watched([f"{root}/x"], str(root)).folders == {str(root)}
    assert signed([f"{root}/x"]) == {f"{root}/x": ABSENT}


def test_a_path_that_cannot_be_is_absent(root: Path) -> None:
    bad = f"{root}/a\0b"

    assert signed([bad]) == {bad: ABSENT}
    assert watched([bad], str(root)).folders == {str(root)}


@pytest.mark.parametrize("how", ["write", "rename", "same content", "delete", "turn a link"])
def test_a_file_that_changed_has_another_sign(root: Path, how: str) -> None:
    path = root / "city.toml"
    if how == "turn a link":
        path.unlink()
        (root / "one").write_text("x")
        (root / "two").write_text("x")
        path.symlink_to("one")
    before = signed([str(path)])
    match how:
        case "write":
            path.write_text("longer than before")
        case "rename":
            (root / "new").write_text("y")
            os.replace(root / "new", path)
        case "same content":
            (root / "new").write_text("x")
            os.replace(root / "new", path)
        case "delete":
            path.unlink()
        case _:
            path.unlink()
            path.symlink_to("two")

    assert signed([str(path)]) != before


def test_a_file_that_is_left_alone_keeps_its_sign(root: Path) -> None:
    sources = [f"{root}/city.toml", f"{root}/prompts", f"{root}/prompts/", f"{root}/none"]
    before = signed(sources)
    (root / ".gc").mkdir()

    assert signed(sources) == before


def test_of_a_folder_only_the_listed_one_changes_with_what_is_in_it(root: Path) -> None:
    plain, listed = [f"{root}/prompts"], [f"{root}/prompts/"]
    before = signed(plain), signed(listed)
    (root / "prompts/b.md").write_text("new")

    assert signed(plain) == before[0]
    assert signed(listed) != before[1]


def test_what_changed_while_it_was_read_is_equal_to_nothing_later(root: Path) -> None:
    path = f"{root}/city.toml"
    settled = os.stat(path).st_ctime + 1.0

    assert signed([path], read_since=os.stat(path).st_ctime)[path] == UNSETTLED
    assert signed([path], read_since=settled) == signed([path])


def test_a_file_from_the_future_is_not_read_for_ever(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{root}/city.toml"
    made = os.stat(path).st_ctime
    monkeypatch.setattr(time, "time", lambda: made - 60)  # a file server whose clock is ahead

    assert signed([path], read_since=made - 60) == signed([path])
