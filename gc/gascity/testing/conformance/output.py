"""What a session shows can be read: the last lines, all of them, and after its death."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

from pathlib import Path

from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import LASTING, Configure, Contract
from gascity.testing.eventually import eventually


def count_to(number: int, word: str = "line") -> str:
    """Return shell that prints numbered lines."""
    return f'n=0; while [ $n -lt {number} ]; do n=$((n+1)); echo "{word}-$n."; done'


class OutputRules(Contract):
    """What `peek` and `clear_scrollback` promise about real output."""

    def test_peek_returns_as_many_of_the_last_lines_as_asked_for(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(f"{count_to(20)}; {LASTING}"), timeout=self.limit)
        eventually(lambda: "line-20." in provider.peek(name, 0, timeout=self.limit))

        assert provider.peek(name, 3, timeout=self.limit).rstrip("\n").split("\n") == [
            "line-18.",
            "line-19.",
            "line-20.",
        ]

    def test_peek_without_a_count_returns_all_that_is_kept(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(f"{count_to(200)}; {LASTING}"), timeout=self.limit)
        eventually(lambda: "line-200." in provider.peek(name, 0, timeout=self.limit))

        everything = provider.peek(name, 0, timeout=self.limit).split()
        assert everything == [f"line-{number}." for number in range(1, 201)]
        assert provider.peek(name, -1, timeout=self.limit).split() == everything
        assert provider.peek(name, 5000, timeout=self.limit).split() == everything

    def test_a_line_without_an_end_is_shown(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(f'printf "first\\nprompt> "; {LASTING}'), timeout=self.limit)

        eventually(lambda: "prompt>" in provider.peek(name, 1, timeout=self.limit))
        assert "first" not in provider.peek(name, 1, timeout=self.limit)

    def test_what_goes_to_standard_error_is_shown_in_order(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(
            name, config(f"echo one; echo two >&2; echo three; {LASTING}"), timeout=self.limit
        )

        eventually(lambda: "three" in provider.peek(name, 0, timeout=self.limit))
        assert provider.peek(name, 3, timeout=self.limit).split() == ["one", "two", "three"]

    def test_unicode_and_broken_bytes_can_be_read(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        command = f"printf 'Zürich 東京\\n\\377\\376 after\\n'; {LASTING}"

        provider.start(name, config(command, env={"LC_ALL": "C.UTF-8"}), timeout=self.limit)

        eventually(lambda: "after" in provider.peek(name, 0, timeout=self.limit))
        assert "Zürich 東京" in provider.peek(name, 0, timeout=self.limit)

    def test_a_session_that_says_much_is_not_held_up(
        self, provider: SessionProvider, name: str, config: Configure, work: Path
    ) -> None:
        loud = f"""{self.python} -c 'for n in range(40000): print("x" * 100)'; touch done"""

        provider.start(name, config(f"{loud}; echo the end; {LASTING}"), timeout=self.limit)

        eventually((work / "done").exists, within=self.limit)
        eventually(lambda: "the end" in provider.peek(name, 1, timeout=self.limit))

    def test_cleared_scrollback_is_gone_and_new_output_is_shown(
        self, provider: SessionProvider, name: str, config: Configure
    ) -> None:
        provider.start(name, config(f"{count_to(200, 'old')}; {LASTING}"), timeout=self.limit)
        eventually(lambda: "old-200." in provider.peek(name, 0, timeout=self.limit))

        provider.clear_scrollback(name, timeout=self.limit)
        provider.nudge(name, "something new", timeout=self.limit)

        eventually(lambda: "got something new" in provider.peek(name, 0, timeout=self.limit))
        assert "old-1." not in provider.peek(name, 0, timeout=self.limit)
