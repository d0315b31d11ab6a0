"""`gc alerts`, `gc mute` and `gc unmute`, with a controller and without."""

from __future__ import annotations

import json
import os
import signal
import time

from tests.cli.conftest import HEAD, LIMIT, City, MakeCity
from tests.living import lives

from gascity.core.memory import Memory
from gascity.journal.alerts import OpenAlert
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

BROKEN = (
    HEAD
    + "max_restarts = 1\n[alerts]\ncommand = 'cat >> told'\n"
    + '[[agents]]\nname = "bad"\nstart_command = "sleep 0.1; exit 3"\n'
    + '[[agents]]\nname = "good"\nstart_command = "sleep 1000"\n'
)


def told(city: City) -> list[dict[str, object]]:
    path = city.folder / "told"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def alerts(city: City) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(city.ok("alerts", "--json"))["alerts"]
    return found


def test_an_alert_is_open_told_once_and_over(make_city: MakeCity) -> None:
    city = make_city(BROKEN)
    assert city.ok("alerts") == "no alerts are open\n"
    city.ok("start", "--detach")
    city.wait_for("bad", "quarantined")

    (alert,) = eventually(lambda: alerts(city), within=LIMIT)
    assert (alert["agent"], alert["severity"], alert["muted"]) == ("bad", "critical", False)
    assert "critical  bad" in city.ok("alerts")
    assert "bad is quarantined" in city.ok("alerts")
    city.write(BROKEN.replace("exit 3", "exec sleep 1000"))

    eventually(lambda: [one["event"] for one in told(city)] == ["raised", "resolved"], within=LIMIT)
    assert alerts(city) == []


def test_what_an_alert_quotes_does_nothing_to_a_terminal(make_city: MakeCity) -> None:
    city = make_city(BROKEN)
    (city.folder / ".gc").mkdir(exist_ok=True)
    journal = Journal(str(city.folder / ".gc" / "city.db"))
    text = "bad cannot start: \x1b[2J\nall is well"
    journal.write([], Memory(), [OpenAlert("quarantine:s", "bad", text, 1.0, 1.0)])
    journal.close()

    shown = city.ok("alerts")

    assert "bad cannot start: \\x1b[2J all is well\n" in shown


def test_a_muted_agent_is_not_told_of_until_it_is_unmuted(make_city: MakeCity) -> None:
    city = make_city(BROKEN)
    assert city.ok("mute", "bad") == "bad: its alerts are muted until `gc unmute`\n"
    city.ok("start", "--detach")
    city.wait_for("bad", "quarantined")
    (alert,) = eventually(lambda: alerts(city), within=LIMIT)
    assert (alert["muted"], alert["told"]) == (True, False)
    assert "muted" in city.ok("alerts")
    for word, muted in (("mute", True), ("unmute", False)):
        found = json.loads(city.ok(word, "good", "--json"))
        assert found == {"agents": [{"name": "good", "muted": muted, "muted_until": None}]}
    assert "for 2h" in city.ok("mute", "bad", "--for", "2h")
    assert told(city) == []

    assert city.ok("unmute", "bad") == "bad: its alerts are told\n"

    eventually(lambda: [one["agent"] for one in told(city)] == ["bad"], within=LIMIT)


def test_alerts_outlive_the_controller_and_are_not_told_twice(make_city: MakeCity) -> None:
    city = make_city(BROKEN)
    city.ok("start", "--detach")
    city.wait_for("bad", "quarantined")
    # A person is told before the controller has written that down.
    eventually(lambda: [one["told"] for one in alerts(city)] == [True], within=LIMIT)
    pid = city.controller()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid), within=LIMIT)
    (alert,) = alerts(city)
    assert alert["told"]
    muted = json.loads(city.ok("mute", "good", "--for", "1h", "--json"))
    assert muted["agents"][0]["name"] == "good"
    assert muted["agents"][0]["muted"] is True
    assert muted["agents"][0]["muted_until"] > time.time()

    city.ok("start", "--detach")
    city.wait_for("bad", "quarantined")
    city.wait_for("good", "ready")

    assert [one["since"] for one in alerts(city)] == [alert["since"]]
    assert len(told(city)) == 1


def test_wrong_words_are_told_in_a_sentence(make_city: MakeCity) -> None:
    city = make_city(BROKEN)
    for words, code, said in (
        (("mute", "nobody"), 4, 'there is no agent "nobody"'),
        (("mute", "bad", "--for", "soon"), 2, '--for cannot be "soon"'),
        (("mute", "bad", "--for", "0s"), 2, "--for must be at least"),
        (("mute",), 2, "missing argument"),
    ):
        done = city.gc(*words)
        assert done.returncode == code
        assert said in done.stderr
