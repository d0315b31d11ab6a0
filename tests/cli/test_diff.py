"""`gc diff`: which field drifted, and what is done about it."""

from __future__ import annotations

import json
import os
import signal

import pytest
from tests.cli.conftest import HEAD, LIMIT, City, MakeCity
from tests.living import lives

from gascity.cli.drift import what_follows
from gascity.core.model import AgentSpec
from gascity.testing.eventually import eventually

SECRET, OTHER_SECRET = "sk-do-not-show-4712", "sk-do-not-show-9921"
TEXT = (
    HEAD
    + '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\n'
    + f'env = {{ MODE = "old", MY_TOKEN = "{SECRET}", GONE = "1" }}\n'
    + '[[agents]]\nname = "b"\nstart_command = "sleep 1000"\n'
    + '[[agents]]\nname = "down"\nstart_command = "sleep 1000"\nsuspended = true\n'
)


def leave_agents_alone(city: City) -> None:
    pid = city.controller()
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not lives(pid), within=LIMIT)


def up(city: City) -> None:
    city.ok("start", "--detach")
    city.wait_for("a", "ready")
    city.wait_for("b", "ready")


@pytest.fixture
def city(make_city: MakeCity) -> City:
    """Return a city whose controller is gone, so that nobody mends the drift meanwhile."""
    city = make_city(TEXT)
    up(city)
    leave_agents_alone(city)
    return city


def test_a_city_as_its_file_says_has_no_drift(city: City) -> None:
    assert city.ok("diff") == "a: same\nb: same\ndown: not running\n"


def test_each_field_that_drifted_is_shown_and_no_secret(city: City) -> None:
    changed = TEXT.replace("old", "new").replace(SECRET, OTHER_SECRET).replace("GONE", "CAME")
    city.write(changed)
    before = city.pids()

    done = city.gc("diff")

    assert done.returncode == 1
    assert done.stdout == (
        "a: drifted; no controller runs; under the next one it is restarted\n"
        "  env.CAME\n    + 1\n"
        "  env.GONE\n    - 1\n"
        "  env.MODE\n    - old\n    + new\n"
        "  env.MY_TOKEN\n    changed (its value is secret)\n"
        "b: same\n"
        "down: not running\n"
    )
    assert city.pids() == before


def test_a_prompt_is_shown_by_its_changed_lines(make_city: MakeCity) -> None:
    city = make_city(
        HEAD + '[[agents]]\nname = "talker"\nprovider = "demo"\nprompt_template = "prompt.md"\n'
    )
    prompt = city.folder / "prompt.md"
    lines = [f"rule {number}" for number in range(12)]
    prompt.write_text("\n".join(lines), "utf-8")
    city.start()
    leave_agents_alone(city)
    prompt.write_text("\n".join(lines).replace("rule 6", "rule six"), "utf-8")

    said = city.gc("diff", "talker").stdout.splitlines()

    assert said[1:] == [
        "  command",
        "    @@ -5,5 +5,5 @@",
        "      rule 4",
        "      rule 5",
        "    - rule 6",
        "    + rule six",
        "      rule 7",
        "      rule 8",
    ]


def test_json_names_the_fields_and_what_is_done(city: City) -> None:
    city.write(TEXT.replace("old", "new").replace(SECRET, OTHER_SECRET))
    done = city.gc("diff", "a", "--json")
    (one,) = json.loads(done.stdout)["agents"]

    assert done.returncode == 1
    assert set(one) == {"name", "state", "then", "next_at", "fields"}
    assert (one["name"], one["state"], one["next_at"]) == ("a", "drifted", None)
    assert one["fields"] == [
        {"field": "env.MODE", "change": "changed", "old": "old", "new": "new", "secret": False},
        {"field": "env.MY_TOKEN", "change": "changed", "old": "", "new": "", "secret": True},
    ]
    assert SECRET not in done.stdout
    assert OTHER_SECRET not in done.stdout


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("drain", "under the next one it is asked to drain, and started anew"),
        ("notify", "under the next one it is left as it is (on_drift)"),
    ],
)
def test_what_will_be_done_is_what_the_city_file_says(city: City, policy: str, says: str) -> None:
    city.write(TEXT.replace("[daemon]", f'[daemon]\non_drift = "{policy}"').replace("old", "new"))

    assert f"a: drifted; no controller runs; {says}\n" in city.gc("diff", "a").stdout


@pytest.mark.tmux
def test_a_session_on_another_provider_is_a_drift(city: City) -> None:
    city.write(TEXT.replace('name = "b"', 'name = "b"\nsession = "tmux"'))
    done = city.gc("diff", "b")
    city.write(TEXT)

    assert done.returncode == 1
    assert "  session\n    - subprocess\n    + tmux\n" in done.stdout


def test_empty_places_of_a_pool_are_told_of_only_by_name(make_city: MakeCity) -> None:
    city = make_city(
        HEAD + '[[agents]]\nname = "crew"\nstart_command = "sleep 1000"\n[agents.pool]\nmax = 9\n'
    )

    assert city.ok("diff") == "no agent runs\n"
    assert city.ok("diff", "crew-2") == "crew-2: not running\n"
    assert city.ok("diff", "crew").count("not running") == 9


def test_a_wrong_name_ends_with_4(city: City) -> None:
    done = city.gc("diff", "nobody")

    assert done.returncode == 4
    assert done.stderr.startswith('error: there is no agent "nobody" in this city\n')


def test_an_agent_as_its_file_says_ends_with_0_under_a_controller(make_city: MakeCity) -> None:
    city = make_city(TEXT)
    up(city)
    same = city.gc("diff", "a")

    assert (same.returncode, same.stdout) == (0, "a: same\n")


SPEC = AgentSpec("a", "gc-town-a", "tmux", "", "true", "/", fingerprint="new")
WAITS = "its configuration changed; somebody is attached, so it waits"


@pytest.mark.parametrize(
    ("view", "follows"),
    [
        ({"fingerprint": "new", "drift": True, "reason": WAITS, "next_at": 9}, (WAITS, 9.0)),
        ({"fingerprint": "new", "drift": True, "reason": ""}, ("it is restarted", None)),
        ({"fingerprint": "new", "drift": False, "state": "ready"}, ("it is restarted", None)),
        ({"fingerprint": "new", "state": "starting", "reason": "x"}, ("x", None)),
        (
            {"fingerprint": "old", "drift": False},
            (
                "the controller has not read this city file; when it has, it is restarted",
                None,
            ),
        ),
    ],
)
def test_what_follows_is_what_the_controller_says(
    view: dict[str, object], follows: tuple[str, float | None]
) -> None:
    assert what_follows(SPEC, {"a": view}) == follows
