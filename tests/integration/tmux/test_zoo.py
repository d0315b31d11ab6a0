"""Messages arrive whole, once and as they are, whatever a program does to its input."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import LIMIT, City
from tests.zoo.keeping import ROOT, session_of
from tests.zoo.ledger import Entry, Faults, Sent, compare, read_log, taken
from tests.zoo.rules import BOOK

from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux

SOON = 1.5  # seconds for what will be refused in the end
DOUBT = 3.0  # seconds for what will not be proven
TEXTS = (
    "x",
    "-n 'one' \"two\" $HOME\n\n  日本語 🎉 e\u0301\r\nand a\ttab;",
    "!ls & then \x1b[201~\rthe \x03rest \\",
    "/word\nlook at @",
    "".join(f"{number} of many words, " for number in range(900)),
)
TAKING = [
    *["plain", "typed-burst", "paste-burst", "alternate", "quoting", "wide", "shell", "slash"],
    *["completing", "folding", "hinting", "queueing", "growing"],
]
SLOWLY = [
    *["late-forgetful", "late-keeping", "sleeper", "deaf", "first-enter", "flickering", "slow"],
]
NUDGES = """
import sys
from tests.zoo.rules import BOOK
from gascity.session.provider import CityContext
from gascity_tmux.provider import Provider

state, name, word, count = sys.argv[1:]
provider = Provider(CityContext("t", "id", state, {}, screens=BOOK))
for number in range(int(count)):
    text = " ".join([f"{word}{number}"] * 100)
    print(provider.nudge(name, text, timeout=60, wait=True).delivery)
