"""How much is done at once on one provider."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.integration.controller.stage import Bench, agent, up

from gascity.agent import Home
from gascity.controller.act import Hands
from gascity.controller.deeds import Deeds
from gascity.controller.lanes import Lanes
from gascity.controller.messages import Acted, Asked
from gascity.controller.workers import Workers
from gascity.core.actions import EventType, Start
from gascity.core.memory import Memory
from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeProvider


class TwoAtOnce(FakeProvider):
    """Starts two sessions at once, and counts how many that really were."""

    parallel = 2
    most = 0
    now = 0
    guard = threading.Lock()

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        with self.guard:
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            super().start(name, config, timeout=timeout)
        finally:
            with self.guard:
                self.now -= 1


def test_the_limit_is_never_exceeded_and_all_come_up_in_order(bench: Bench) -> None:
    bench.make = TwoAtOnce
    names = [f"a{n}" for n in range(12)]
    gate = threading.Event()
    bench.world.slow = {f"gc-c-{name}": gate for name in names[:2]}

    running = bench.run(*(agent(name) for name in names))
    eventually(lambda: len(bench.world.starts) == 2)
    waiting = running.ask("status")["agents"][-1]
    gate.set()

    eventually(up(running, *names))
    provider = running.controller.providers["fake"]
    assert isinstance(provider, TwoAtOnce)
    assert provider.most == 2
    assert all(late <= 1 for late in overtaken(bench.world.starts, names))
    assert waiting["state"] == "starting"
    assert waiting["reason"].startswith("waits for its turn; starting: ")


def overtaken(starts: list[str], names: list[str]) -> list[int]:
    """Return for each start how many had their turn before it and were made after it.

    Who has its turn has a place, so that is one at most where there are two: both are begun by
    threads of their own, and either may be the quicker one.
    """
    order = [names.index(start.removeprefix("gc-c-")) for start in starts]
    assert sorted(order) == list(range(len(names)))
    return [sum(later < one for later in order[at:]) for at, one in enumerate(order)]


def test_starts_that_hang_hold_up_no_stop(bench: Bench) -> None:
    bench.make = TwoAtOnce
    running = bench.run(agent("mayor"), agent("smith"), agent("baker"))
    eventually(up(running, "mayor", "smith", "baker"))
    gate = threading.Event()
    bench.world.slow = {"gc-c-smith": gate, "gc-c-baker": gate}
    bench.world.crash("gc-c-smith", code=1)
    bench.world.crash("gc-c-baker", code=1)
    eventually(lambda: len(bench.world.starts) == 5)

    answer = running.ask("stop_agents", agents=["mayor"])

    assert answer == {"stopped": ["mayor"]}
    gate.set()
    eventually(up(running, "smith", "baker"))


def test_a_city_is_stopped_though_starts_wait_for_their_turn(bench: Bench) -> None:
    bench.make = TwoAtOnce
    gate = threading.Event()
    bench.world.slow = {"gc-c-a0": gate, "gc-c-a1": gate}
    running = bench.run(*(agent(f"a{n}") for n in range(5)))
    eventually(lambda: len(bench.world.starts) == 2)
    stopped: list[object] = []

    running.controller.post(Asked("stop", {}, stopped.append))
    running.ask("ping")  # from here on nothing new begins
    gate.set()

    eventually(lambda: stopped)
    assert bench.world.sessions == {}
    assert bench.world.starts == ["gc-c-a0", "gc-c-a1"]
    assert len(running.told(EventType.SESSION_STARTED)) <= 2


def test_a_turn_is_given_in_order_and_only_while_there_is_a_place() -> None:
    lanes: Lanes[str] = Lanes(lambda _: 2)
    for number, item in enumerate("abcd"):
        lanes.join(("tmux", True), number, item)

    first, second = list(lanes.turns()), list(lanes.turns())
    lanes.leave(0)
    third = list(lanes.turns())

    assert (first, second, third) == (["a", "b"], [], ["c"])


def test_starts_and_other_deeds_and_providers_do_not_wait_for_each_other() -> None:
    lanes: Lanes[str] = Lanes(lambda _: 1)
    places = [("tmux", True), ("tmux", False), ("subprocess", True)]
    for number, lane in enumerate([*places, *places]):
        lanes.join(lane, number, f"{number}")

    assert list(lanes.turns()) == ["0", "1", "2"]
    assert lanes.send_home(starts=True) == ["3", "5"]


def test_a_deed_that_was_given_up_frees_its_place(bench: Bench) -> None:
    """The stuck call is still there; what it reports later is not listened to."""
    gate = threading.Event()
    bench.world.slow = {"gc-c-a0": gate, "gc-c-a1": gate}
    provider = TwoAtOnce(CityContext("c", "c", str(bench.folder), {}), bench.world)
    hands = Hands({"fake": provider}, Home("c", "c", "/c", {}), 0.5, str(bench.folder / "runs"))
    done: list[Acted] = []
    post: Callable[[object], None] = done.append  # type: ignore[assignment]  # only deeds report here
    deeds = Deeds(hands, Workers(), post)
    deeds.begin(Start(agent(f"a{n}"), "wanted") for n in range(3))
    eventually(lambda: len(bench.world.starts) == 2)

    assert deeds.end(Acted("gc-c-a0", 1, ()), Memory(), 0.0) is not None

    eventually(lambda: len(bench.world.starts) == 3)
    eventually(lambda: [acted.session for acted in done] == ["gc-c-a2"])
    gate.set()
    eventually(lambda: len(done) == 3)
    assert deeds.end(next(a for a in done if a.session == "gc-c-a0"), Memory(), 0.0) is None
