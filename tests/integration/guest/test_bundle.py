"""The daemon as one file, on a Python that has nothing else."""

from __future__ import annotations

import ast
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.integration.guest.daemon import request

from gascity.guest.bundle import build

GC = os.path.join(os.path.dirname(sys.executable), "gc")
OLDEST = (3, 9)
BARE = ("-S", "-E", "-I")
ASKED = request("ping") + request("exec", ["echo hi"]) + request("write_file", ["a/b", "c"])
ASKED += request("read_file", ["a/b"]) + request("list_dir", ["a"])


def sources() -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(build())) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    printed = subprocess.run([GC, "guest", "bundle"], capture_output=True, check=True).stdout

    assert printed == build() == build()
    assert printed.startswith(b"#!/usr/bin/env python3\n")


@pytest.mark.parametrize("name", sources())
def test_every_module_is_for_the_oldest_python_and_needs_nothing(name: str) -> None:
    tree = ast.parse(sources()[name], feature_version=OLDEST)
    wanted = {
        module
        for node in ast.walk(tree)
        for module in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [str(node.module)]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    ours = {module for module in wanted if module.startswith("gascity")}

    assert {module.partition(".")[0] for module in wanted - ours} <= sys.stdlib_module_names
    for module in ours - {"gascity", "gascity.guest"}:
        assert f"{module.replace('.', '/')}.py" in sources()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):  # what is evaluated, unlike an annotation
            assert not any(is_union(each) for each in ast.walk(node.value)), ast.unparse(node)


def is_union(node: ast.AST) -> bool:
    """Whether it is `X | None`, which is no syntax error and fails where it is evaluated."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.BitOr)
        and (isinstance(node.right, ast.Constant) and node.right.value is None)
    )


def serve(python: str, folder: Path) -> list[str]:
    (folder / "guest.pyz").write_bytes(build())
    done = subprocess.run(
        [python, *BARE, "guest.pyz", "--stdio"],
        cwd=folder,
        input=ASKED,
        capture_output=True,
        check=True,
        timeout=60,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.stderr == b""
    return done.stdout.decode().splitlines()


ANSWERS = [
    '{"jsonrpc":"2.0","id":1,"result":{"pong":true}}',
    '{"jsonrpc":"2.0","id":1,"result":{"exit_code":0,"stdout":"hi\\n","stderr":""}}',
    '{"jsonrpc":"2.0","id":1,"result":{"success":true}}',
    '{"jsonrpc":"2.0","id":1,"result":{"content":"c"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"entries":[{"name":"b","is_dir":false,"size":1}]}}',
]


def test_it_runs_without_anything_installed(tmp_path: Path) -> None:
    assert serve(sys.executable, tmp_path) == ANSWERS


def test_it_runs_on_the_oldest_python(tmp_path: Path) -> None:
    oldest = os.environ.get("GC_TEST_PYTHON39") or shutil.which("python3.9")
    if oldest is None or subprocess.run([oldest, "-c", ""], check=False).returncode:
        pytest.skip("there is no Python 3.9; GC_TEST_PYTHON39 names one")

    assert serve(oldest, tmp_path) == ANSWERS


def test_it_can_be_executed(tmp_path: Path) -> None:
    serve(sys.executable, tmp_path)
    (tmp_path / "guest.pyz").chmod(0o755)

    done = subprocess.run(
        [tmp_path / "guest.pyz", "--help"], capture_output=True, text=True, check=True
    )

    assert "--max-connections" in done.stdout
