"""Text arrives unchanged, whole, and never mixed with another's."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.session.provider import SessionProvider
from gascity.session.receipts import Delivery
from gascity.testing.conformance.contract import Configure, Contract, together
from gascity.testing.conformance.talk import HANDED_OVER
from gascity.testing.eventually import eventually

# Keeps every byte it reads. On a terminal it behaves as agents do: keys one by one, pastes marked.
RECORDER = r"""
import os, pathlib, sys
record = open(sys.argv[1], "ab", buffering=0)
terminal = os.isatty(0)
if terminal:
    import tty
    tty.setcbreak(0)
    os.write(1, b"\x1b[?2004h")
os.write(1, b"> ")
pathlib.Path(sys.argv[1] + ".up").touch()
while data := os.read(0, 65536):
    record.write(data)
    if terminal:
        os.write(1, data.replace(b"\x1b", b"").replace(b"\r", b"\r\n"))
"""

INTERRUPTIBLE = """
import pathlib, signal
def interrupted(number, frame):
    pathlib.Path("interrupted").touch()
signal.signal(signal.SIGINT, interrupted)
pathlib.Path("up").touch()
while True:
    signal.pause()
"""

DEAF = """
import pathlib, signal
pathlib.Path("up").touch()
while True:
    signal.pause()
"""

TEXTS = {
    "one letter": "x",
    "leading dash": "-x --flag",
    "only a dash": "-",
    "trailing semicolon": "done;",
    "quotes": 'it\'s "quoted" `back` $HOME $(id) \\',
    "key name": "Enter",
    "blanks": "  two  blanks  ",
    "newline": "first\nsecond\n\nfourth",
    "unicode": "Zürich 東京",
    "emoji": "🏙 👩‍🚒 e\N{COMBINING ACUTE ACCENT}",
    "format": "#{pane_id} %s {{.City}} \\n",
    "50 kB": "0123456789" * 5000,
    "50 kB of lines": "a line of words\n" * 3200 + "end",
}


class TextRules(Contract):
    """What `nudge`, `send_keys` and `interrupt` promise, seen from inside the session."""

    @pytest.fixture
    def received(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        script: Callable[..., str],
        tmp_path: Path,
    ) -> Callable[[], str]:
        """Start a session that records its input; return what tells the record."""
        record = tmp_path / "record"
        command = script(RECORDER, str(record))
        provider.start(name, config(command, env={"LC_ALL": "C.UTF-8"}), timeout=self.limit)
        eventually(Path(f"{record}.up").exists)
        return lambda: _as_typed(record.read_bytes())

    @pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
    def test_a_nudge_arrives_unchanged_and_is_submitted(
        self, provider: SessionProvider, name: str, received: Callable[[], str], text: str
    ) -> None:
        answer = provider.nudge(name, text, timeout=self.limit).delivery

        assert answer in HANDED_OVER
        eventually(lambda: received().endswith("\n"))
        eventually(lambda: len(received()) > len(text))
        assert received() == text + "\n"

    def test_control_characters_do_not_arrive(
        self, provider: SessionProvider, name: str, received: Callable[[], str]
    ) -> None:
        provider.nudge(name, "a\x1b[201~b\x03c\x00d\x04e", timeout=self.limit)

        eventually(lambda: received().endswith("\n"))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", received())
        assert provider.is_running(name, timeout=self.limit)

    def test_concurrent_nudges_are_not_mixed(
        self,
        make_provider: Callable[[], SessionProvider],
        provider: SessionProvider,
        name: str,
        received: Callable[[], str],
    ) -> None:
        providers = [provider, make_provider()]
        messages = [f"{letter}\n" * 40 + letter * 3000 for letter in "abcdef"]

        answers = together(
            [
                _nudge(self, providers[number % 2], name, message)
                for number, message in enumerate(messages)
            ]
        )

        assert set(answers) <= HANDED_OVER
        eventually(lambda: len(received()) >= sum(len(message) + 1 for message in messages))
        order = sorted(messages, key=lambda message: received().index(message[0]))
        assert received() == "".join(message + "\n" for message in order)

    def test_a_session_that_does_not_read_cannot_hold_a_nudge_beyond_its_limit(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        script: Callable[..., str],
        work: Path,
    ) -> None:
        provider.start(name, config(script(DEAF)), timeout=self.limit)
        eventually((work / "up").exists)

        begun = time.monotonic()
        answer = together([lambda: provider.nudge(name, "x" * 1_000_000, timeout=2.0).delivery])

        assert time.monotonic() - begun < 10.0
        assert answer != [Delivery.SUBMITTED]
        assert provider.is_running(name, timeout=self.limit)

    def test_characters_and_enter_arrive_as_keys(
        self, provider: SessionProvider, name: str, received: Callable[[], str]
    ) -> None:
        provider.send_keys(name, ["h", "i", "-", ";", "Enter"], timeout=self.limit)

        eventually(lambda: received() == "hi-;\n")

    def test_arrow_keys_arrive_on_a_terminal(
        self, provider: SessionProvider, name: str, received: Callable[[], str]
    ) -> None:
        if not self.has_terminal:
            return

        provider.send_keys(name, ["Down", "Up"], timeout=self.limit)

        eventually(lambda: received() in {"\x1b[B\x1b[A", "\x1bOB\x1bOA"})

    def test_an_interrupt_is_a_signal_to_the_program_and_not_its_end(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        script: Callable[..., str],
        work: Path,
    ) -> None:
        provider.start(name, config(script(INTERRUPTIBLE)), timeout=self.limit)
        eventually((work / "up").exists)

        provider.interrupt(name, timeout=self.limit)

        eventually((work / "interrupted").exists)
        assert provider.is_running(name, timeout=self.limit)


def _as_typed(data: bytes) -> str:
    text = data.decode(errors="replace")
    return text.replace("\x1b[200~", "").replace("\x1b[201~", "").replace("\r", "\n")


def _nudge(
    rules: Contract, provider: SessionProvider, name: str, text: str
) -> Callable[[], Delivery]:
    return lambda: provider.nudge(name, text, timeout=rules.limit).delivery
