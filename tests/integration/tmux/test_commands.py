"""What is written arrives: commands, texts, keys and metadata, whatever tmux would read in them."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import HANDED_OVER, LIMIT, SCRIBE, City

from gascity.config.screens import shipped
from gascity.core.observed import BACKEND, Exited
from gascity.screens.rules import RuleBook, Rules
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually

pytestmark = pytest.mark.tmux

ODD = [
    ";",
    "a;",
    "a\\;",
    "a ; kill-server",
    "-t",
    "-- -l x",
    "--",
    "#{pid} #(id) #S ##",
    "%begin 1 2 1",
    "$HOME ~ `id` $(id)",
    "{ kill-server }",
    "'single' \"double\" \\back\\",
    "C-c",
    "Enter",
    "=name:",
    "héllo ☃ 🎉",
]


# --- texts


@pytest.mark.parametrize("text", ODD)
def test_a_text_arrives_as_it_is(city: City, text: str) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)

    assert provider.nudge("a", text, timeout=LIMIT).delivery in HANDED_OVER

    assert eventually(city.heard) == [text]
    assert city.sessions() == ["a"]


def test_a_text_in_copy_mode_arrives_whole(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(f"seq 200; {SCRIBE}"), timeout=LIMIT)
    eventually(lambda: "200" in provider.peek("a", 3, timeout=LIMIT))
    city.tmux("copy-mode", "-u", "-t", "=a:")
    assert city.ask("a", "#{pane_in_mode}") == "1"

    provider.nudge("a", "quit jkl / search ? G", timeout=LIMIT)

    assert eventually(city.heard) == ["quit jkl / search ? G"]
    assert city.ask("a", "#{pane_in_mode}") == "0"


def test_keys_in_copy_mode_arrive(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    city.tmux("copy-mode", "-t", "=a:")

    provider.send_keys("a", ["q", "-", ";", "'", "~", "Enter"], timeout=LIMIT)

    assert eventually(city.heard) == ["q-;'~"]


@pytest.mark.parametrize("mode", ["choose-tree", "clock-mode"])
def test_a_text_arrives_in_the_other_modes_of_a_pane(city: City, mode: str) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    city.tmux(mode, "-t", "=a:")
    assert city.ask("a", "#{pane_in_mode}") == "1"

    provider.nudge("a", "hello", timeout=LIMIT)

    assert eventually(city.heard) == ["hello"]


# --- metadata


@pytest.mark.parametrize("value", [*ODD, "", "a\nb\n", "x" * 65536, "%41", "\x1b[31m"])
def test_metadata_comes_back_as_it_is(city: City, value: str) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000", meta={"FIRST": value}), timeout=LIMIT)

    provider.set_meta("a", "KEY", value, timeout=LIMIT)

    meta = city.provider().observe(timeout=LIMIT)["a"].meta
    assert meta == {"FIRST": value, "KEY": value}


# --- commands


@pytest.mark.parametrize("text", ODD)
def test_a_command_is_run_as_it_is(city: City, text: str) -> None:
    command = f"printf %s {shlex.quote(text)} >said; exit 5;"

    city.provider().start("a", city.config(command), timeout=LIMIT)

    eventually(lambda: (city.work / "said").exists() and (city.work / "said").read_text())
    assert (city.work / "said").read_text() == text


@pytest.mark.parametrize("size", [17_000, 20_000, 119_000, 200_000, 1_000_000])
def test_a_long_command_is_run_whole(city: City, size: int) -> None:
    provider = city.provider()
    padding = "x" * size

    provider.start("a", city.config(f"printf %s '{padding}' >said; exit 5"), timeout=LIMIT)

    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == Exited(5))
    assert (city.work / "said").read_text() == padding


def test_a_long_command_runs_from_a_file_that_removes_itself(city: City) -> None:
    provider = city.provider()
    secret = f"secret-{city.token[::-1]}"
    command = f": {secret} {'x' * 200_000}\ntouch up; exec sleep 1000"

    provider.start("a", city.config(command), timeout=LIMIT)
    eventually((city.work / "up").exists)

    assert city.records() == ["a"]
    assert not [path for path in city.state.rglob("*") if holds(path, secret)]


def holds(path: Path, text: str) -> bool:
    return path.is_file() and text in path.read_text(errors="replace")


# --- ends


def test_a_dead_pane_is_not_counted_as_running(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("echo bye; sleep 0.2; exit 3"), timeout=LIMIT)
    eventually(lambda: city.ask("a", "#{pane_dead}") == "1")

    assert not provider.is_running("a", timeout=LIMIT)
    assert not provider.process_alive("a", [], timeout=LIMIT)
    assert provider.list_running("", timeout=LIMIT) == []
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery is Delivery.ABSENT
    assert provider.observe(timeout=LIMIT)["a"].life == Exited(3)


def test_an_instant_death_keeps_output_and_status(city: City) -> None:
    provider = city.provider()
    for count in range(12):
        command = f"echo first; echo last words {count}; exit {count}"
        provider.start(f"a{count}", city.config(command), timeout=LIMIT)

    lost = []
    for count in range(12):
        wanted = Exited(count)
        eventually(
            lambda name=f"a{count}", life=wanted: (  # type: ignore[misc] # a lambda has no types
                provider.observe(timeout=LIMIT)[name].life == life
            )
        )
        said = provider.peek(f"a{count}", 5, timeout=LIMIT)
        lost += [said] if said != f"first\nlast words {count}" else []
    # On a busy machine the kernel may hand words over when tmux has closed the pane already.
    assert len(lost) <= 1, lost


def test_a_long_farewell_is_kept_whole(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("seq 5000; exit 1"), timeout=LIMIT)
    eventually(lambda: not provider.is_running("a", timeout=LIMIT))

    assert provider.peek("a", 0, timeout=LIMIT).split() == [str(n) for n in range(1, 5001)]


def test_a_program_that_closes_its_terminal_and_lives_on_is_alive(city: City) -> None:
    provider = city.provider()
    command = "trap '' HUP; exec </dev/null >/dev/null 2>&1; touch closed; exec sleep 1000"
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually((city.work / "closed").exists)

    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        assert provider.is_running("a", timeout=LIMIT)


def test_a_message_goes_by_the_rules_of_today(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE, meta={BACKEND: "demo"}), timeout=LIMIT)
    assert provider.nudge("a", "hello", timeout=LIMIT).delivery in HANDED_OVER

    rules = shipped("demo") or Rules()
    provider.context = replace(provider.context, screens=RuleBook({"demo": rules}))

    receipt = provider.nudge("a", "again", timeout=2.0)
    assert receipt.delivery is Delivery.REFUSED
    assert "input box" in receipt.evidence
