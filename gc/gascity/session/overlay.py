"""Placing files into a work folder, and never anywhere else.

Every folder on the way is opened from the work folder down without following links, so neither a
link in the work folder nor one that appears meanwhile leads outside. A link that stays inside is
followed. Files appear whole or not at all.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator

from gascity.errors import ProviderError


def place(work_dir: str, src: str, rel_dst: str = "", *, overwrite: bool) -> None:
    """Copy `src` to `rel_dst` below `work_dir`.

    A folder's content is merged into the folder `rel_dst`; a file becomes `rel_dst`, or lies in
    it under its own name when that is empty, ends with `/` or is a folder. What exists is kept
    unless `overwrite`. Links are copied as links; pipes, sockets and devices are left out.
    Raises ProviderError when the destination lies outside, and OSError when reading or writing
    fails.
    """
    root = os.path.realpath(work_dir)
    if os.path.isdir(src):
        _merge(root, src, rel_dst, overwrite=overwrite)
        return
    wanted = os.path.join(root, rel_dst)
    if rel_dst in ("", ".") or rel_dst.endswith("/") or os.path.isdir(wanted):
        rel_dst = os.path.join(rel_dst, os.path.basename(src))
    folder, name = os.path.split(rel_dst)
    with _folder(root, folder) as descriptor:
        _copy_file(src, descriptor, name, overwrite=overwrite)


def _merge(root: str, src: str, rel_dst: str, *, overwrite: bool) -> None:
    with _folder(root, rel_dst) as descriptor, os.scandir(src) as entries:
        folders = []
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_symlink():
                _copy_link(entry.path, descriptor, entry.name, overwrite=overwrite)
            elif entry.is_dir():
                folders.append(entry)
            elif entry.is_file():
                _copy_file(entry.path, descriptor, entry.name, overwrite=overwrite)
        kept = [e for e in folders if overwrite or _can_hold_files(descriptor, e.name)]
    for entry in kept:
        _merge(root, entry.path, os.path.join(rel_dst, entry.name), overwrite=overwrite)


@contextlib.contextmanager
def _folder(root: str, rel: str) -> Iterator[int]:
    """Open the folder `rel` below `root`, made as needed, and give its descriptor."""
    real = os.path.realpath(os.path.join(root, rel))
    if os.path.commonpath([root, real]) != root:
        raise ProviderError(f"{rel} leads outside of the work folder {root}")
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in os.path.relpath(real, root).split(os.sep):
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=descriptor)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            deeper = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    finally:
        os.close(descriptor)


def _can_hold_files(folder: int, name: str) -> bool:
    """Tell whether `name` is, or can become, a folder; a file of that name is kept instead."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder).st_mode)
    except OSError:
        return not _exists(folder, name)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _copy_file(src: str, folder: int, name: str, *, overwrite: bool) -> None:
    if not overwrite and _exists(folder, name):
        return
    fresh = f".gc-{secrets.token_hex(8)}"
    with open(src, "rb") as source:
        mode = stat.S_IMODE(os.fstat(source.fileno()).st_mode) & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        target = os.open(fresh, flags, 0o600, dir_fd=folder)
        try:
            with open(target, "wb") as file:
                shutil.copyfileobj(source, file)
                os.fchmod(file.fileno(), mode)
            _publish(fresh, folder, name, overwrite=overwrite)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=folder)


def _copy_link(src: str, folder: int, name: str, *, overwrite: bool) -> None:
    fresh = f".gc-{secrets.token_hex(8)}"
    os.symlink(os.readlink(src), fresh, dir_fd=folder)
    try:
        _publish(fresh, folder, name, overwrite=overwrite)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=folder)


def _publish(fresh: str, folder: int, name: str, *, overwrite: bool) -> None:
    if overwrite:
        os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    with contextlib.suppress(FileExistsError):  # it came meanwhile: additive means it stays
        os.link(fresh, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
