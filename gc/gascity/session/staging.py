"""Files on their way into a work folder elsewhere: packed here, unpacked there.

An archive goes over a stream with its size: a stream has no end that the other side could see.
A file that grows while it is read is cut at the size it had, one that shrinks is filled up with
zeros; pipes, sockets and devices are left out. There it is unpacked beside its place and every
file is moved there whole. No folder on the way may lead outside of the work folder.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from typing import IO

from gascity.errors import ProviderError

SPOOL = 8 * 1024 * 1024  # bytes of an archive that are held in memory
PIECE = 256 * 1024

# work, destination, keep|replace, name of a single file or "", size
UNPACK = r"""
set -eu
work=$1 rel=$2 how=$3 name=$4 size=$5
# What is sent is taken in any case: else nobody would hear why it is not wanted.
refuse() { head -c "$size" >/dev/null; exit 4; }
mkdir -p "$work" && cd "$work" || refuse
root=$(pwd -P)
stage=$(mktemp -d "$root/.gc-staging-XXXXXX") || refuse
trap 'rm -rf "$stage"' EXIT
head -c "$size" | { tar -xf - -o -C "$stage" || { cat >/dev/null; exit 4; }; }
export root rel how stage
if [ -n "$name" ]; then
  # A file becomes its destination, or lies in it where that is a folder.
  case "$rel" in ''|.|*/) to=${rel%/}; as=$name ;; *)
    if [ -d "$root/$rel" ]; then to=$rel as=$name; else
      as=${rel##*/}; case "$rel" in */*) to=${rel%/*} ;; *) to= ;; esac
    fi ;;
  esac
  [ "$as" = "$name" ] || mv "$stage/$name" "$stage/$as"
  rel=$to
fi
cd "$stage"
find . -type d -exec sh -c '
  for one; do
    to="$root/$rel/$one"
    if [ -e "$to" ] && [ ! -d "$to" ]; then
      [ "$how" = replace ] || continue
      echo "$to is a file, not a folder" >&2; exit 4
    fi
    # What is not there yet is made step by step, so that no link on the way leads out.
    real=$root; rest=$rel/$one
    while [ -n "$rest" ]; do
      part=${rest%%/*}
      case "$rest" in */*) rest=${rest#*/} ;; *) rest= ;; esac
      case "$part" in ""|.) continue ;; ..) real=/ ;; esac
      [ "$real" = / ] || [ -d "$real/$part" ] || mkdir "$real/$part"
      # The full stop keeps the end of a line that is part of a name.
      [ "$real" = / ] || { real=$(cd -P "$real/$part" && pwd -P && echo .); real=${real%??}; }
      case "$real/" in "$root"/*) ;; *)
        echo "$rel leads outside of the work folder" >&2; exit 3 ;;
      esac
    done
  done' sh {} + || exit 3
find . ! -type d -exec sh -c '
  for one; do
    to="$root/$rel/$one"
    if [ -e "$to" ] || [ -L "$to" ]; then
      [ "$how" = replace ] || continue
      [ ! -d "$to" ] || [ -L "$to" ] || { echo "$to is a folder" >&2; exit 4; }
      [ ! -L "$to" ] || rm -f "$to"  # what a link leads to is not touched
    fi
    [ -d "${to%/*}" ] || continue
    mv -f "$one" "$to"
  done' sh {} + || exit 4
"""


def unpack_words(work: str, rel_dst: str, name: str, size: int, *, overwrite: bool) -> list[str]:
    """Return the command that takes an archive of that size and puts it in place."""
    how = "replace" if overwrite else "keep"
    return ["/bin/sh", "-c", UNPACK, "gc-unpack", work, rel_dst, how, name, str(size)]


def check(rel_dst: str, work: str) -> str:
    """Return a destination below the work folder; raises ProviderError for one outside of it."""
    if os.path.isabs(rel_dst):
        rel_dst = os.path.relpath(rel_dst, work)
    if ".." in rel_dst.split("/"):
        plain = os.path.normpath(rel_dst)
        if plain.split("/")[0] == "..":
            raise ProviderError(f"{rel_dst} leads outside of the work folder {work}")
        return plain
    return rel_dst


def pack(src: str) -> tuple[IO[bytes], int, str]:
    """Return an archive of a file, or of a folder's content, its size, and the file's name.

    Raises OSError when there is no such source, or it cannot be read.
    """
    archive = tempfile.SpooledTemporaryFile(max_size=SPOOL)  # noqa: SIM115  the caller closes it
    try:
        name = "" if os.path.isdir(src) else os.path.basename(src)
        # Every tar knows this format, the smallest ones too, and it takes names of any bytes.
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            if name:
                _add(tar, os.path.realpath(src), name)
            else:
                for path, arcname in _below(src):
                    with contextlib.suppress(FileNotFoundError):  # it went away meanwhile
                        _add(tar, path, arcname)
        size = archive.tell()
        archive.seek(0)
    except BaseException:  # whatever it is: cleaned up, and raised again
        archive.close()
        raise
    return archive, size, name


def pieces(archive: IO[bytes]) -> Iterator[bytes]:
    """Yield an archive piece by piece."""
    while piece := archive.read(PIECE):
        yield piece


def _below(folder: str) -> Iterator[tuple[str, str]]:
    for path, folders, files in os.walk(folder):
        folders.sort()
        for entry in [*folders, *sorted(files)]:
            whole = os.path.join(path, entry)
            yield whole, os.path.relpath(whole, folder)


def _add(tar: tarfile.TarFile, path: str, arcname: str) -> None:
    """Add one entry; what is neither file, folder nor link is left out."""
    info: tarfile.TarInfo | None = tar.gettarinfo(path, arcname)  # None: a socket
    if info is None or not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        return
    if info.isdir():
        info.mode |= stat.S_IRWXU  # who is not root has to move out what lies in it
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    if info.islnk():
        info.type, info.linkname = tarfile.REGTYPE, ""
        info.size = os.stat(path).st_size
    if not info.isfile():
        tar.addfile(info)
        return
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return
        tar.addfile(info, _Exactly(file, info.size))


class _Exactly(io.RawIOBase):
    """A file as if it had exactly so many bytes, whatever becomes of it meanwhile."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        super().__init__()
        self._file = file
        self._left = size

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: its own, and zeros where it became shorter."""
        wanted = self._left if size < 0 else min(size, self._left)
        found = self._file.read(wanted)
        self._left -= wanted
        return found + bytes(wanted - len(found))
