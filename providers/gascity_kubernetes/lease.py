"""The lead over a city's pods, by a `coordination.k8s.io` Lease.

`election` decides; this reads and writes the lease, one request at a time in a thread of its own.
A second thread does nothing but notice that the time to act is over, however long a request takes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from gascity.errors import GascityError
from gascity.session.leadership import Leadership, Leads, Lost, News, StandsBy
from gascity.session.provider import CityContext
from gascity_kubernetes.api import Api
from gascity_kubernetes.election import (
    ABSENT,
    ACTS,
    DURATION,
    NOBODY,
    Candidate,
    Look,
    Make,
    Over,
    Record,
    Wait,
    Write,
    acts_until,
    called,
    heard_nothing,
    next_step,
    saw,
    was_outrun,
    wrote,
)
from gascity_kubernetes.problems import Absent, Taken
from gascity_kubernetes.settings import Settings

REQUEST = 2.0  # seconds that one request may take
LONGEST_NAME = 40  # characters of the city's name in that of its lease

Lease = Mapping[str, Any]  # JSON of the API


class Requests(Protocol):
    """What a lease needs of the API: see `api.Api`."""

    namespace: str

    def request(
        self, method: str, path: str, *, body: object = None, timeout: float
    ) -> dict[str, Any]:
        """Return what the API answers; raises as `problems` has it."""
        ...


def claim(context: CityContext) -> LeaseLeadership:
    """Return this process's claim to lead a city; raises as `Api` does."""
    api = Api(Settings.read(context.settings, os.environ))
    return LeaseLeadership(api, lease_name(context.city, context.city_id), own_name())


def lease_name(city: str, city_id: str) -> str:
    """Return the name of a city's lease: valid for Kubernetes, and the same for all who ask."""
    plain = re.sub(r"[^a-z0-9]+", "-", city.lower()).strip("-")[:LONGEST_NAME].strip("-")
    unique = hashlib.sha256(f"{city}\0{city_id}".encode()).hexdigest()[:8]
    return "-".join(part for part in ("gc", plain, unique) if part)


