"""A file that answers as the Kubernetes API does where leases are concerned.

Several processes may ask it at once. It has no namespaces but its own.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gascity_kubernetes.problems import Absent, ApiSilent, Taken

Lease = dict[str, Any]  # Any: it is JSON


class Shelf:
    """One lease in a file, which keeps everybody else out while it is read or written.

    While there is a file of the same name with `.silent` added, nothing is answered.
    """

    namespace = "here"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked = 0

    @property
    def silence(self) -> Path:
        return self.path.with_suffix(".silent")

    @property
    def shut(self) -> Path:
        return self.path.with_suffix(".shut")

    @property
    def lease(self) -> Lease:
        """The lease as it lies there; empty if there is none."""
        with self._alone() as (lease, _):
            return lease

    def put(self, lease: Lease | None) -> None:
        """Have another lease there, or none."""
        with self._alone() as (_, write):
            write(lease)

    @property
    def holder(self) -> str:
        found = self.lease.get("spec", {}).get("holderIdentity", "")
        assert isinstance(found, str)
        return found

    def request(self, method: str, path: str, *, body: object = None, timeout: float) -> Lease:
        self.asked += 1
        if self.silence.exists():
            raise ApiSilent(f"the API did not answer within {timeout:g} s")
        folder, _, name = path.rpartition("/leases")
        if not folder.endswith("/namespaces/here"):
            raise Absent("there is no such namespace", status=404)
        with self._alone() as (lease, write):
            if method != "POST" and (not lease or f"/{lease['metadata']['name']}" != name):
                raise Absent("there is no such lease", status=404)
            if method == "POST" and lease:
                raise Taken("there is one already", status=409)
            if method == "GET":
                return lease
            assert isinstance(body, dict)
            if body["metadata"].get("resourceVersion") != _version(lease):
                raise Taken("it is another version", status=409)
            return write(body)

    @contextmanager
    def _alone(self) -> Iterator[tuple[Lease, Callable[[Lease | None], Lease]]]:
        with self.path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            count, lease = json.loads(file.read() or "[0, {}]")

            def write(new: Lease | None) -> Lease:
                kept = dict(new or {})
                if kept:
                    kept["metadata"] = {**kept["metadata"], "resourceVersion": str(count + 1)}
                file.truncate(0)
                file.write(json.dumps([count + 1, kept]))
                file.flush()
                return kept

            yield lease, write


def _version(lease: Lease) -> str | None:
    found: str | None = lease.get("metadata", {}).get("resourceVersion")
    return found
