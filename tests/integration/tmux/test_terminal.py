"""A pane as a terminal: what is seen of it, and what reaches it."""

from __future__ import annotations

import re
import time

import pytest
from tests.integration.tmux.conftest import LIMIT, City

from gascity.core.observed import BACKEND, PROMPT, STARTING
from gascity.screens.box import find_box
from gascity.screens.reading import Kind
from gascity.screens.rules import Box, Region, Rule, RuleBook, Rules
from gascity.screens.screen import Screen
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery
from gascity.session.terminal import Terminal
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux
HINT = (
    "printf '\\033[2J\\033[Hhello\\n> \\033[2mTry this\\033[0m'; printf '\\r\\033[2C'; sleep 1000"
)


def terminal(provider: Provider, name: str) -> Terminal:
    found = provider.terminal(name)
    assert found is not None
    return found


def look(provider: Provider, name: str = "a") -> Screen:
    return terminal(provider, name).look(timeout=LIMIT)


def test_a_look_tells_the_rows_the_cursor_and_the_title(city: City) -> None:
    provider = city.provider()
    script = "printf '\\033]2;a | title\\007one\\n\\n  two'; sleep 1000"
    provider.start("a", city.config(script), timeout=LIMIT)

    eventually(lambda: look(provider).rows == ("one", "", "  two"))

    seen = look(provider)
    assert seen.cursor == (2, 5)
    assert seen.title == "a | title"
    assert (seen.alive, seen.attached, seen.scrolled) == (True, 0, False)


def test_what_is_faint_is_shown_and_not_typed(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(HINT), timeout=LIMIT)

    eventually(lambda: look(provider).rows == ("hello", "> Try this"))

    assert look(provider).typed == ("hello", ">")


def test_a_pane_that_somebody_scrolled_says_so(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    city.tmux("copy-mode", "-t", "=a:")

    assert look(provider).scrolled


def test_a_program_that_ended_and_a_session_that_is_gone_are_not_alive(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("echo bye; sleep 0.2; exit 3"), timeout=LIMIT)
    kept = terminal(provider, "a")

    eventually(lambda: not look(provider).alive)

    assert "bye" in look(provider).text
    provider.stop("a", grace=0, timeout=LIMIT)
    assert not kept.look(timeout=LIMIT).alive
    assert provider.terminal("a") is None


def test_a_person_who_types_is_noticed(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("cat"), timeout=LIMIT)
    assert look(provider).quiet == float("inf")
    person = city.attach("a")
    eventually(lambda: look(provider).attached == 1)

    person.type(b"x")

    eventually(lambda: look(provider).quiet < 60)


def test_a_program_is_made_to_look_at_its_terminal_and_has_its_size_again(city: City) -> None:
    provider = city.provider()
    script = "trap 'echo seen >>seen' WINCH; stty size >before; while :; do sleep 0.05; done"
    provider.start("a", city.config(script), timeout=LIMIT)
    before = city.work / "before"
    eventually(lambda: before.exists() and before.read_text())

    terminal(provider, "a").wake(timeout=LIMIT)

    eventually((city.work / "seen").exists)
    height, width = before.read_text().split()
    assert city.ask("a", "#{pane_height} #{pane_width}") == f"{height} {width}"


def test_several_screens_are_one_answer(city: City) -> None:
    provider = city.provider()
    for name in "abc":
        provider.start(name, city.config(f"echo I am {name}; sleep 1000"), timeout=LIMIT)

    def seen() -> dict[str, str]:
        screens = provider.screens(["a", "b", "nobody"], timeout=LIMIT)
        return {name: screen.text for name, screen in screens.items()}

    eventually(lambda: seen() == {"a": "I am a", "b": "I am b"})


def test_a_screen_that_did_not_change_since_is_left_out(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("echo a; sleep 1000"), timeout=LIMIT)
    eventually(lambda: provider.screens(["a"], timeout=LIMIT)["a"].text == "a")

    assert provider.screens(["a"], since=time.time() + 60, timeout=LIMIT) == {}
    assert "a" in provider.screens(["a"], since=time.time() - 3600, timeout=LIMIT)


# --- which rules a nudge goes by

RULES = Rules(
    backend="boxy",
    box=Box(first=re.compile(r"box> (?P<text>.*)$|box>$"), below=re.compile("^====$"), beneath=1),
    rules=(Rule("prompt", Kind.READY, Region.BOX, box=True),),
)


def with_rules(city: City) -> Provider:
    context = CityContext("t", "id", str(city.state), {}, RuleBook({"boxy": RULES}))
    city.made.append(Provider(context))
    return city.made[-1]


def test_a_session_is_read_by_the_rules_of_the_backend_it_names(city: City) -> None:
    provider = with_rules(city)
    script = "stty raw -echo; printf 'no box here'; sleep 1000"
    config = city.config(script, meta={BACKEND: "boxy"})
    provider.start("a", config, timeout=LIMIT)
    eventually(lambda: look(provider).text == "no box here")

    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.REFUSED
    assert receipt.evidence == "its input box is not on the screen"
    assert look(provider).text == "no box here"


def test_another_process_reads_it_by_the_same_rules(city: City) -> None:
    first = with_rules(city)
    script = "stty raw -echo; printf 'box> half a draft\\r\\n===='; sleep 1000"
    first.start("a", city.config(script, meta={BACKEND: "boxy"}), timeout=LIMIT)
    second = with_rules(city)
    eventually(lambda: find_box(look(second), RULES.box) is not None)

    receipt = second.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.REFUSED
    assert receipt.evidence == "somebody's unsent words are in its input box"


def test_a_prompt_alone_tells_where_the_input_is(city: City) -> None:
    provider = city.provider()
    script = "stty raw -echo; printf 'me> a draft'; sleep 1000"
    provider.start("a", city.config(script, meta={PROMPT: "me> "}), timeout=LIMIT)
    eventually(lambda: look(provider).text == "me> a draft")

    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.REFUSED
    assert look(provider).text == "me> a draft"


def test_nobody_types_at_a_session_that_is_starting(city: City) -> None:
    provider = with_rules(city)
    script = "stty raw -echo; printf 'box> \\r\\n===='; sleep 1000"
    config = city.config(script, meta={BACKEND: "boxy", STARTING: "r"})
    provider.start("a", config, timeout=LIMIT)

    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.REFUSED
    assert receipt.evidence == "it is still starting"


def test_a_person_who_is_typing_is_not_interrupted(city: City) -> None:
    provider = with_rules(city)
    script = "stty raw -echo; printf 'box> \\r\\n===='; sleep 1000"
    provider.start("a", city.config(script, meta={BACKEND: "boxy"}), timeout=LIMIT)
    person = city.attach("a")
    eventually(lambda: look(provider).attached == 1)

    def refused() -> bool:
        person.type(b"\x1b")  # a key that shows nothing
        receipt = provider.nudge("a", "hello", timeout=2.0)
        return receipt.evidence == "somebody is typing there"

    eventually(refused)
    assert "hello" not in look(provider).text
