"""One program of the zoo in a session, talked to and listened to, and the sum of it all."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench import _tmux
from tests.zoo.keeping import session_of
from tests.zoo.ledger import Faults, Sent, compare, read_log, taken

from gascity.errors import SessionExists
from gascity.session.receipts import Receipt
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

PATIENCE = 60.0  # seconds for a message that will be taken
SOON = 2.5  # seconds for one that never will be
LATEST = 5.0  # seconds for a program to write down what it took
# What becomes of a message at programs that are not talked to twice.
ONCE = {
    "late-forgetful": "submitted",
    "late-keeping": "submitted",
    "late-flushing": "submitted",
    "late-dialog": "refused",
    "paste-dialog": "unverified",
    "crash": "unverified",
    "permission": "submitted",
    "slow-permission": "submitted",
    "stalling": "submitted",
    "doubtful": "submitted",
    "menu": "unverified",
}
NEVER = ("limit", "limited-box", "login", "draft")
UNPROVABLE = ("late-dialog", "paste-dialog", "menu")
ASKING = ("permission", "slow-permission", "stalling")
SHORT = 3  # characters of which nobody could say where they are shown


class Cage:
    """A program of the zoo in a session of its own."""

    def __init__(self, provider: Provider, folder: str, program: str, name: str) -> None:
        self._provider = provider
        self._folder = Path(folder)
        self._program = program
        self.name = name
        self._log = self._folder / f"{name}.log"
        self.start()

    def start(self) -> None:
        config = session_of(self._program, self._folder, self._log)
        with contextlib.suppress(SessionExists):
            self._provider.start(self.name, config, timeout=_tmux.LIMIT)

    def stop(self) -> None:
        self._provider.stop(self.name, grace=0, timeout=_tmux.LIMIT)

    def deliver(self, texts: Sequence[str]) -> list[Receipt]:
        """Nudge with one text after the other."""
        receipts: list[Receipt] = []
        for number, text in enumerate(texts):
            if number and (self._program in ONCE or receipts[-1].delivery == "unverified"):
                self.has_taken(receipts)
                self.stop()
                self.start()
            soon = self._program in (*NEVER, *UNPROVABLE)
            receipts.append(
                self._provider.nudge(
                    self.name,
                    text,
                    timeout=SOON if soon else PATIENCE,
                    wait=self._program not in NEVER,
                )
            )
        return receipts

    def deliver_barely(self, socket: str, texts: Sequence[str]) -> list[float]:
        """Do the same with tmux alone; return the seconds until the program took each."""
        times = []
        file = self._folder / f"{self.name}.text"
        eventually(lambda: "shortcuts" in self._provider.peek(self.name, 5, timeout=_tmux.LIMIT))
        for text in texts:
            file.write_text(text, "utf-8")
            began = time.perf_counter()
            before = self._log.stat().st_size if self._log.exists() else 0
            load = ["load-buffer", "-b", "floor", str(file), ";"]
            paste = ["paste-buffer", "-p", "-d", "-b", "floor", "-t", f"={self.name}:", ";"]
            enter = ["send-keys", "-t", f"={self.name}:", "Enter"]
            subprocess.run(["tmux", "-S", socket, *load, *paste, *enter], check=True)
            self._until_taken(before)
            times.append(time.perf_counter() - began)
        return times

    def _until_taken(self, begin: int) -> None:
        eventually(lambda: taken(read_log(self._log, begin)), every=0.002)

    def has_taken(self, receipts: Sequence[Receipt]) -> None:
        """Return when the program wrote down as much as it should have, or it has been too long."""
        wanted = sum(receipt.delivery == "submitted" for receipt in receipts)
        with contextlib.suppress(AssertionError):
            eventually(lambda: len(taken(read_log(self._log))) >= wanted, within=LATEST)

    def faults(self, receipts: Sequence[Receipt]) -> Faults:
        self.has_taken(receipts)
        sent = [Sent(receipt.delivery, receipt.text) for receipt in receipts]
        return compare(sent, read_log(self._log))

    def expected(self, receipts: Sequence[Receipt]) -> str:
        """Return what should become of these messages."""
        if self._program in ASKING and all(len(r.text) <= SHORT for r in receipts):
            return "unverified"
        return "refused" if self._program in NEVER else ONCE.get(self._program, "submitted")


class Totals:
    """Prints a line per group, and sums up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._receipts: list[Receipt] = []
        self._faults = Faults()
        self._unexpected = 0

    def add(
        self,
        program: str,
        what: str,
        receipts: Sequence[Receipt],
        faults: Faults,
        *,
        expected: str = "submitted",
        floor: Sequence[float] = (),
    ) -> None:
        """Print a group and remember it."""
        odd = [r.evidence for r in receipts if r.delivery != expected]
        row: dict[str, object] = {"bench": "delivery", "program": program, "text": what}
        row |= _numbers(receipts, faults) | {"unexpected": len(odd)}
        if floor:
            least = statistics.median(floor)
            ratio = statistics.median(r.elapsed for r in receipts) / least
            row |= {"floor_ms": _tmux.milliseconds(least), "ratio": round(ratio, 1)}
        if odd:
            row["why"] = Counter(odd).most_common(3)
        with self._lock:
            self._receipts += receipts
            self._faults += faults
            self._unexpected += len(odd)
            print(json.dumps(row, ensure_ascii=False), flush=True)

    def end(self) -> int:
        """Print the sum; return the exit status."""
        row: dict[str, object] = {"bench": "delivery", "program": "all", "text": "all"}
        row |= _numbers(self._receipts, self._faults) | {"unexpected": self._unexpected}
        ok = not self._faults and not self._unexpected
        print(json.dumps({**row, "ok": ok}))
        return 0 if ok else 1


def _numbers(receipts: Sequence[Receipt], faults: Faults) -> dict[str, object]:
    counts = Counter(str(receipt.delivery) for receipt in receipts)
    times = sorted(receipt.elapsed for receipt in receipts)
    return {
        "deliveries": len(receipts),
        **{name: counts[name] for name in ("submitted", "unverified", "refused", "absent")},
        **dataclasses.asdict(faults),
        "false_submitted": faults.false_submitted,
        "p50_ms": _tmux.milliseconds(statistics.median(times)),
        "p95_ms": _tmux.milliseconds(times[int(len(times) * 0.95)]),
    }