provider.close()
"""


class Cage:
    """One program of the zoo, and what it logs."""

    def __init__(
        self,
        city: City,
        program: str,
        settings: Mapping[str, object] | None = None,
        *,
        hasty: bool = False,
    ) -> None:
        self.city = city
        self.name = program
        context = CityContext("t", "id", str(city.state), settings or {}, screens=BOOK)
        self.provider = Provider(context)
        city.made.append(self.provider)
        self._log = city.work / "log"
        env = {"TEST_TOKEN": city.token}
        config = session_of(program, city.work, self._log, env, hasty=hasty)
        self.provider.start(program, config, timeout=LIMIT)
        self.sent: list[Sent] = []

    def nudge(self, text: str, timeout: float = LIMIT, *, raw: bool = False) -> Receipt:
        receipt = self.provider.nudge(self.name, text, timeout=timeout, wait=True, raw=raw)
        self.sent.append(Sent(receipt.delivery, receipt.text))
        return receipt

    def shows(self, text: str) -> None:
        """Return when the program shows this."""
        eventually(lambda: text in self.screen(), within=LIMIT)

    def screen(self) -> str:
        return self.city.tmux("capture-pane", "-p", "-t", f"={self.name}:")

    @property
    def log(self) -> list[Entry]:
        return read_log(self._log)

    @property
    def faults(self) -> Faults:
        return compare(self.sent, self.log)


def deliveries(cage: Cage, texts: Sequence[str]) -> list[Delivery]:
    return [cage.nudge(text).delivery for text in texts]


# --- programs that take messages


@pytest.mark.parametrize("program", TAKING)
def test_every_text_arrives_as_the_receipt_says(city: City, program: str) -> None:
    cage = Cage(city, program)

    assert deliveries(cage, TEXTS) == [Delivery.SUBMITTED] * len(TEXTS)
    assert not cage.faults
    assert taken(cage.log) == [text for _, text in cage.sent]


@pytest.mark.parametrize("program", SLOWLY)
def test_a_program_that_is_slow_or_loses_keys_is_waited_for(city: City, program: str) -> None:
    cage = Cage(city, program)
    texts = ["at once", TEXTS[1]]

    assert deliveries(cage, texts) == [Delivery.SUBMITTED] * len(texts)
    assert not cage.faults
    assert taken(cage.log) == [text for _, text in cage.sent]


@pytest.mark.parametrize("program", ["wide", "folding"])
def test_a_small_terminal_that_shows_only_the_end_is_enough(city: City, program: str) -> None:
    cage = Cage(city, program, {"width": 40, "height": 12})

    texts = [*TEXTS[1:], "\n" * 30 + "below"]

    assert deliveries(cage, texts) == [Delivery.SUBMITTED] * len(texts)
    assert not cage.faults


@pytest.mark.parametrize("text", ["", " \n\x07", "Press up to edit queued messages"])
def test_what_cannot_be_told_from_an_empty_box_is_not_typed(city: City, text: str) -> None:
    cage = Cage(city, "queueing")

    assert cage.nudge(text).delivery is Delivery.REFUSED
    assert cage.nudge("hello").delivery is Delivery.SUBMITTED
    assert taken(cage.log) == ["hello"]


def test_a_person_who_scrolled_back_does_not_stop_a_message(city: City) -> None:
    cage = Cage(city, "plain")
    cage.shows("shortcuts")
    city.tmux("copy-mode", "-t", f"={cage.name}:")

    assert cage.nudge("hello").delivery is Delivery.SUBMITTED
    assert not cage.faults


def test_two_processes_at_once_send_whole_messages(city: City) -> None:
    cage = Cage(city, "paste-burst")
    senders = [
        subprocess.Popen(
            [sys.executable, "-c", NUDGES, str(city.state), cage.name, word, "5"],
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for word in ("left", "right")
    ]
    said = [sender.communicate(timeout=100)[0].split() for sender in senders]

    assert said == [["submitted"] * 5] * 2
    words = [f"{word}{number}" for word in ("left", "right") for number in range(5)]
    assert sorted(taken(cage.log)) == sorted(" ".join([word] * 100) for word in words)


# --- programs that must not be typed at


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("limit", "2. Buy more"),
        ("limited-box", "? for shortcuts"),
        ("login", "Paste your code"),
        ("draft", "? for shortcuts"),
    ],
)
def test_where_nothing_may_be_typed_nothing_is(city: City, program: str, shown: str) -> None:
    cage = Cage(city, program)
    cage.nudge("hello", timeout=SOON)
    cage.shows(shown)
    before = cage.screen()

    assert cage.nudge("hello\nworld", timeout=SOON).delivery is Delivery.REFUSED
    assert {delivery for delivery, _ in cage.sent} == {Delivery.REFUSED}
    assert cage.log == []
    assert cage.screen() == before


def test_a_dialog_that_comes_after_the_box_is_not_typed_at(city: City) -> None:
    cage = Cage(city, "late-dialog")

    assert cage.nudge("hello", timeout=SOON).delivery is Delivery.REFUSED
    assert cage.log == []


def test_a_dialog_that_comes_with_the_text_gets_no_enter(city: City) -> None:
    cage = Cage(city, "paste-dialog")

    assert cage.nudge("hello", timeout=DOUBT).delivery is Delivery.UNVERIFIED
    assert not cage.faults


@pytest.mark.parametrize("program", ["permission", "slow-permission", "stalling"])
def test_a_permission_asked_for_after_a_message_is_not_given(city: City, program: str) -> None:
    cage = Cage(city, program)

    assert cage.nudge("clean up").delivery is Delivery.SUBMITTED
    assert cage.nudge("clean up", timeout=SOON).delivery is Delivery.REFUSED
    assert not cage.faults


def test_a_message_that_is_thrown_away_is_not_called_submitted(city: City) -> None:
    cage = Cage(city, "late-flushing", hasty=True)

    assert cage.nudge("too early", timeout=DOUBT).delivery is Delivery.UNVERIFIED
    assert cage.nudge("in time").delivery is Delivery.SUBMITTED
    assert taken(cage.log) == ["in time"]


def test_a_program_that_ends_on_enter_proves_nothing(city: City) -> None:
    cage = Cage(city, "crash")

    assert cage.nudge("hello").delivery is Delivery.UNVERIFIED
    assert cage.nudge("hello").delivery is Delivery.ABSENT


def test_a_message_that_was_taken_before_is_no_proof_for_the_next(city: City) -> None:
    cage = Cage(city, "doubtful")

    assert cage.nudge("please continue").delivery is Delivery.SUBMITTED
    assert cage.nudge("please continue", timeout=DOUBT).delivery is Delivery.UNVERIFIED
    assert taken(cage.log) == ["please continue"]


def test_a_completion_instead_of_a_submission_is_seen(city: City) -> None:
    cage = Cage(city, "completing")

    assert cage.nudge("look at @").delivery is Delivery.SUBMITTED
    assert cage.nudge("look at @", timeout=DOUBT, raw=True).delivery is Delivery.UNVERIFIED
    assert taken(cage.log) == ["look at @ ."]


def test_a_menu_instead_of_a_submission_is_seen(city: City) -> None:
    cage = Cage(city, "menu")

    assert cage.nudge("please continue", timeout=DOUBT).delivery is Delivery.UNVERIFIED
    assert taken(cage.log) == []


def test_words_that_a_person_types_meanwhile_are_not_submitted(city: City) -> None:
    cage = Cage(city, "overtaken")
    cage.shows("shortcuts")
    person = city.attach(cage.name)
    eventually(lambda: b"shortcuts" in person.shown)

    assert cage.nudge("go on", timeout=12.0).delivery is Delivery.UNVERIFIED
    assert taken(cage.log) == []
    assert "wait, do not go on" in cage.screen()


# --- the zoo bites


def bare_paste(city: City, program: str, text: str, file: Path) -> None:
    """Do what one would do without a thought."""
    file.write_bytes(text.encode())
    target = f"={program}:"
    city.tmux("load-buffer", "-b", "x", str(file))
    city.tmux("paste-buffer", "-p", "-b", "x", "-t", target, ";", "send-keys", "-t", target, "C-m")


@pytest.mark.parametrize(
    ("program", "text", "bitten"),
    [
        ("shell", "!ls", "executed"),
        ("shell", "x\x1b[201~\x15!ls\r", "executed"),
        ("slash", "/word", "executed"),
        ("limit", "hello", "dialog"),
        ("paste-dialog", "hello", "dialog"),
    ],
)
def test_without_care_a_program_does_what_nobody_wanted(
    city: City, tmp_path: Path, program: str, text: str, bitten: str
) -> None:
    cage = Cage(city, program)
    cage.shows("1." if program == "limit" else "shortcuts")
    bare_paste(city, program, text, tmp_path / "text")

    eventually(lambda: bitten in {entry.event for entry in cage.log})


@pytest.mark.parametrize("program", ["paste-burst", "typed-burst", "first-enter", "completing"])
def test_without_care_a_message_stays_unsent(city: City, tmp_path: Path, program: str) -> None:
    cage = Cage(city, program)
    cage.shows("shortcuts")
    bare_paste(city, program, "look at @", tmp_path / "text")

    cage.shows("look at @")
    assert taken(cage.log) == []
