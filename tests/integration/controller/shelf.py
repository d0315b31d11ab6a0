"""A file that answers as the Kubernetes API does where leases are concerned.

Several processes may ask it at once. It has no namespaces but its own.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gascity_kubernetes.problems import Absent, ApiSilent, Taken


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
    def lease(self) -> dict[str, Any]:
        """The lease as it lies there; empty if there is none."""
        with self._alone() as (lease, _):
            return lease

    def put(self, lease: dict[str, Any] | None) -> None:
        """Have another lease there, or none."""
        with self._alone() as (_, write):
            write(lease)

    @property
    def holder(self) -> str:
        found = self.lease.get("spec", {}).get("holderIdentity", "")
        assert isinstance(found, str)
        return found

    def request(
        self, method: str, path: str, *, body: Any = None, timeout: float
    ) -> dict[str, Any]:  # JSON
        self.asked += 1
        if self.silence.exists():
            raise ApiSilent(f"the API did not answer within {timeout:g} s")
        folder, _, name = path.rpartition("/leases")
        if not folder.endswith("/namespaces/here"):
            raise Absent("there is no such namespace", status=404)
        with self._alone() as (lease, write):
            match method:
                case "POST" if lease:
                    raise Taken("there is one already", status=409)
                case "POST":
                    return write(body)
                case _ if not lease or f"/{lease['metadata']['name']}" != name:
                    raise Absent("there is no such lease", status=404)
                case "PUT":
                    now = lease["metadata"]["resourceVersion"]
                    if body["metadata"].get("resourceVersion") != now:
                        raise Taken("it is another version", status=409)
                    return write(body)
        return lease

    @contextmanager
    def _alone(self) -> Iterator[Any]:
        with self.path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            count, lease = json.loads(file.read() or "[0, {}]")

            def write(new: dict[str, Any] | None) -> dict[str, Any]:
                kept = dict(new or {})
                if kept:
                    kept["metadata"] = {**kept["metadata"], "resourceVersion": str(count + 1)}
                file.truncate(0)
                file.write(json.dumps([count + 1, kept]))
                file.flush()
                return kept

            yield lease, write
