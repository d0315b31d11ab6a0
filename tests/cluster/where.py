"""Which cluster the tests use, and what they use in it.

`GC_TEST_KUBECONFIG` names it; its node must be this machine where files are looked at. The image
(`GC_TEST_IMAGE`) needs sh, bash, tmux, tar, git and procps.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile

IMAGE = os.environ.get("GC_TEST_IMAGE", "localhost/agent:1")


def kubeconfig() -> str:
    """Return the configuration of the tests' cluster; "" where none is named."""
    return os.environ.get("GC_TEST_KUBECONFIG", "")


@functools.cache
def missing() -> str:
    """Say why there is no cluster to test with, or the empty string if there is one."""
    if not kubeconfig():
        return "GC_TEST_KUBECONFIG names no cluster"
    if shutil.which("kubectl") is None:
        return "there is no kubectl on the PATH"
    asked = subprocess.run(
        ["kubectl", "--kubeconfig", kubeconfig(), "get", "nodes", "--request-timeout=5s"],
        capture_output=True,
        check=False,
    )
    return "" if asked.returncode == 0 else "no Kubernetes API server answers"


def kubectl(*words: str, check: bool = True, stdin: str | None = None) -> str:
    """Return what kubectl says: the witness that does not use the code under test."""
    done = subprocess.run(
        ["kubectl", "--kubeconfig", kubeconfig(), *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not check or done.returncode == 0, f"kubectl {' '.join(words)}: {done.stderr}"
    return done.stdout


def python() -> tuple[str, list[dict[str, object]]]:
    """Return an interpreter for inside a pod, and the volumes that bring it there."""
    prefix = sys.base_prefix
    if prefix == "/usr":
        library = os.path.dirname(os.__file__)
        return sys.executable, [_shared("python", library, read_only=True)]
    program = os.path.join(prefix, "bin", os.path.basename(os.path.realpath(sys.executable)))
    return program, [_shared("python", prefix, read_only=True)]


def shared_temp() -> dict[str, object]:
    """Return the volume that brings this machine's temporary files into a pod."""
    return _shared("temp", tempfile.gettempdir())


def small() -> dict[str, object]:
    """Return settings of pods that ask for next to nothing."""
    return {
        "image": IMAGE,
        "image_pull_policy": "IfNotPresent",
        "cpu_request": "1m",
        "memory_request": "1Mi",
        "cpu_limit": "",
        "memory_limit": "",
    }


def _shared(name: str, path: str, *, read_only: bool = False) -> dict[str, object]:
    return {"name": name, "mount": path, "host_path": path, "read_only": read_only}
