"""Files: nobody sees half of one, and with a root nobody gets out."""

from __future__ import annotations

import itertools
import os
import random
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.integration.guest.daemon import TRANSPORTS, running

from gascity.guest.beneath import Outside
from gascity.guest.files import Files, Refused

SECRET = "from outside"
TRICKS = 1000


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def roaming(folder: Path, most: int = 1000) -> Files:
    return Files(str(folder), root=None, most=most)


def confined(folder: Path, most: int = 1000) -> Files:
    return Files(str(folder), root=str(folder), most=most)


Make = Callable[..., Files]
BOTH = pytest.mark.parametrize("make", [roaming, confined])


@BOTH
def test_a_file_that_is_replaced_keeps_its_mode(make: Make, work: Path) -> None:
    (work / "script").write_text("old")
    (work / "script").chmod(0o751)

    make(work).write("script", "new")

    assert (work / "script").read_text() == "new"
    assert stat.S_IMODE((work / "script").stat().st_mode) == 0o751


@BOTH
def test_a_new_file_has_the_usual_mode_and_nothing_lies_beside_it(make: Make, work: Path) -> None:
    before = os.umask(0o027)
    try:
        make(work).write("a/b/new", "text")
    finally:
        os.umask(before)

    assert stat.S_IMODE((work / "a/b/new").stat().st_mode) == 0o640
    assert os.listdir(work / "a/b") == ["new"]


@BOTH
def test_a_link_is_written_through_and_stays_a_link(make: Make, work: Path) -> None:
    (work / "real").mkdir()
    (work / "real/file").write_text("old")
    (work / "link").symlink_to("real/file")
    (work / "dangling").symlink_to(work / "real" / "fresh")

    make(work).write("link", "new")
    make(work).write("dangling", "new")

    assert (work / "link").is_symlink()
    assert (work / "real/file").read_text() == (work / "real/fresh").read_text() == "new"


@BOTH
def test_what_cannot_be_written_leaves_nothing_behind(make: Make, work: Path) -> None:
    os.mkfifo(work / "fifo")
    for path in ("fifo", ".", "", "..", "x" * 300, "nul\0"):
        with pytest.raises(Refused):
            make(work).write(path, "text")

    assert os.listdir(work) == ["fifo"]


