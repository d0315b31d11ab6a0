"""What an agent says and asks of itself: `gc drain-check`, `gc drain-ack`, `gc request-restart`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import GC, HEAD, LIMIT, SLEEPERS, City, Inside, MakeCity
from tests.cli.test_reset_drain import meta_of
from tests.living import lives
from tests.repo.test_layout import LOADED

from gascity.core.observed import DRAIN, DRAINED, RESTART_REQUESTED
from gascity.testing.eventually import eventually

POOL = (
    '[[agents]]\nname = "crew"\nstart_command = "sleep 1000"\n'
    '[agents.pool]\nmax = 2\ncheck = "cat wanted"\ndrain_timeout = "10m"\n'
)


@pytest.fixture
def pool(make_city: MakeCity) -> City:
    """Return a city whose pool can be made to drain a member."""
    city = make_city(HEAD + POOL)
    (city.folder / "wanted").write_text("2\n")
    city.ok("start", "--detach")
    eventually(lambda: set(city.pids()) == {"crew-1", "crew-2"}, within=LIMIT)
    city.wait_until_up()
    return city


def self_of(city: City, name: str, **more: str) -> dict[str, str]:
    """Return what the environment of an agent says of it."""
    agent = city.agents()[name]
    return {
        "GC_AGENT": name,
        "GC_CITY_PATH": str(city.folder),
        "GC_SESSION_NAME": agent["session"],
        "GC_RUN": agent["run"],
        **more,
    }


def call(
    city: City, folder: Path, env: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Run `gc` in a folder of its own, as an agent at work would."""
    return subprocess.run(
        [GC, *words],
        cwd=folder,
        env=city.environment(**env),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def shrink(city: City) -> str:
    (city.folder / "wanted").write_text("1\n")

    def draining() -> str:
        draining = [name for name, one in city.agents().items() if one["state"] == "draining"]
        return draining[0] if draining else ""

    return eventually(draining, within=LIMIT, every=0.05)


def test_a_member_that_drains_is_told_acknowledges_and_is_stopped(
    pool: City, tmp_path: Path
) -> None:
    before = pool.pids()
    calm = call(pool, tmp_path, self_of(pool, "crew-1"), "drain-check")
    name = shrink(pool)
    me = self_of(pool, name)
    eventually(lambda: meta_of(pool, name).get(DRAIN) == me["GC_RUN"], within=LIMIT)
    told = call(pool, tmp_path, me, "drain-check")
    quiet = call(pool, tmp_path, me, "drain-check", "--quiet")
    named = pool.gc("drain-check", name)
    stale = call(pool, tmp_path, {**me, "GC_RUN": "earlier"}, "drain-ack")
    done = call(pool, tmp_path, me, "drain-ack")

    assert (calm.returncode, calm.stdout) == (1, "go on\n")
    assert (told.returncode, told.stdout) == (0, "drain\n")
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert (named.returncode, named.stdout) == (0, "drain\n")
    assert stale.returncode == 1
    assert "nothing was changed" in stale.stderr
    assert (done.returncode, done.stdout) == (0, f"{name}: has drained; it is stopped now\n")
    eventually(lambda: not lives(before[name] or 0), within=LIMIT)


def test_a_member_that_is_no_longer_declared_can_acknowledge(
    make_city: MakeCity, tmp_path: Path
) -> None:
    declared = HEAD + POOL.replace('check = "cat wanted"', "min = {size}")
    city = make_city(declared.replace("max = 2", "max = 3").format(size=3))
    controller = city.start()
    me = self_of(city, "crew-3")
    os.kill(controller, signal.SIGTERM)
    eventually(lambda: not lives(controller), within=LIMIT)
    city.write(declared.format(size=2))
    city.ok("start", "--detach")

    eventually(lambda: call(city, tmp_path, me, "drain-check").returncode == 0, within=LIMIT)
    done = call(city, tmp_path, me, "drain-ack")

    assert done.stdout == "crew-3: has drained; it is stopped now\n"
    eventually(lambda: set(city.pids()) == {"crew-1", "crew-2"}, within=LIMIT)


def test_the_demo_agent_acknowledges_when_it_is_told_to(make_city: MakeCity) -> None:
    city = make_city(HEAD + '[[agents]]\nname = "talker"\nprovider = "demo"\n')
    city.start()
    city.ok("drain", "talker")
    city.gc("nudge", "talker", "--raw", "/drain")  # it may end before the proof is read

    assert "gc undrain" in city.wait_for("talker", "stopped")["reason"]
    assert city.agents()["talker"]["restarts"] == 0


def test_who_was_not_asked_cannot_acknowledge(city: City, tmp_path: Path) -> None:
    city.start()
    done = call(city, tmp_path, self_of(city, "a"), "drain-ack")

    assert done.returncode == 1
    assert done.stderr == (
        "error: a was not asked to drain\nhint: `gc drain-check` ends with 0 when it is\n"
    )
    assert DRAINED not in meta_of(city, "a")


def test_an_agent_without_a_controller_can_look_and_acknowledge(city: City, tmp_path: Path) -> None:
    controller = city.start()
    me = self_of(city, "a")
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    calm = call(city, tmp_path, me, "drain-check")
    city.ok("drain", "a")
    told = call(city, tmp_path, me, "drain-check")
    stale = call(city, tmp_path, {**me, "GC_RUN": "earlier"}, "drain-ack")
    wish = call(city, tmp_path, me, "request-restart")
    done = call(city, tmp_path, me, "drain-ack")

    assert (calm.returncode, calm.stdout) == (1, "go on\n")
    assert (told.returncode, told.stdout) == (0, "drain\n")
    assert stale.returncode == 1
    assert wish.returncode == 5
    assert wish.stderr.startswith("error: no controller runs for this city\n")
    assert RESTART_REQUESTED not in meta_of(city, "a")
    assert done.stdout == "a: has drained; no controller runs; the next one stops it\n"
    assert meta_of(city, "a")[DRAINED] == me["GC_RUN"]


@pytest.mark.tmux
def test_an_agent_in_tmux_finds_its_socket_without_a_controller(
    make_city: MakeCity, tmp_path: Path
) -> None:
    head = HEAD.replace('"subprocess"', f'"tmux"\n[session.tmux]\nsocket = "{tmp_path}/s"')
    city = make_city(head + SLEEPERS)
    controller = city.start()
    me = self_of(city, "a")
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    calm = call(city, tmp_path, me, "drain-check")
    city.ok("drain", "a")
    told = call(city, tmp_path, me, "drain-check")
    done = call(city, tmp_path, me, "drain-ack")

    assert (calm.returncode, calm.stdout, calm.stderr) == (1, "go on\n", "")
    assert (told.returncode, told.stdout) == (0, "drain\n")
    assert done.stdout == "a: has drained; no controller runs; the next one stops it\n"


def test_an_agent_can_have_itself_replaced(city: City, tmp_path: Path) -> None:
    city.start()
    before = city.agents()
    done = call(city, tmp_path, self_of(city, "a"), "request-restart")
    now = city.agents()
    at_once = city.gc("request-restart", "b", "--no-wait")

    assert done.stdout == f"a: replaced, run {now['a']['run']} lives now\n"
    assert now["a"]["run"] != before["a"]["run"]
    assert now["b"]["run"] == before["b"]["run"]
    assert at_once.stdout == f"b: run {before['b']['run']} is to be replaced\n"
    eventually(lambda: city.agents()["b"]["run"] not in ("", before["b"]["run"]), within=LIMIT)
    city.wait_until_up()


def test_from_inside_the_command_ends_with_its_agent(make_city: MakeCity) -> None:
    again = "test -e again || { touch again; gc request-restart; touch survived; }; sleep 1000"
    city = make_city(HEAD + f'[[agents]]\nname = "a"\nstart_command = "{again}"\n')
    city.ok("start", "--detach")

    eventually(lambda: city.agents()["a"]["requests"] == 1, within=LIMIT)
    city.wait_until_up()
    assert not (city.folder / "survived").exists()
    assert city.agents()["a"]["restarts"] == 0


def test_the_city_is_the_agents_own_unless_another_is_named(
    make_city: MakeCity, tmp_path: Path
) -> None:
    own = make_city()
    other = make_city(HEAD + '[[agents]]\nname = "z"\nstart_command = "true"\n', folder="other")
    own.start()
    me = self_of(own, "a")
    in_another = call(own, other.folder, me, "drain-check")
    sent_away = call(own, tmp_path, me, "-C", str(other.folder), "drain-check")
    here = call(own, other.folder, me, "-C", ".", "drain-check")
    by_name = call(own, tmp_path, me, "drain-check", "b")

    assert (in_another.returncode, in_another.stdout) == (1, "go on\n")
    for done in (sent_away, here):
        assert done.returncode == 4
        assert done.stderr.startswith('error: there is no agent "a" in this city\n')
    assert (by_name.returncode, by_name.stdout) == (1, "go on\n")


def test_somebody_else_must_say_which_agent(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GC_AGENT", raising=False)
    (tmp_path / "city.toml").write_text(HEAD + SLEEPERS, "utf-8")
    for command in ("drain-check", "drain-ack", "request-restart"):
        done = inside("-C", str(tmp_path), command)
        assert done.returncode == 2, command
        assert done.stderr.startswith("error: which agent?\nhint: give its name")


def test_one_that_does_not_run_ends_with_5(inside: Inside, tmp_path: Path) -> None:
    (tmp_path / "city.toml").write_text(HEAD + SLEEPERS, "utf-8")
    for command in ("drain-check", "drain-ack"):
        done = inside("-C", str(tmp_path), command, "a")
        assert done.returncode == 5, command
        assert done.stderr == "error: a is not running\nhint: `gc status` tells why\n"


def loaded_by_a_check(city: City, env: Mapping[str, str]) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, "drain-check", "-q"],
        env=city.environment(**env),
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    return set(done.stderr.split())


def test_a_check_loads_little(quiet: City) -> None:
    loaded = loaded_by_a_check(quiet, self_of(quiet, "a"))

    assert not loaded & {"typer", "pydantic", "rich", "sqlite3", "libtmux"}
    assert "gascity.jsonrpc" in loaded


def test_a_check_without_a_controller_does_not_load_the_city(city: City) -> None:
    controller = city.start()
    me = self_of(city, "a")
    os.kill(controller, signal.SIGKILL)
    eventually(lambda: not lives(controller), within=LIMIT)
    city.write("[[agents]]\nnam = 1\n[workspace]\nname = 'town'\n")
    done = city.gc("drain-check", env=me)
    loaded = loaded_by_a_check(city, me)
    city.write("this is no TOML\n")
    broken = city.gc("drain-check", env=me)
    city.write(HEAD + SLEEPERS)

    assert (done.returncode, done.stdout) == (1, "go on\n")
    assert not loaded & {"typer", "pydantic", "rich"}
    assert broken.returncode == 2
    assert "city.toml:1:" in broken.stderr


def test_the_quick_way_and_the_long_way_agree(quiet: City) -> None:
    env = self_of(quiet, "a")
    quick = quiet.gc("drain-check", env=env)
    long = quiet.gc("drain-check", "a", env=env)
    document = quiet.gc("drain-check", "--json", env=env)

    assert (quick.returncode, quick.stdout) == (long.returncode, long.stdout) == (1, "go on\n")
    assert json.loads(document.stdout) == {"agent": "a", "run": env["GC_RUN"], "drain": False}
    assert document.returncode == 1
