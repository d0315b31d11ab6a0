"""Text into a session's input: whole, in order, proven, or not at all."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from tests.integration.subprocess.conftest import LIMIT, City

from gascity.config.screens import shipped
from gascity.core.observed import BACKEND
from gascity.errors import NotSupported
from gascity.screens.rules import RuleBook, Rules
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually

READER = "import sys\nfor line in sys.stdin: print(len(line), line[:3], flush=True)"


@pytest.mark.parametrize("size", [1, 4096, 50_000, 200_000, 1_000_000])
def test_a_text_of_any_size_arrives_whole(city: City, size: int) -> None:
    provider = city.provider()
    provider.start("a", city.config(f"exec {sys.executable} -c '{READER}'"), timeout=LIMIT)

    told = provider.nudge("a", "x" * size, timeout=LIMIT)

    assert told.delivery is Delivery.SUBMITTED
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT).startswith(str(size + 1)))


def test_a_text_nobody_reads_is_not_called_submitted(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    told = provider.nudge("a", "hello", timeout=1.0)

    assert (told.delivery, told.evidence) == (
        Delivery.UNVERIFIED,
        "its program did not read it in time",
    )


def test_a_text_without_room_is_refused_as_a_whole(city: City) -> None:
    provider = city.provider()
    command = f"while [ ! -e go ]; do sleep 0.01; done; exec {sys.executable} -c '{READER}'"
    provider.start("a", city.config(command), timeout=LIMIT)
    assert provider.nudge("a", "first", timeout=1.0).delivery is Delivery.UNVERIFIED

    refused = provider.nudge("a", "y" * 60_000, timeout=1.0)
    (city.work / "go").touch()

    assert refused.delivery is Delivery.REFUSED
    assert provider.nudge("a", "last", timeout=LIMIT).delivery is Delivery.SUBMITTED
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == "6 fir\n5 las")


def test_a_text_larger_than_any_pipe_is_refused(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("cat > /dev/null"), timeout=LIMIT)

    assert provider.nudge("a", "x" * 2_000_000, timeout=5).delivery is Delivery.REFUSED


def test_a_program_that_closed_its_input_refuses(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("exec sleep 1000 < /dev/null"), timeout=LIMIT)

    told = eventually(
        lambda: provider.nudge("a", "hello", timeout=LIMIT).delivery is Delivery.REFUSED
    )

    assert told


@pytest.mark.parametrize(
    ("backend", "raw", "shown"),
    [
        ("demo", False, "[nudge] /crash\nnow\n[nudge]  /exit\t1"),
        ("demo", True, "/crash\nnow\n /exit\t1"),
        ("", False, "/crash\nnow\n /exit\t1"),
    ],
)
def test_a_command_of_the_backend_is_made_harmless_unless_it_is_raw(
    city: City, backend: str, raw: bool, shown: str
) -> None:
    provider = city.provider()
    book = RuleBook({"demo": shipped("demo") or Rules()})
    provider.context = replace(provider.context, screens=book)
    config = replace(city.config("exec cat"), meta={BACKEND: backend} if backend else {})
    provider.start("a", config, timeout=LIMIT)

    told = provider.nudge("a", "/crash\x1b\r\nnow\n /exit\t1", timeout=LIMIT, raw=raw)

    assert (told.delivery, told.text) == (Delivery.SUBMITTED, shown)
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == shown)


def test_keys_are_typed_and_ctrl_c_interrupts(city: City) -> None:
    provider = city.provider()
    command = "trap 'echo interrupted' INT; while :; do read -r x && echo \"got $x\"; done"
    provider.start("a", city.config(command), timeout=LIMIT)

    provider.send_keys("a", ["h", "i", "Space", "é", "Enter"], timeout=LIMIT)
    eventually(lambda: "got hi é" in provider.peek("a", 0, timeout=LIMIT))
    provider.send_keys("a", ["C-c"], timeout=LIMIT)

    eventually(lambda: "interrupted" in provider.peek("a", 0, timeout=LIMIT))


def test_a_key_that_needs_a_terminal_is_not_pretended(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    with pytest.raises(NotSupported, match="Down"):
        provider.send_keys("a", ["x", "Down"], timeout=LIMIT)
