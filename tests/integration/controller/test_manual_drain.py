"""A person has agents drain: they are asked, they acknowledge, and they stay down."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.integration.controller.stage import Bench, Running, agent, up

from gascity.core.actions import EventType
from gascity.core.model import OnDrift, PoolSpec
from gascity.core.observed import DRAIN, DRAINED
from gascity.errors import StopTimedOut
from gascity.testing.eventually import eventually

SESSION = "gc-c-mayor"


def lived(bench: Bench, **changes: object) -> Running:
    running = bench.run(agent("mayor", **changes))
    eventually(up(running, "mayor"))
    return running


def run_of(running: Running) -> str:
    return str(running.ask("status")["agents"][0]["run"])


def test_a_drain_is_answered_when_the_agent_is_asked(bench: Bench) -> None:
    running = lived(bench)
    run = run_of(running)

    (one,) = running.ask("drain", agents=["mayor"])["agents"]

    assert (one["name"], one["state"]) == ("mayor", "draining")
    assert bench.world.sessions[SESSION].meta[DRAIN] == run
    assert running.ask("drain_check", session=SESSION, agent="mayor", run=run)["drain"]
    assert len(running.told(EventType.SESSION_DRAINING)) == 1


def test_one_that_acknowledges_is_stopped_and_stays_down(bench: Bench) -> None:
    running = lived(bench)
    running.ask("drain", agents=["mayor"])

    running.ask("drain_ack", session=SESSION, agent="mayor", run=run_of(running))

    eventually(lambda: SESSION not in bench.world.sessions)
    eventually(lambda: running.states() == {"mayor": "stopped"})
    (view,) = running.ask("status")["agents"]
    assert view["reason"] == "drained with `gc drain`; `gc undrain` brings it back"
    assert bench.world.starts == [SESSION]
    assert not running.told(EventType.SESSION_CRASHED)


def test_one_that_ends_by_itself_while_it_drains_has_not_crashed(bench: Bench) -> None:
    running = lived(bench)
    running.ask("drain", agents=["mayor"])

    bench.world.crash(SESSION, code=0)

    eventually(lambda: running.states() == {"mayor": "stopped"})
    assert not running.told(EventType.SESSION_CRASHED)
    assert bench.world.starts == [SESSION]


def test_one_that_does_not_acknowledge_is_stopped_when_its_time_is_up(bench: Bench) -> None:
    running = lived(bench, drain_timeout=0.3)

    answer = running.ask("drain", agents=["mayor"], wait=True, timeout=20)

    assert answer["agents"][0]["state"] == "stopped"
    assert SESSION not in bench.world.sessions


def test_a_wait_that_is_too_long_says_who_is_left(bench: Bench) -> None:
    running = lived(bench)

    with pytest.raises(StopTimedOut, match="not down in time: mayor"):
        running.ask("drain", agents=["mayor"], wait=True, timeout=0.5)

    eventually(lambda: running.states() == {"mayor": "draining"})


def test_a_drained_agent_stays_down_under_the_next_controller(bench: Bench) -> None:
    running = lived(bench)
    running.ask("drain", agents=["mayor"])
    bench.end()

    second = bench.run(agent("mayor"))
    eventually(lambda: second.states() == {"mayor": "draining"})
    second.ask("drain_ack", agent="mayor")
    eventually(lambda: second.states() == {"mayor": "stopped"})
    bench.end()
    third = bench.run(agent("mayor"))

    eventually(lambda: third.states() == {"mayor": "stopped"})
    assert bench.world.starts == [SESSION]


def test_an_undrain_of_one_that_lives_takes_the_flag_back(bench: Bench) -> None:
    running = lived(bench)
    run = run_of(running)
    running.ask("drain", agents=["mayor"])

    running.ask("undrain", agents=["mayor"])

    eventually(up(running, "mayor"))
    assert {DRAIN, DRAINED}.isdisjoint(bench.world.sessions[SESSION].meta)
    assert run_of(running) == run
    assert not running.ask("drain_check", agent="mayor")["drain"]


def test_an_undrain_brings_one_back_that_is_down(bench: Bench) -> None:
    running = lived(bench)
    running.ask("drain", agents=["mayor"])
    running.ask("drain_ack", agent="mayor")
    eventually(lambda: running.states() == {"mayor": "stopped"})

    (one,) = running.ask("undrain", agents=["mayor"])["agents"]

    assert one["state"] in ("starting", "ready")
    eventually(up(running, "mayor"))


def test_a_restart_brings_a_drained_one_back_too(bench: Bench) -> None:
    running = lived(bench)
    running.ask("drain", agents=["mayor"])
    running.ask("drain_ack", agent="mayor")
    eventually(lambda: running.states() == {"mayor": "stopped"})

    running.ask("restart", agents=["mayor"])

    assert running.states() == {"mayor": "ready"}


def test_a_member_that_drains_by_hand_is_replaced_by_another(bench: Bench) -> None:
    members = tuple(replace(agent(f"crew-{n}"), pool="crew") for n in (1, 2))
    bench.pools = (PoolSpec("crew", 1, 2, members),)
    running = bench.run()
    eventually(up(running, "crew-1"))

    running.ask("drain", agents=["crew-1"])

    eventually(up(running, "crew-2"))
    assert running.states()["crew-1"] == "draining"
    running.ask("drain_ack", agent="crew-1")
    eventually(lambda: "gc-c-crew-1" not in bench.world.sessions)
    assert running.states()["crew-2"] == "ready"


def test_an_undrain_of_one_that_drains_for_its_pool_says_so(bench: Bench) -> None:
    members = tuple(replace(agent(f"crew-{n}"), pool="crew") for n in (1, 2))
    wanted = bench.folder / "wanted"
    wanted.write_text("2")
    bench.pools = (PoolSpec("crew", 0, 2, members, check=f"cat {wanted}"),)
    running = bench.run()
    eventually(up(running, "crew-1", "crew-2"))
    wanted.write_text("1")
    eventually(lambda: running.states() == {"crew-1": "ready", "crew-2": "draining"})

    (one,) = running.ask("undrain", agents=["crew-2"])["agents"]

    assert (one["state"], one["reason"]) == ("draining", "the pool does not need it")


def test_one_that_was_asked_to_drain_for_its_new_configuration_comes_back(bench: Bench) -> None:
    running = lived(bench)
    run = run_of(running)
    bench.end()
    second = bench.run(agent("mayor", fingerprint="g", on_drift=OnDrift.DRAIN))
    eventually(lambda: second.ask("drain_check", agent="mayor")["drain"])

    second.ask("drain_ack", session=SESSION, agent="mayor", run=run)

    eventually(lambda: run_of(second) not in ("", run))
    eventually(up(second, "mayor"))
    assert not second.told(EventType.SESSION_CRASHED)
