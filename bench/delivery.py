"""Whether messages arrive, at programs that make it hard and at the demo agent, and how soon.

    python bench/delivery.py [--quick] [--only PROGRAM[,PROGRAM]]

Prints one JSON line per program and kind of text and one for all, and ends with 1 when a message
was lost, altered, doubled, executed or wrongly called submitted, or fared in another way than its
program allows for. Every program of the zoo (`tests/zoo`) writes down what it takes, and that is
compared with what the receipts say.

The floor is what a careless person would do: tmux's load-buffer, paste-buffer and Enter in one
command, until the program wrote the message down. `plain` is measured alone, in turn with its
floor; the other programs side by side, so that their times say less.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import string
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gascity.config.screens import shipped
from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND
from gascity.screens.rules import RuleBook
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery, Receipt
from gascity_tmux.provider import Provider

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench import _tmux
from bench._cages import PATIENCE, Cage, Totals
from tests.zoo.ledger import Entry, Sent, compare
from tests.zoo.programs import PROGRAMS
from tests.zoo.rules import BOOK

SIDE_BY_SIDE = 12  # programs that are talked to at once
SIZES = {"1 B": 1, "200 B": 200, "5 KB": 5_000, "50 KB": 50_000, "200 KB": 200_000}
ODD = {
    "multi-line": "first {}\nsecond\n\n    fourth",
    "leading dash": "-{} --flag",
    "trailing semicolon": "do {};",
    "quotes": "{} 'single' \"double\" `back` $HOME #{{pane_id}} %1 ~",
    "emoji": "{} 日本語 🎉 👩‍👩‍👧 e\u0301 🇩🇪 ❤️",
    "CRLF": "one {}\r\ntwo\r\n",
    "control characters": "from {}" + "".join(map(chr, [*range(1, 32), *range(127, 160)])) + "z",
    "!": "!ls {}",
    "/word": "/word {}",
    "ends with backslash": "so {} \\",
    "ends with @": "look {} @",
    "end of paste": "x {}\x1b[201~\r!ls\r",
    "^C": "stop {} \x03\x03",
}
LEFT_OUT = ("overtaken",)  # needs a person at the terminal
SAID = re.compile(r'^● You said: "(.*)"$', re.MULTILINE)
KEPT = 50  # answers of the demo agent that are read at once


def main() -> int:
    options = _options()
    if options.send:
        return _send(*options.send)
    count = 2 if options.quick else 20
    wanted = options.only.split(",") if options.only else [*PROGRAMS, "gc-demo", "two at once"]
    totals = Totals()
    with _tmux.city(0, lambda _: SessionConfig("", "")) as made:
        provider = Provider(_context(f"{made.folder}/.gc"))
        try:
            zoo = Zoo(provider, made.folder, totals)
            if "plain" in wanted:
                for what, texts in _groups(count, quick=options.quick):
                    zoo.measure_with_floor(made.socket, what, texts)
            jobs = [
                (program, what, texts)
                for what, texts in _groups(count, quick=options.quick)
                for program in wanted
                if program in PROGRAMS and program not in ("plain", *LEFT_OUT)
            ]
            with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
                list(threads.map(lambda job: zoo.measure(*job), jobs))
            if "two at once" in wanted:
                zoo.measure_two_at_once(5 if options.quick else 100)
            if "gc-demo" in wanted:
                _measure_demo(provider, made.folder, totals, 20 if options.quick else 500)
        finally:
            for name in provider.list_running("", timeout=_tmux.LIMIT):
                provider.stop(name, grace=0, timeout=_tmux.LIMIT)
            provider.close()
    return totals.end()


class Zoo:
    """All cages of one city."""

    def __init__(self, provider: Provider, folder: str, totals: Totals) -> None:
        self._provider = provider
        self._folder = folder
        self._totals = totals
        self._numbers = itertools.count()

    def measure(self, program: str, what: str, texts: Sequence[str]) -> None:
        cage = self._cage(program)
        receipts = cage.deliver(texts)
        faults, expected = cage.faults(receipts), cage.expected(receipts)
        self._totals.add(program, what, receipts, faults, expected=expected)
        cage.stop()

    def measure_with_floor(self, socket: str, what: str, texts: Sequence[str]) -> None:
        cage, bare = self._cage("plain"), self._cage("plain")
        receipts, floor = [], []
        for text in texts:
            receipts += cage.deliver([text])
            floor += bare.deliver_barely(socket, [receipts[-1].text])
        self._totals.add("plain", what, receipts, cage.faults(receipts), floor=floor)
        cage.stop()
        bare.stop()

    def measure_two_at_once(self, count: int) -> None:
        """Have two processes talk to one program, each as fast as it can."""
        cage = self._cage("paste-burst")
        state = f"{self._folder}/.gc"
        me = [sys.executable, os.path.abspath(__file__), "--send", state, cage.name]
        senders = [
            subprocess.Popen([*me, word, str(count)], stdout=subprocess.PIPE, text=True)
            for word in ("left", "right")
        ]
        lines = [line for sender in senders for line in sender.communicate()[0].splitlines()]
        receipts = [_receipt(line) for line in lines]
        self._totals.add("paste-burst", "two at once", receipts, cage.faults(receipts))
        cage.stop()

    def _cage(self, program: str) -> Cage:
        return Cage(self._provider, self._folder, program, f"{program}-{next(self._numbers)}")


def _measure_demo(provider: Provider, folder: str, totals: Totals, count: int) -> None:
    """Talk to the demo agent, which writes nothing down: what it answers is read instead."""
    command = f"exec {os.path.dirname(sys.executable)}/gc-demo --no-dialog --work-seconds 0"
    config = SessionConfig(command, folder, _tmux.ENV, meta={BACKEND: "demo"})
    provider.start("demo", config, timeout=_tmux.LIMIT)
    receipts: list[Receipt] = []
    heard: list[Entry] = []
    for number in range(count):
        text = f"message {number} of {count}, please"
        receipts.append(provider.nudge("demo", text, timeout=PATIENCE, wait=True))
        if number % KEPT == KEPT - 1 or number == count - 1:
            shown = provider.peek("demo", 0, timeout=_tmux.LIMIT)
            heard += [Entry("submitted", said) for said in SAID.findall(shown)]
            provider.stop("demo", grace=0, timeout=_tmux.LIMIT)
            provider.start("demo", config, timeout=_tmux.LIMIT)
    sent = [Sent(receipt.delivery, receipt.text) for receipt in receipts]
    totals.add("gc-demo", "in a row", receipts, compare(sent, heard))


def _groups(count: int, *, quick: bool) -> list[tuple[str, list[str]]]:
    sizes = list(SIZES.items())[: 3 if quick else None]
    groups = [(name, [_sized(number, size) for number in range(count)]) for name, size in sizes]
    groups += [(name, [odd.format(number) for number in range(count)]) for name, odd in ODD.items()]
    return groups


def _sized(number: int, size: int) -> str:
    """Return a text of that many bytes; every other one has lines."""
    if size == 1:
        return string.ascii_lowercase[number]
    line = "and on, and on, and so on; the quick brown fox jumps over the lazy dog, (once more)"
    text = f"{number}: " + (line + ("\n" if number % 2 else " ")) * (size // len(line) + 1)
    return text[: size - 1] + "."


def _context(state: str) -> CityContext:
    rules = {**BOOK.by_backend}
    demo = shipped("demo")
    if demo is not None:
        rules["demo"] = demo
    return CityContext("bench", "zoo", state, {}, screens=RuleBook(rules))


def _send(state: str, name: str, word: str, count: str) -> int:
    """Be one of two processes that talk to the same session."""
    provider = Provider(_context(state))
    for number in range(int(count)):
        text = " ".join([f"{word}{number}"] * 200)
        receipt = provider.nudge(name, text, timeout=PATIENCE, wait=True)
        print(json.dumps([receipt.delivery, receipt.evidence, receipt.text, receipt.elapsed]))
    provider.close()
    return 0


def _receipt(line: str) -> Receipt:
    delivery, evidence, text, elapsed = json.loads(line)
    return Receipt(Delivery(delivery), evidence, text, 1, elapsed)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few deliveries, none of them large")
    parser.add_argument("--only", default="", metavar="PROGRAM[,PROGRAM]")
    parser.add_argument("--send", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