def own_name() -> str:
    """Return a name that no other process has; its first part tells people which pod it is."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{secrets.token_hex(4)}"


def clock() -> float:
    """Return the time on a clock that nobody sets, and that goes on while the machine sleeps."""
    number = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(number)


class LeaseLeadership(Leadership):
    """One process's claim to the lease of a city."""

    def __init__(self, api: Requests, name: str, identity: str) -> None:
        self._api = api
        self._name = name
        self._identity = identity
        self._candidate = Candidate(identity)
        self._lease: Lease = {}
        self._acts_until = float("-inf")
        self._told: News | None = None
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._campaign = threading.Thread(target=self._strive, name="lease", daemon=True)
        self._tell: Callable[[News], None] = lambda _: None

    def begin(self, tell: Callable[[News], None]) -> None:
        """See the contract."""
        self._tell = tell
        self._campaign.start()

    def leads(self) -> bool:
        """See the contract."""
        return clock() < self._acts_until and not self._ended.is_set()

    def resign(self, *, give_back: bool) -> None:
        """See the contract."""
        with self._lock:
            led = self.leads()
            self._ended.set()
            self._acts_until = float("-inf")
        if not (give_back and led):
            return
        self._campaign.join(REQUEST)  # what it asked for last must not come after
        with contextlib.suppress(GascityError):  # then the others wait until it is sure
            self._put("", transitions=self._record.transitions, acquired="")

    # --- the two threads

    def _strive(self) -> None:
        try:
            self._take_steps()
        finally:  # one who cannot strive any more must not seem to stand by
            self._lose("it cannot go on asking for it")

    def _take_steps(self) -> None:
        while not self._ended.is_set():
            now = clock()
            match next_step(self._candidate, now):
                case Wait(until):
                    self._ended.wait(until - now)
                case Over(why):
                    self._lose(why, late=self._leader() != "" or self._is_late())
                case Look():
                    self._ask(self._look)
                case Make():
                    self._ask(self._make)
                case Write(record, why):
                    self._ask(lambda: self._write(record, why))

    def _guard(self) -> None:
        """Notice that the time is over."""
        while not self._ended.wait(max(self._acts_until - clock(), 0.0)):
            if clock() >= self._acts_until:
                why = f"its lease could not be renewed for {ACTS:g} s"
                self._lose(why, late=self._is_late())

    def _is_late(self) -> bool:
        """Tell whether the time of one who led has been over for so long that another may lead."""
        return clock() - self._acts_until >= DURATION - ACTS

    def _lose(self, why: str, *, late: bool = False) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self._ended.set()
            self._acts_until = float("-inf")
        self._tell(Lost(why, late=late))

    # --- the steps

    @property
    def _record(self) -> Record:
        return self._candidate.seen or ABSENT

    def _ask(self, step: Callable[[], None]) -> None:
        try:
            step()
        except (Taken, Absent):
            self._candidate = was_outrun(self._candidate, clock())
        except GascityError as problem:
            self._went_wrong(problem)

    def _went_wrong(self, problem: GascityError) -> None:
        self._candidate = heard_nothing(self._candidate, clock())
        self._stand_by(StandsBy(self._leader(), problem.message))

    def _look(self) -> None:
        try:
            self._lease = self._api.request("GET", self._path(self._name), timeout=self._patience())
        except Absent:
            self._lease = {}
        self._candidate = saw(self._candidate, record_of(self._lease), clock())
        if self._record.holder:
            self._stand_by(StandsBy(self._leader()))

    def _make(self) -> None:
        """Make it in nobody's name: see `election`."""
        body = lease_of({"name": self._name}, NOBODY, 0, _stamp())
        try:
            self._lease = self._api.request("POST", self._path(), body=body, timeout=REQUEST)
        except Absent as problem:  # the namespace
            self._went_wrong(problem)
            return
        self._candidate = saw(self._candidate, record_of(self._lease), clock())
        self._stand_by(StandsBy(self._leader()))

    def _write(self, record: Record, why: str) -> None:
        began = clock()
        is_new = record.holder != self._identity
        self._lease = self._put(
            self._identity,
            transitions=record.transitions + is_new,
            acquired=_stamp() if is_new else record.acquired,
        )
        with self._lock:
            if self._ended.is_set():
                return
            is_first = self._candidate.renewed is None
            self._candidate = wrote(self._candidate, record_of(self._lease), began, clock())
            self._acts_until = acts_until(self._candidate)
        if is_first:
            threading.Thread(target=self._guard, name="lease-guard", daemon=True).start()
            self._tell(Leads(called(self._identity), why))

    def _put(self, holder: str, *, transitions: int, acquired: str) -> dict[str, Any]:
        body = lease_of(self._lease.get("metadata", {}), holder, transitions, acquired)
        path = self._path(self._name)
        return self._api.request("PUT", path, body=body, timeout=self._patience())

    def _path(self, name: str = "") -> str:
        path = f"/apis/coordination.k8s.io/v1/namespaces/{self._api.namespace}/leases"
        return f"{path}/{name}" if name else path

    def _patience(self) -> float:
        """Return how long a request may take: no longer than its success would be of use."""
        left = self._acts_until - clock()
        return min(REQUEST, max(left, 0.1)) if left > 0 else REQUEST

    def _leader(self) -> str:
        holder = self._record.holder
        return "" if holder in ("", NOBODY, self._identity) else called(holder)

    def _stand_by(self, news: StandsBy) -> None:
        if self._candidate.renewed is None and news != self._told:
            self._told = news
            self._tell(news)


def record_of(lease: Lease) -> Record:
    """Return what a lease says; an empty one is not there."""
    spec = lease.get("spec") or {}
    return Record(
        holder=spec.get("holderIdentity") or "",
        version=(lease.get("metadata") or {}).get("resourceVersion", ""),
        duration=float(spec.get("leaseDurationSeconds") or DURATION),
        transitions=int(spec.get("leaseTransitions") or 0),
        acquired=spec.get("acquireTime") or "",
    )


def lease_of(metadata: Mapping[str, Any], holder: str, transitions: int, acquired: str) -> Lease:
    """Return a lease to write; its times are for people, nothing is decided by them."""
    spec: dict[str, object] = {
        "leaseDurationSeconds": int(DURATION),
        "leaseTransitions": transitions,
        "renewTime": _stamp(),
    }
    spec |= {"holderIdentity": holder} if holder else {}
    spec |= {"acquireTime": acquired} if acquired else {}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": dict(metadata),
        "spec": spec,
    }


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
