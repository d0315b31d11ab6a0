"""`gc why` and `gc plan`: with a controller and without one."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator

import pytest
from tests.cli.conftest import HEAD, LIMIT, City, MakeCity, ScreenCity
from tests.living import lives

from gascity.testing.eventually import eventually

KEYS = "name session provider state since cause waits_for until next inputs notes events"
TROUBLED = """\
max_restarts = 1

[[agents]]
name = "well"
dir = "rigs"
start_command = "sleep 1000"
env = { MODE = "old", API_TOKEN = "opensesame-1" }
on_drift = "notify"

[[agents]]
name = "weak"
start_command = "exit 3"

[[agents]]
name = "off"
start_command = "sleep 1000"
suspended = true

[[agents]]
name = "needy"
start_command = "sleep 1000"
depends_on = ["off"]

[[agents]]
name = "smith"
start_command = "sleep 1000"
pool = { min = 0, max = 2 }
"""


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    """Return a running city in which little is well."""
    city = City(tmp_path_factory.mktemp("troubled") / "town", HEAD + TROUBLED)
    done = city.gc("start", "--detach")
    assert done.returncode == 0, done.stderr
    city.wait_for("weak", "quarantined")
    city.wait_for("rigs/well", "ready")
    yield city
    city.end()


def test_a_quarantine_is_told_with_its_times_and_the_way_out(troubled: City) -> None:
    lines = troubled.ok("why", "weak").splitlines()

    assert re.fullmatch(
        r"weak is quarantined on subprocess, since [0-9:]+, ([0-9ms ]+ ago|now)", lines[0]
    )
    assert re.fullmatch(
        r"  it crashed: exited with status 3, too often: 1 restart is used up within 1h; it is"
        r" left alone until [0-9: -]+, in (1h|5[0-9]m [0-9]+s), and `gc reset weak` tries at once",
        lines[1],
    )
    assert lines[2] == "waits for:     the end of its quarantine"
    assert lines[3].startswith("until:         ")
    assert lines[4] == "next:          `gc reset weak` tries at once"
    told = "\n".join(lines[5:])
    assert "session:       gc-town-weak: exited with status 3" in told
    assert "restarts:      1 of 1 within 1h" in told
    past = lines[lines.index("how it came to this:") + 1 :]
    assert len(past) == 5
    assert any("crashed: exited with status 3" in line for line in past)


def test_a_quarantine_after_failed_starts_counts_those(make_city: MakeCity) -> None:
    agent = (
        '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\npre_start = ["echo no; exit 4"]\n'
    )
    delay = HEAD.replace("[daemon]", '[daemon]\nrestart_delay = "10ms"\nmax_restarts = 2')
    city = make_city(delay + agent)
    city.gc("start", "--detach")
    reason = city.wait_for("a", "quarantined")["reason"]

    assert reason == (
        "the start failed: pre_start of gc-town-a failed (4): `echo no; exit 4`: no,"
        " too often: 3 starts failed"
    )
    facts = json.loads(city.ok("why", "a", "--json"))["inputs"]
    assert facts["failed starts"] == "3 of 3 within 1h"


def test_the_document_has_the_promised_keys(troubled: City) -> None:
    document = json.loads(troubled.ok("why", "weak", "--json"))

    assert list(document) == KEYS.split()
    assert document["until"] > document["since"]
    assert document["events"][-1]["agent"] == "weak"
    assert "\x1f" not in json.dumps(document)
    assert "\\u001f" not in json.dumps(document)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("off", "it is suspended in the city file"),
        ("needy", "it depends on off, which is not up, so it waits for off"),
        ("smith-2", "the pool does not need it: 0 of at most 2 are wanted"),
        ("well", "it runs as it should"),
        ("gc-town-off", "it is suspended in the city file"),
    ],
)
def test_the_cause_is_one_sentence(troubled: City, name: str, sentence: str) -> None:
    assert troubled.ok("why", name).splitlines()[1] == f"  {sentence}"


def test_messages_that_wait_are_counted(troubled: City) -> None:
    troubled.ok("nudge", "off", "--queue", "look at the harbour")
    facts = json.loads(troubled.ok("why", "off", "--json"))["inputs"]

    assert facts["messages"] == "1 in the queue; `gc nudges` shows them"


def test_a_plan_tells_what_waits(troubled: City) -> None:
    lines = [re.split(r" {2,}", line) for line in troubled.ok("plan").splitlines()]
    document = json.loads(troubled.ok("plan", "--json"))

    assert lines[0] == ["ACTION", "AGENT", "WHY", "WHEN"]
    assert [line[:2] for line in lines[1:]] == [["wait", "weak"], ["wait", "needy"]]
    assert re.fullmatch(r"[0-9: -]+, in (1h|5[0-9]m [0-9]+s)", lines[1][3])
    assert lines[2][2:] == ["waits for off", "-"]
    assert document["actions"] == []
    assert [list(one) for one in document["waiting"]] == [
        ["agent", "state", "why", "until", "next"],
    ] * 2
    assert len(document["agents"]) == 4


def test_whom_nobody_knows_is_told_with_a_hint(troubled: City) -> None:
    done = troubled.gc("why", "weka")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        'error: there is no agent "weka" in this city\nhint: did you mean "weak"?\n'
    )
    assert troubled.gc("why", "smith").stderr == (
        'error: "smith" is 2 agents\nhint: for example smith-1\n'
    )


def test_drift_is_told_by_its_fields_and_a_refused_file_is_named(make_city: MakeCity) -> None:
    text = HEAD + TROUBLED.partition('[[agents]]\nname = "weak"')[0]
    city = make_city(text)
    city.start()
    city.write(text.replace('"old"', '"new"').replace("opensesame", "abracadabra"))

    def drifted() -> str:
        said = city.ok("why", "rigs/well")
        assert (
            "  its configuration changed (env.API_TOKEN, a secret; env.MODE);"
            " `gc restart rigs/well` replaces it\n"
        ) in said
        return said

    said = eventually(drifted, within=LIMIT)
    city.write("broken = true\n")

    def refused() -> bool:
        return "the city file is refused, an older city runs: " in city.ok("why", "rigs/well")

    assert "opensesame" not in said
    assert "abracadabra" not in said
    assert "differs in env.API_TOKEN, a secret; env.MODE" in said
    eventually(refused, within=LIMIT)
    assert city.gc("why", "nobody").returncode == 4
    city.write(text)


def test_without_a_controller_the_same_is_told_from_one_look(make_city: MakeCity) -> None:
    city = make_city(HEAD + TROUBLED)
    never = city.ok("why", "rigs/well").splitlines()
    city.ok("start", "--detach")
    city.wait_for("weak", "quarantined")
    city.wait_for("rigs/well", "ready")
    controller = city.controller()
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    weak = city.ok("why", "weak")
    city.write((HEAD + TROUBLED).replace('name = "well"', 'name = "other"'))
    orphan = city.ok("why", "rigs/well").splitlines()

    assert never[:2] == [
        "rigs/well is stopped on subprocess",
        "  no controller runs, so nobody starts it",
    ]
    assert "next:          `gc start` runs it" in never
    assert "`gc reset weak` tries at once" in weak
    assert "no controller runs: nothing of this is done until one does" in weak
    assert orphan[1] == "  it is no longer in the city file, so it is stopped now"


def test_a_changed_agent_that_nobody_keeps_is_shown_as_running(make_city: MakeCity) -> None:
    city = make_city(HEAD + '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\n')
    city.start()
    pid = city.pids()["a"]
    controller = city.controller()
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    city.write(HEAD + '[[agents]]\nname = "a"\nstart_command = "sleep 1001"\n')
    agent = city.agents()["a"]

    assert (agent["state"], agent["pid"]) == ("ready", pid)
    assert agent["reason"] == "its configuration changed; no controller runs"


@pytest.mark.tmux
def test_a_screen_is_told_with_its_rule_and_without_secrets(screened: ScreenCity) -> None:
    def asks() -> list[str]:
        lines = screened.ok("why", "shy").splitlines()
        assert lines[1] == '  the dialog "trust" waits for a person', lines
        return lines

    lines = eventually(asks, within=LIMIT)

    assert lines[2] == "waits for:     a person"
    assert any('dialog, by the rule "trust"' in line for line in lines)
    assert "opensesame" not in screened.ok("why", "pick")
