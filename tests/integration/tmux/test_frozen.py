"""A server that does not answer is an outage; what it was asked then it never does later."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

import pytest
from tests.integration.tmux.conftest import HANDED_OVER, LIMIT, SCRIBE, City, frozen

from gascity.core.observed import Alive
from gascity.errors import ProviderUnavailable
from gascity.session.receipts import Delivery, Receipt
from gascity.testing.eventually import eventually
from gascity_tmux import layout
from gascity_tmux.connection import Connection
from gascity_tmux.making import LEFTOVERS
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux


def calls(city: City, provider: Provider, limit: float) -> list[Callable[[], object]]:
    config = city.config("sleep 1000")
    return [
        lambda: provider.observe(timeout=limit),
        lambda: provider.is_running("a", timeout=limit),
        lambda: provider.process_alive("a", [], timeout=limit),
        lambda: provider.list_running("", timeout=limit),
        lambda: provider.last_activity("a", timeout=limit),
        lambda: provider.peek("a", 10, timeout=limit),
        lambda: provider.nudge("a", "while frozen", timeout=limit),
        lambda: provider.send_keys("a", ["x"], timeout=limit),
        lambda: provider.interrupt("a", timeout=limit),
        lambda: provider.set_meta("a", "KEY", "while frozen", timeout=limit),
        lambda: provider.get_meta("a", "KEY", timeout=limit),
        lambda: provider.remove_meta("a", "KEY", timeout=limit),
        lambda: provider.clear_scrollback("a", timeout=limit),
        lambda: provider.copy_to("a", "/etc/hostname", "x", timeout=limit),
        lambda: provider.start("b", config, timeout=limit),
        lambda: provider.stop("a", grace=0.1, timeout=limit),
    ]


def took(call: Callable[[], object]) -> float:
    """Return how long a call takes that ends as an outage."""
    began = time.monotonic()
    with pytest.raises(ProviderUnavailable):
        call()
    return time.monotonic() - began


@pytest.mark.parametrize("knows_it", [True, False], ids=["connected", "new"])
def test_frozen_server_ends_every_call_in_time_as_an_outage(city: City, *, knows_it: bool) -> None:
    first = city.provider()
    first.start("a", city.config(SCRIBE, meta={"KEY": "before"}), timeout=LIMIT)
    provider = first if knows_it else city.provider()
    with frozen(city):
        for call in calls(city, provider, 0.3):
            assert min(took(call) for _ in range(2)) < LEFTOVERS  # no patience of its own

    state = provider.observe(timeout=LIMIT)

    assert list(state) == ["a"]
    assert state["a"].life == Alive()
    assert state["a"].meta == {"KEY": "before"}


def test_frozen_server_what_was_refused_never_happens_later(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config(SCRIBE), timeout=LIMIT)
    with frozen(city):
        for _ in range(3):
            with pytest.raises(ProviderUnavailable):
                provider.nudge("a", "while frozen", timeout=0.2)
            with pytest.raises(ProviderUnavailable):
                provider.start("b", city.config("sleep 1000"), timeout=0.2)

    assert provider.nudge("a", "after", timeout=LIMIT).delivery in HANDED_OVER

    assert eventually(city.heard) == ["after"]
    assert city.sessions() == ["a"]


def shows(city: City, text: str, nudge: Future[Receipt]) -> bool:
    """Tell whether a text is on the screen, or never will be: a nudge has a second."""
    return nudge.done() or text in city.tmux("capture-pane", "-p", "-t", "=a:")


def test_frozen_server_in_the_middle_of_a_nudge_submits_nothing_later(city: City) -> None:
    """A program that reads keys: frozen between the text and its Enter, which is not given."""
    provider = city.provider()
    provider.start("a", city.config(f"stty -icanon; echo up; {SCRIBE}"), timeout=LIMIT)
    eventually(lambda: provider.peek("a", 1, timeout=LIMIT) == "up")
    heard: list[str] = []

    for text in (f"half-{number}" for number in range(20)):
        with ThreadPoolExecutor(1) as threads:
            nudge = threads.submit(provider.nudge, "a", text, timeout=1.0)
            eventually(partial(shows, city, text, nudge), every=0.002)
            with frozen(city):
                is_under_way = not nudge.done()
                wait([nudge])
                heard = city.heard()
        if is_under_way and text not in heard:  # else it was quicker than we are
            break

    assert nudge.result().delivery is Delivery.UNVERIFIED
    assert text not in heard
    eventually(lambda: provider.is_running("a", timeout=LIMIT))
    assert city.heard() == heard


def test_frozen_server_does_later_nothing_of_a_request_that_was_half_written(city: City) -> None:
    """More than a pipe holds: tmux has read nothing of it when time is up."""
    city.provider().start("a", city.config("stty raw -echo; exec cat >heard"), timeout=LIMIT)
    eventually((city.work / "heard").exists)
    words = ["tmux", "-S", city.socket, "-C", "attach-session", "-t", f"={layout.HUB}"]
    connection = Connection(words, {}, lambda _: None)
    connection.ask("display-message -p up", deadline=time.monotonic() + LIMIT)
    typed = "\n".join(["send-keys -t =a: -l xxxxxxxx"] * 20_000)

    with frozen(city), pytest.raises(ProviderUnavailable):
        connection.ask(typed, deadline=time.monotonic() + 0.3)
    city.tmux("send-keys", "-t", "=a:", "-l", "y")

    eventually(lambda: "y" in (city.work / "heard").read_text())
    assert (city.work / "heard").read_text() == "y"


def test_frozen_server_survives_being_asked_many_times(city: City) -> None:
    """A tmux that finds several clients gone that had begun to attach may end by a fault."""
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    provider.close()
    server = city.server()
    with frozen(city):
        for _ in range(5):
            with pytest.raises(ProviderUnavailable):
                city.provider().observe(timeout=0.2)

    assert city.tmux("display-message", "-p", "#{pid}") == str(server)
    assert city.living()