@BOTH
def test_a_file_that_may_not_be_written_is_not_replaced(make: Make, work: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everything")
    (work / "kept").write_text("old")
    (work / "kept").chmod(0o444)

    with pytest.raises(Refused, match=r"failed to write 'kept': Permission denied \(os error 13\)"):
        make(work).write("kept", "new")


@BOTH
def test_a_path_may_be_deep_and_one_that_is_too_long_is_told_as_such(
    make: Make, work: Path
) -> None:
    files = make(work)
    deep = "/".join("d" * (300 if make is confined else 1500))  # a descriptor each with a root

    try:
        files.write(f"{deep}/file", "text")

        assert files.read(f"{deep}/file") == "text"
    finally:
        subprocess.run(["rm", "-rf", work / "d"], check=True)  # Python calls itself for each
    for path in ("e/" * 100_000 + "file", "e" * 5000):
        for act in (files.read, files.entries, lambda name: files.write(name, "x")):
            with pytest.raises(Refused, match=r"File name too long \(os error 36\)"):
                act(path)
    assert os.listdir(work) == []


@BOTH
def test_nobody_reads_half_a_file(make: Make, work: Path) -> None:
    files = make(work, 10_000_000)
    texts = {letter * 3_000_000 for letter in "ab"}
    files.write("file", "a" * 3_000_000)
    done = threading.Event()

    def write() -> None:
        for text in [*texts] * 10:
            files.write("file", text)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(files.read("file"))
    writer.join()

    assert seen <= texts


@BOTH
def test_a_file_that_grows_while_it_is_read_does_not_pass_the_limit(make: Make, work: Path) -> None:
    (work / "exact").write_text("x" * 1000)
    (work / "large").write_text("x" * 1001)
    if make is roaming:  # its size is said to be 0
        with pytest.raises(Refused, match="is too large"):
            roaming(work, 5).read("/proc/self/status")

    assert len(make(work).read("exact")) == 1000
    with pytest.raises(Refused, match=r"'large' is too large \(1001 bytes, max 1000 bytes\)"):
        make(work).read("large")


@BOTH
def test_what_vanishes_while_a_folder_is_listed_is_left_out(make: Make, work: Path) -> None:
    (work / "stays").touch()
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            for number in range(20):
                (work / f"f{number}").touch()
            for number in range(20):
                (work / f"f{number}").unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        listings = [make(work).entries(".") for _ in range(300)]
    finally:
        done.set()
        thread.join()

    assert all("stays" in [entry["name"] for entry in listing] for listing in listings)


@BOTH
def test_many_who_write_the_same_new_folder_do_not_disturb_each_other(
    make: Make, work: Path
) -> None:
    files = make(work)
    problems: list[Exception] = []

    def write(number: int) -> None:
        try:
            for deep in range(30):
                files.write(f"{deep}/a/b/{number}", "text")
        except Refused as problem:
            problems.append(problem)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert len(list(work.glob("*/a/b/*"))) == 120


# --- the root


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """Return a root with ways out of it, beside a folder where nobody may go."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "a" / "b", root / "in", outside / "in"):
        folder.mkdir(parents=True)
    for folder in (outside, outside / "in"):
        (folder / "file").write_text(SECRET)
    for folder in (root, root / "a", root / "in"):
        (folder / "file").write_text("from inside")
    (root / "out").symlink_to(outside)
    (root / "up").symlink_to("../outside")
    (root / "a" / "far").symlink_to("../../outside")
    (root / "a" / "b" / "higher").symlink_to("../../../../../../../../../..")
    (root / "slash").symlink_to("/")
    (root / "secret").symlink_to(outside / "file")
    (root / "loop").symlink_to("loop")
    (root / "chain").symlink_to("a/near/../../out")
    (root / "a" / "near").symlink_to("b")
    (root / "self").symlink_to("/proc/self/root")
    (root / "back").symlink_to("../root/../outside")
    (root / "home").symlink_to(root)
    (root / "moving").mkdir()
    (root / "moving" / "file").write_text("from inside")
    (root / "moving" / "in").mkdir()
    return root


PARTS = (
    *("..", ".", "", "a", "b", "in", "file", "new", "moving", "moving", "moving"),
    *("out", "up", "far", "higher", "slash", "secret", "loop", "chain", "near", "self"),
    *("back", "home", "...", ".. ", "..\\", "%2e%2e", "outside", "root", "proc", "etc", "passwd"),
)


def tricks(house: Path) -> Iterator[str]:
    chance = random.Random(9)
    starts = ("", "", "", "", "/", "//", f"{house}/", f"{house}/../outside/", f"{house}x/", "./")
    for _ in range(TRICKS):
        parts = chance.choices(PARTS, k=chance.randint(1, 6))
        last = chance.choice(("", "/", "/file", "/file", "/in/file", "/.", "/new"))
        yield chance.choice(starts) + "/".join(parts) + last


@contextmanager
def renaming(house: Path) -> Iterator[None]:
    """Have `moving` be a folder at one moment and a link to the outside at the next."""
    moving, spare, link = house / "moving", house / "spare", house / "link"
    link.symlink_to("../outside")
    done = threading.Event()

    def swap() -> None:
        for count in itertools.count():
            for old, new in ((moving, spare), (link, moving), (moving, link), (spare, moving)):
                try:
                    os.rename(old, new)
                except OSError:  # somebody made a folder of that name meanwhile
                    with suppress(OSError):
                        os.rename(moving, house / f"trash{count}")
            if done.is_set():
                return

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def snapshot(folder: Path) -> dict[str, str]:
    return {str(path): path.read_text() if path.is_file() else "" for path in folder.rglob("*")}


def test_no_trick_leads_out_of_the_root_while_somebody_renames(house: Path) -> None:
    files = confined(house)
    outside = house.parent / "outside"
    before = snapshot(house.parent / "outside"), sorted(os.listdir(house.parent))
    names = {os.fsencode(name) for name in os.listdir("/")}
    done = {"read": 0, "written": 0, "listed": 0}
    with renaming(house):
        for number, path in enumerate(tricks(house)):
            for attempt in range(3):
                try:
                    assert files.read(path) != SECRET, path
                    done["read"] += 1
                except Refused:
                    pass
                try:
                    files.write(path, f"{number} {attempt}")
                    done["written"] += 1
                except Refused:
                    pass
                try:
                    listed = {os.fsencode(str(entry["name"])) for entry in files.entries(path)}
                    assert not names <= listed, path
                    done["listed"] += 1
                except Refused:
                    pass

    assert (snapshot(outside), sorted(os.listdir(house.parent))) == before
    assert min(done.values()) > 100  # the tricks are not refused for another reason


@pytest.mark.parametrize(
    "path",
    [
        *("..", "../outside/file", "a/../../outside/file", "a/../file", "out/file", "up/file"),
        *("a/far/file", "a/b/higher/etc/passwd", "slash/etc/passwd", "secret", "chain/file"),
        *("self/etc/passwd", "back/file", "/etc/passwd", "/", "//etc/passwd", "home/../file"),
    ],
)
def test_what_leads_out_is_refused_by_every_method(path: str, house: Path) -> None:
    files = confined(house)
    for act in (files.read, files.entries, lambda name: files.write(name, "x")):
        with pytest.raises(Refused):
            act(path)

    assert snapshot(house.parent / "outside")[str(house.parent / "outside/file")] == SECRET


def test_a_link_that_leads_out_is_told_as_such(house: Path) -> None:
    with pytest.raises(Refused, match="failed to stat 'out/file': the path leads out of the root"):
        confined(house).read("out/file")


def test_a_link_that_goes_round_is_refused(house: Path) -> None:
    with pytest.raises(Refused, match=r"Too many levels of symbolic links \(os error 40\)"):
        confined(house).read("loop/file")


def test_what_lies_in_the_root_is_found_by_every_way(house: Path) -> None:
    files = confined(house)

    for path in ("a/file", f"{house}/a/file", "home/a/file", "a/near/../file", "./a//file"):
        if ".." in path:
            with pytest.raises(Refused):
                files.read(path)
        else:
            assert files.read(path) == "from inside"
    assert [entry["name"] for entry in files.entries("a")] == ["b", "far", "file", "near"]
    assert len(files.entries(str(house))) == len(files.entries(".")) == len(os.listdir(house))


def test_a_root_that_is_reached_by_a_link_is_known_by_both_names(house: Path) -> None:
    other = house.parent / "other"
    other.symlink_to(house)
    files = Files(str(other / "a"), root=str(other), most=100)

    assert files.read("file") == "from inside"
    assert files.read(f"{other}/a/file") == files.read(f"{house}/a/file") == "from inside"


def test_a_working_folder_outside_of_the_root_is_refused(house: Path) -> None:
    with pytest.raises(Outside):
        Files(str(house.parent), root=str(house), most=100)


def test_a_folder_beside_the_root_with_a_like_name_is_outside(house: Path) -> None:
    sibling = house.parent / "root-too"
    sibling.mkdir()
    (sibling / "file").write_text(SECRET)

    with pytest.raises(Refused, match="leads out"):
        confined(house).read(str(sibling / "file"))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_daemon_keeps_files_in_its_root_and_commands_go_where_they_like(
    transport: str, house: Path
) -> None:
    words = ("--root", str(house), "--workdir", str(house / "a"))
    with running(house.parent / "home", *words, transport=transport) as daemon:
        talk = daemon.connect()

        refused = talk.ask("read_file", ["far/file"])["error"]
        assert refused == {
            "code": -32603,
            "message": "failed to stat 'far/file': the path leads out of the root",
        }
        assert talk.result("read_file", path="file") == {"content": "from inside"}
        assert talk.result("exec", cmd="cat far/file")["stdout"] == SECRET
