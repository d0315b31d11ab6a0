"""Files on their way into a pod, with the sh and the tar of this machine: no cluster is needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gascity.errors import ProviderError
from gascity.session import staging

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


class Copied:
    """What unpacking said, and how it ended."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.status = done.returncode
        self.said = done.stderr.decode() + done.stdout.decode()


def copy(
    src: Path | str, work: Path, rel_dst: str = "", *, overwrite: bool = True, shell: str = "sh"
) -> Copied:
    """Do what is done over exec: the archive goes in, and the input does not end after it."""
    archive, size, name = staging.pack(str(src))
    with archive:
        content = b"".join(staging.pieces(archive))
    assert len(content) == size
    words = staging.unpack_words(str(work), rel_dst, name, size, overwrite=overwrite)
    reader, writer = os.pipe()
    with open(reader, "rb") as given, open(writer, "wb") as giver:
        process = subprocess.Popen(
            [shell, *words[1:]], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        given.close()
        with contextlib.suppress(BrokenPipeError):
            giver.write(content)
            giver.flush()
        out, err = process.communicate(timeout=30)  # while the giver still holds the line
        with contextlib.suppress(BrokenPipeError):
            giver.close()
    return Copied(subprocess.CompletedProcess(words, process.returncode, out, err))


@pytest.fixture
def src(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    return folder


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def tree(folder: Path) -> dict[str, str | None]:
    """Return everything below a folder: the content of files, links as `-> target`."""
    found: dict[str, str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = None if path.is_dir() else path.read_text(errors="replace")
    return found


# --- what arrives


@pytest.mark.parametrize("shell", SHELLS)
def test_a_folders_content_is_laid_into_the_work_folder(src: Path, work: Path, shell: str) -> None:
    (src / "a").write_text("1")
    (src / "deep" / "er").mkdir(parents=True)
    (src / "deep" / "er" / "b").write_text("2")
    (src / "hollow").mkdir()

    done = copy(src, work, shell=shell)

    assert (done.status, done.said) == (0, "")
    expected = {"a": "1", "deep": None, "deep/er": None, "deep/er/b": "2", "hollow": None}
    assert tree(work) == expected


def test_a_work_folder_is_made_where_there_is_none(src: Path, work: Path) -> None:
    (src / "a").write_text("1")

    assert copy(src, work / "new" / "er").status == 0
    assert tree(work / "new" / "er") == {"a": "1"}


def test_a_folder_may_go_deeper(src: Path, work: Path) -> None:
    (src / "a").write_text("1")

    assert copy(src, work, "x/y/").status == 0
    assert tree(work) == {"x": None, "x/y": None, "x/y/a": "1"}


@pytest.mark.parametrize(
    ("rel_dst", "where"),
    [("", "name"), (".", "name"), ("new", "new"), ("x/new", "x/new"), ("x/", "x/name")],
)
def test_a_file_becomes_its_destination_or_lies_in_it(
    src: Path, work: Path, rel_dst: str, where: str
) -> None:
    (src / "name").write_text("1")

    assert copy(src / "name", work, rel_dst).status == 0
    assert (work / where).read_text() == "1"


def test_a_file_lies_in_a_folder_that_is_there(src: Path, work: Path) -> None:
    (src / "name").write_text("1")
    (work / "there").mkdir()

    assert copy(src / "name", work, "there").status == 0
    assert tree(work) == {"there": None, "there/name": "1"}


NAMES = [
    "with blanks ",
    " leading",
    "new\nline",
    "ends\n",
    "it's",
    'say "so"',
    "-rf",
    "--",
    "$HOME",
    "`id`",
    "a;b&c|d",
    "*",
    "\\",
    "~",
    "#x",
    "é…😀",
    "%s",
    ".hidden",
    "n" * 200,
    os.fsdecode(b"\xff\xfe"),
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_arrives_as_it_is(src: Path, work: Path, name: str) -> None:
    (src / name).mkdir()
    (src / name / name).write_text("in a folder")
    (src / name / "deep" / "er").mkdir(parents=True)
    (src / name / "deep" / "er" / name).write_text("deeper")
    single = src.parent / name
    single.write_text("alone")

    one = copy(src, work)
    other = copy(single, work, "single/")
    renamed = copy(single, work, f"{name}/new {name}")

    assert [(done.status, done.said) for done in (one, other, renamed)] == [(0, "")] * 3
    assert (work / name / name).read_text() == "in a folder"
    assert (work / name / "deep" / "er" / name).read_text() == "deeper"
    assert (work / "single" / name).read_text() == "alone"
    assert (work / name / f"new {name}").read_text() == "alone"
    assert sorted(os.listdir(work)) == sorted([name, "single"])


def test_modes_of_files_are_kept_and_empty_files_are_files(src: Path, work: Path) -> None:
    for mode in (0o755, 0o600, 0o644, 0o400):
        (src / f"{mode:o}").touch()
        (src / f"{mode:o}").chmod(mode)

    assert copy(src, work).status == 0
    for mode in (0o755, 0o600, 0o644, 0o400):
        found = os.lstat(work / f"{mode:o}")
        assert (stat.S_IMODE(found.st_mode), found.st_size) == (mode, 0)


def test_what_arrives_belongs_to_who_unpacks_it(src: Path, work: Path) -> None:
    (src / "a").touch()
    archive, _, _ = staging.pack(str(src))

    with archive, tarfile.open(fileobj=archive) as tar:
        (found,) = tar.getmembers()
        assert (found.uid, found.gid, found.uname, found.gname) == (0, 0, "", "")
    assert copy(src, work).status == 0
    assert (work / "a").stat().st_uid == os.getuid()


def test_binary_content_arrives_unchanged(src: Path, work: Path) -> None:
    content = os.urandom(3_000_000) + b"\0\n"
    (src / "big").write_bytes(content)

    assert copy(src, work).status == 0
    assert (work / "big").read_bytes() == content


def test_links_arrive_as_links_and_a_single_link_as_its_file(src: Path, work: Path) -> None:
    (src / "file").write_text("1")
    (src / "folder").mkdir()
    (src / "to-file").symlink_to("file")
    (src / "to-folder").symlink_to("folder")
    (src / "to-nothing").symlink_to("/nowhere")

    assert copy(src, work).status == 0
    assert copy(src / "to-file", work, "single").status == 0
    assert tree(work) == {
        "file": "1",
        "folder": None,
        "single": "1",
        "to-file": "-> file",
        "to-folder": "-> folder",
        "to-nothing": "-> /nowhere",
    }


def test_both_names_of_one_file_arrive_whole(src: Path, work: Path) -> None:
    (src / "a").write_text("1")
    (src / "b").hardlink_to(src / "a")

    assert copy(src, work).status == 0
    (work / "a").write_text("2")
    assert tree(work) == {"a": "2", "b": "1"}


# --- what must not break it


@pytest.fixture
def listener(src: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(src)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
        yield "socket"


def test_sockets_and_pipes_are_left_out(src: Path, work: Path, listener: str) -> None:
    os.mkfifo(src / "pipe")
    (src / "file").write_text("1")

    assert copy(src, work).status == 0
    assert tree(work) == {"file": "1"}
    assert copy(src / listener, work).status == 0
    assert copy(src / "pipe", work).status == 0
    assert tree(work) == {"file": "1"}


@pytest.mark.parametrize(
    ("change", "content"),
    [
        (lambda path: path.write_text("1234567"), b"12345"),
        (lambda path: path.write_text("12"), b"12\0\0\0"),
        (lambda path: path.write_text(""), bytes(5)),
    ],
    ids=["grows", "shrinks", "is emptied"],
)
def test_a_file_that_changes_meanwhile_harms_no_other(
    src: Path, work: Path, monkeypatch: pytest.MonkeyPatch, change: object, content: bytes
) -> None:
    (src / "a").write_text("12345")
    (src / "b").write_text("another")
    meanwhile(monkeypatch, src / "a", change)

    assert copy(src, work).status == 0
    assert (work / "a").read_bytes() == content
    assert (work / "b").read_text() == "another"


def test_a_file_that_vanishes_meanwhile_is_left_out(
    src: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (src / "a").write_text("12345")
    (src / "b").write_text("another")
    meanwhile(monkeypatch, src / "a", Path.unlink)

    assert copy(src, work).status == 0
    assert tree(work) == {"b": "another"}


def meanwhile(monkeypatch: pytest.MonkeyPatch, path: Path, change: object) -> None:
    """Change a file right after the archive was told its size."""
    real = tarfile.TarFile.gettarinfo

    def told(tar: tarfile.TarFile, name: str, arcname: str) -> tarfile.TarInfo:
        info = real(tar, name, arcname)
        if name == str(path):
            assert callable(change)
            change(path)
        return info

    monkeypatch.setattr(tarfile.TarFile, "gettarinfo", told)


def test_a_source_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        staging.pack(str(tmp_path / "nothing"))


def test_an_archive_that_is_cut_short_leaves_nothing_behind(src: Path, work: Path) -> None:
    (src / "a").write_text("x" * 100_000)
    archive, size, name = staging.pack(str(src))
    with archive:
        half = archive.read()[: size // 2]

    words = staging.unpack_words(str(work), "", name, size, overwrite=True)
    done = subprocess.run(words, input=half, capture_output=True, timeout=30, check=False)

    assert done.returncode != 0
    assert tree(work) == {}


# --- what is there already


def test_a_file_replaces_a_file_or_is_kept_out(src: Path, work: Path) -> None:
    (src / "a").write_text("new")
    (src / "b").write_text("new")
    (work / "a").write_text("old")

    assert copy(src, work, overwrite=False).status == 0
    assert tree(work) == {"a": "old", "b": "new"}
    assert copy(src, work, overwrite=True).status == 0
    assert tree(work) == {"a": "new", "b": "new"}


def test_a_link_is_replaced_itself_and_not_what_it_leads_to(src: Path, work: Path) -> None:
    (src / "a").write_text("new")
    outside = src.parent / "outside"
    outside.write_text("untouched")
    (work / "a").symlink_to(outside)

    assert copy(src, work, overwrite=False).status == 0
    assert tree(work) == {"a": f"-> {outside}"}
    assert copy(src, work, overwrite=True).status == 0
    assert tree(work) == {"a": "new"}
    assert outside.read_text() == "untouched"


@pytest.mark.parametrize("target", ["folder", "nowhere", "../out"])
def test_a_link_in_the_way_of_a_file_is_kept_or_replaced(
    src: Path, work: Path, target: str
) -> None:
    (work / "folder").mkdir()
    (src.parent / "out").mkdir()
    (work / "a").symlink_to(target)
    (src / "a").write_text("new")

    assert copy(src, work, overwrite=False).status == 0
    assert os.readlink(work / "a") == target
    assert copy(src, work, overwrite=True).status == 0
    assert tree(work) == {"a": "new", "folder": None}
    assert os.listdir(src.parent / "out") == []


def test_a_file_never_takes_the_place_of_a_folder(src: Path, work: Path) -> None:
    (src / "a").write_text("new")
    (work / "a").mkdir()
    (work / "a" / "kept").write_text("1")

    assert copy(src, work, overwrite=False).status == 0
    refused = copy(src, work, overwrite=True)

    assert refused.status == 4
    assert "is a folder" in refused.said
    assert tree(work) == {"a": None, "a/kept": "1"}


def test_a_folder_never_takes_the_place_of_a_file(src: Path, work: Path) -> None:
    (src / "a").mkdir()
    (src / "a" / "in").write_text("new")
    (src / "b").write_text("new")
    (work / "a").write_text("kept")

    refused = copy(src, work, overwrite=True)

    assert refused.status != 0
    assert "is a file, not a folder" in refused.said
    assert tree(work) == {"a": "kept"}
    assert copy(src, work, overwrite=False).status == 0
    assert tree(work) == {"a": "kept", "b": "new"}


def test_a_link_that_stays_inside_is_followed(src: Path, work: Path) -> None:
    (work / "real").mkdir()
    (work / "link").symlink_to("real")
    (src / "link").mkdir()
    (src / "link" / "a").write_text("1")

    assert copy(src, work).status == 0
    assert tree(work) == {"link": "-> real", "real": None, "real/a": "1"}


# --- no way out


@pytest.mark.parametrize("rel_dst", ["../out", "a/../../out", "..", "/etc/x", "a/../.."])
def test_a_destination_outside_is_refused_before_anything_is_sent(rel_dst: str) -> None:
    with pytest.raises(ProviderError, match="leads outside of the work folder /workspace"):
        staging.check(rel_dst, "/workspace")


@pytest.mark.parametrize(
    ("rel_dst", "inside"),
    [
        ("", ""),
        ("a/b", "a/b"),
        ("a/", "a/"),
        ("a/../b", "b"),
        ("..a", "..a"),
        ("/workspace/x", "x"),
        ("/workspace", "."),
    ],
)
def test_a_destination_inside_is_one_below_the_work_folder(rel_dst: str, inside: str) -> None:
    assert staging.check(rel_dst, "/workspace") == inside


@pytest.mark.parametrize("rel_dst", ["link", "link/deep", "link/", "a/../../out", "../out", ".."])
@pytest.mark.parametrize("single", [True, False])
def test_nothing_gets_out_of_the_work_folder(
    src: Path, work: Path, rel_dst: str, single: bool
) -> None:
    (src / "a").write_text("1")
    outside = src.parent / "out"
    outside.mkdir()
    (work / "link").symlink_to(outside)

    refused = copy(src / "a" if single else src, work, rel_dst)

    assert refused.status == 3
    assert "leads outside of the work folder" in refused.said
    assert tree(outside) == {}
    assert "a" not in os.listdir(src.parent)


def test_a_folder_that_is_copied_does_not_follow_a_link_out(src: Path, work: Path) -> None:
    (src / "link").mkdir()
    (src / "link" / "a").write_text("1")
    outside = src.parent / "out"
    outside.mkdir()
    (work / "link").symlink_to(outside)

    assert copy(src, work).status == 3
    assert tree(outside) == {}


def test_nothing_is_left_of_what_was_staged(src: Path, work: Path) -> None:
    (src / "a").mkdir()
    (work / "a").write_text("kept")

    assert copy(src, work).status != 0
    assert os.listdir(work) == ["a"]
