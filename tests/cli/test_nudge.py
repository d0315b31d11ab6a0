"""`gc nudge` and `gc nudges`: what is proven, what is refused and why, and what is kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import pytest
from tests.cli.conftest import GC, LIMIT, City, Inside, ScreenCity

from gascity.cli.sending import Sent, advice, change, sentence
from gascity.screens.reading import Kind, Reading
from gascity.screens.rules import Rules
from gascity.screens.screen import Screen
from gascity.session.delivery import obstacle
from gascity.testing.eventually import eventually

KEYS = ["agent", "delivery", "evidence", "text", "attempts", "elapsed"]
FALLBACK = advice("a", "for reasons of its own")

# --- on a screen


@pytest.mark.tmux
def test_a_proven_message_says_what_proves_it(screened: ScreenCity) -> None:
    said = screened.ok("nudge", "worker", "good morning")

    assert said.startswith("worker: submitted (")
    assert said.count("\n") == 1
    eventually(lambda: 'You said: "good morning"' in screened.ok("peek", "worker"))


@pytest.mark.tmux
def test_a_message_that_would_act_is_changed_and_the_change_is_told(screened: ScreenCity) -> None:
    said = screened.ok("nudge", "worker", "/exit now")

    assert said.splitlines()[1:] == [
        'it was changed to be harmless; sent was: "[nudge] /exit now"',
    ]
    eventually(lambda: 'You said: "[nudge] /exit now"' in screened.ok("peek", "worker"))


@pytest.mark.tmux
def test_raw_sends_it_as_it_is(screened: ScreenCity) -> None:
    document = json.loads(screened.ok("nudge", "worker", "/help", "--raw", "--json"))

    assert list(document) == KEYS
    assert (document["agent"], document["delivery"]) == ("worker", "submitted")
    assert document["text"] == "/help"
    assert document["attempts"] >= 1
    assert document["evidence"]
    eventually(lambda: "/crash [CODE]" in screened.ok("peek", "worker"))


@pytest.mark.tmux
@pytest.mark.parametrize("how", [["--no-wait"], ["--timeout", "5s"]])
def test_nothing_is_typed_into_a_dialog(screened: ScreenCity, how: list[str]) -> None:
    before = screened.ok("peek", "shy")
    done = screened.gc("nudge", "shy", "1", *how)

    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == (
        'shy: not sent: a dialog is open ("trust");'
        " `gc explain shy` shows it and what would answer it\n"
    )
    assert screened.ok("peek", "shy") == before


@pytest.mark.tmux
def test_a_refusal_as_json_has_the_same_keys_and_the_sentence_beside_it(
    screened: ScreenCity,
) -> None:
    done = screened.gc("nudge", "shy", "hello", "--no-wait", "--json")

    assert done.returncode == 6
    assert list(json.loads(done.stdout)) == KEYS
    assert json.loads(done.stdout)["delivery"] == "refused"
    assert done.stderr.startswith("shy: not sent: ")


@pytest.mark.tmux
def test_a_persons_draft_is_left_alone(screen_city: ScreenCity) -> None:
    screen_city.up()
    screen_city.press("worker", "half a thought")
    eventually(lambda: screen_city.ok("peek", "worker").endswith("> half a thought\n"))
    done = screen_city.gc("nudge", "worker", "hello", "--no-wait")

    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr == (
        "worker: not sent: somebody's unsent words are in its input box;"
        " `gc attach worker` to send or clear them\n"
    )
    assert screen_city.ok("peek", "worker").endswith("> half a thought\n")


@pytest.mark.tmux
def test_waiting_delivers_when_the_person_is_done(screen_city: ScreenCity) -> None:
    screen_city.up()
    screen_city.press("worker", "half a thought")
    eventually(lambda: screen_city.ok("peek", "worker").endswith("> half a thought\n"))
    waiting = subprocess.Popen(
        [GC, "nudge", "worker", "hello"],
        cwd=screen_city.folder,
        env=screen_city.environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    screen_city.press("worker", "Enter")
    out, _ = waiting.communicate(timeout=LIMIT)

    assert (waiting.returncode, out[:17]) == (0, "worker: submitted")
    eventually(lambda: 'You said: "hello"' in screen_city.ok("peek", "worker"))
    assert 'You said: "half a thought"' in screen_city.ok("peek", "worker")


@pytest.mark.tmux
def test_what_is_not_proven_says_not_to_send_it_again(screened: ScreenCity) -> None:
    done = screened.gc("nudge", "plain", "hello", "--timeout", "4s")

    assert (done.returncode, done.stdout) == (6, "")
    assert done.stderr.startswith("plain: not proven: ")
    assert done.stderr.endswith(
        "; look with `gc peek plain`, and do not send it again before you know\n"
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.tmux
def test_without_a_controller_it_is_the_same(screen_city: ScreenCity) -> None:
    screen_city.up()
    os.kill(screen_city.controller(), signal.SIGTERM)
    eventually(lambda: screen_city.controller() == 0)

    assert screen_city.ok("nudge", "worker", "/exit").splitlines()[1:] == [
        'it was changed to be harmless; sent was: "[nudge] /exit"'
    ]
    refused = screen_city.gc("nudge", "shy", "hello", "--no-wait")
    assert refused.returncode == 6
    assert 'a dialog is open ("trust")' in refused.stderr


# --- kept


@pytest.mark.tmux
def test_a_queued_message_is_delivered_when_the_agent_is_free(screen_city: ScreenCity) -> None:
    screen_city.up()
    said = screen_city.ok("nudge", "shy", "hello\nagain", "--queue")
    (kept,) = json.loads(screen_city.ok("nudges", "--json"))["nudges"]

    assert said == (
        f"shy: queued as {kept['number']} (it is kept until its agent can take it);"
        f" `gc nudges cancel {kept['number']}` takes it back\n"
    )
    assert (kept["agent"], kept["text"], kept["state"]) == ("shy", "hello\nagain", "pending")

    screen_city.press("shy", "Enter")

    eventually(lambda: "submitted" in screen_city.ok("nudges"), within=LIMIT)
    eventually(lambda: 'You said: "hello' in screen_city.ok("peek", "shy"), within=LIMIT)
    assert screen_city.ok("peek", "shy").count('You said: "hello') == 1


@pytest.mark.tmux
def test_a_queued_message_can_be_taken_back(screened: ScreenCity) -> None:
    document = json.loads(
        screened.ok("nudge", "shy", "hello", "--queue", "--expires", "1h", "--json")
    )
    number = document["number"]

    assert list(document) == [*KEYS, "number", "expires_at"]
    assert document["delivery"] == "queued"
    assert 3500 < document["expires_at"] - time.time() < 3601
    assert screened.ok("nudges", "cancel", str(number)) == f"message {number} is taken back\n"
    again = screened.gc("nudges", "cancel", str(number))
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == f"error: message {number} cannot be taken back: it is cancelled\n"


def test_a_city_that_nobody_keeps_keeps_messages(city: City) -> None:
    assert city.ok("nudges") == "no messages are queued, and none were\n"
    missing = city.gc("nudges", "cancel", "1")
    assert (missing.returncode, missing.stderr) == (
        4,
        "error: there is no message 1\nhint: `gc nudges` lists them\n",
    )

    said = city.ok("nudge", "a", "for later", "--queue")
    assert said == (
        "a: queued as 1 (no controller runs; the next one delivers it);"
        " `gc nudges cancel 1` takes it back\n"
    )
    head, row = city.ok("nudges").splitlines()
    assert head.split() == ["NUMBER", "AGENT", "STATE", "SINCE", "EXPIRES", "TEXT"]
    assert row.split()[:3] == ["1", "a", "pending"]
    assert row.endswith("  for later")
    assert city.ok("nudges", "cancel", "1", "--json") == '{"number": 1, "state": "cancelled"}\n'


# --- wrong words


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--timeout", "3"], 'error: --timeout cannot be "3": expected a duration'),
        (["--timeout", "1s"], "error: --timeout must be at least 2s and at most 1h\n"),
        (["--timeout", "2h"], "error: --timeout must be at least 2s and at most 1h\n"),
        (["--timeout", "soon"], 'error: --timeout cannot be "soon": expected a duration'),
        (["--expires", "1h"], "error: --expires is for messages that are kept: it needs --queue\n"),
        (["--queue", "--wait"], "error: --queue waits for nothing, so --wait makes no sense"),
        (["--queue", "--no-wait"], "error: --queue waits for nothing, so --no-wait makes no sense"),
        (["--queue", "--timeout", "3s"], "error: --queue waits for nothing, so --timeout makes no"),
        (
            ["--queue", "--expires", "0s"],
            "error: --expires must be at least 1s and at most 8760h\n",
        ),
    ],
)
def test_options_that_make_no_sense_are_told(
    city: City, inside: Inside, words: list[str], says: str
) -> None:
    done = inside("-C", str(city.folder), "nudge", "a", "hello", *words)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"caf\xff", "error: standard input is not UTF-8 text: the byte 0xff at 3 is none\n"),
        (b"a\0b", "error: standard input is not text: there is a NUL character in it\n"),
        (b"\x1b\x07\n", "error: the message is empty\n"),
        (
            b"a" * 1_000_000,
            (
                "error: the message is too long: 1000000 characters\n"
                "hint: save it in a file, and send the path of that\n"
            ),
        ),
    ],
)
def test_standard_input_that_is_no_text_is_told(city: City, data: bytes, says: str) -> None:
    done = subprocess.run(
        [GC, "nudge", "a", "-"],
        input=data,
        cwd=city.folder,
        env=city.environment(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == says


def test_a_word_that_is_no_text_is_told(city: City, inside: Inside) -> None:
    done = inside("-C", str(city.folder), "nudge", "a", "caf\udcff")

    assert (done.returncode, done.stderr) == (2, "error: the message is not UTF-8 text\n")


def test_a_message_that_looks_like_an_option_gets_the_advice(city: City, inside: Inside) -> None:
    done = inside("-C", str(city.folder), "nudge", "a", "-x")

    assert done.returncode == 2
    assert done.stderr.endswith("hint: `gc nudge AGENT -- TEXT` for a message that begins with -\n")


# --- what to do about it


@pytest.mark.parametrize(
    "reading",
    [
        Reading(Kind.DIALOG, rule="trust"),
        Reading(Kind.WAITING, evidence="Do you want to proceed?"),
        Reading(Kind.LIMITED, evidence="resets 3pm"),
        Reading(Kind.AUTH, evidence="Please run /login"),
        Reading(Kind.WORKING),
        Reading(),
        Reading(Kind.WORKING, has_box=True),
    ],
    ids=lambda reading: str(reading.kind),
)
def test_every_refusal_has_advice_of_its_own(reading: Reading) -> None:
    why = obstacle(Screen(()), reading, Rules())

    assert why
    assert advice("a", why) != FALLBACK
    assert "`" in advice("a", why)


def test_a_box_that_is_not_read_has_advice_of_its_own() -> None:
    why = obstacle(Screen((), unread=True), Reading(Kind.READY, has_box=True), Rules())

    assert "--timeout" in advice("a", why)


def test_somebody_who_types_is_waited_for() -> None:
    why = obstacle(Screen((), attached=1, quiet=0.1), Reading(Kind.READY, has_box=True), Rules())

    assert "--queue" in advice("a", why)


@pytest.mark.parametrize("delivery", ["submitted", "unverified", "refused", "absent"])
def test_whatever_became_of_it_is_one_line(delivery: str) -> None:
    said = sentence(Sent("a", delivery, "why\n\x1b[2Jnot", "", 0, 0.0))

    assert said.startswith("a: ")
    assert said.isprintable()


@pytest.mark.parametrize(
    ("given", "sent", "says"),
    [
        ("hello\r\nthere\n", "hello\nthere", ""),
        ("a\tb", "a    b", 'it was changed to be harmless; sent was: "a    b"'),
        ("!ls", "[nudge] !ls", 'it was changed to be harmless; sent was: "[nudge] !ls"'),
        ("a\\", "a\\ ", 'it was changed to be harmless; sent was: "a\\ "'),
    ],
)
def test_only_a_change_is_told(given: str, sent: str, says: str) -> None:
    assert change(given, Sent("a", "submitted", "", sent, 1, 0.0)) == says


def test_of_a_long_message_both_ends_are_shown() -> None:
    said = change(
        "!" + "x" * 5000 + "\\", Sent("a", "submitted", "", "[n] !" + "x" * 5000 + "\\ .", 1, 0)
    )

    assert said.startswith('it was changed to be harmless; sent was: "[n] !xxx')
    assert said.endswith('xxx\\ ."')
    assert len(said) < 300
