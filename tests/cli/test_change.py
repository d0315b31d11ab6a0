"""A city file that changes, a pool that shrinks, and what reaches an agent's environment."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from tests.cli.conftest import HEAD, LIMIT, City, MakeCity
from tests.living import lives

from gascity.testing.eventually import eventually

SECRET = "sk-do-not-show-4712"
TWO = (
    '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\nenv = { MODE = "old" }\n'
    '[[agents]]\nname = "b"\nstart_command = "sleep 1000"\n'
)


def environment_of(pid: int | None) -> dict[str, str]:
    words = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(word.split("=", 1) for word in words if word)


def end_controller(city: City) -> None:
    pid = city.controller()
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: not lives(pid), within=LIMIT)


def test_a_changed_agent_is_restarted_and_no_other(make_city: MakeCity) -> None:
    city = make_city(HEAD + TWO)
    city.start()
    before = city.agents()
    end_controller(city)
    city.write(HEAD + TWO.replace("old", "new"))
    planned = city.ok("plan")
    city.start()

    def changed() -> dict[str, int | None]:
        agents = city.agents()
        assert agents["a"]["state"] == "ready"
        assert agents["a"]["pid"] not in (None, before["a"]["pid"])
        return city.pids()

    after = eventually(changed, within=LIMIT)
    assert "its configuration changed" in planned
    assert after["b"] == before["b"]["pid"]
    assert environment_of(after["a"])["MODE"] == "new"
    assert city.agents()["a"]["restarts"] == 0


def test_a_change_that_is_no_behaviour_restarts_nothing(make_city: MakeCity) -> None:
    city = make_city(HEAD + TWO)
    city.start()
    before = city.pids()
    end_controller(city)
    city.write(HEAD + TWO + "max_restarts = 9\ndepends_on = ['a']\n")
    city.start()

    assert city.ok("plan") == "nothing to do: everything is as it should be\n"
    assert city.pids() == before


def test_an_agent_that_is_no_longer_declared_is_stopped(make_city: MakeCity) -> None:
    city = make_city(HEAD + TWO)
    city.start()
    before = city.pids()
    end_controller(city)
    city.write(HEAD + TWO[: TWO.rindex("[[")])
    city.ok("start", "--detach")

    eventually(lambda: city.pids() == {"a": before["a"]}, within=LIMIT, every=0.05)
    assert before["b"]
    assert not lives(before["b"])


def test_a_pool_follows_its_check_and_drains(make_city: MakeCity) -> None:
    city = make_city(
        HEAD + '[[agents]]\nname = "crew"\nstart_command = "sleep 1000"\n'
        '[agents.pool]\nmax = 3\ncheck = "cat wanted"\ndrain_timeout = "1s"\n'
    )
    wanted = city.folder / "wanted"
    wanted.write_text("2\n")
    city.ok("start", "--detach")
    eventually(lambda: set(city.pids()) == {"crew-1", "crew-2"}, within=LIMIT, every=0.05)
    both = city.wait_until_up()
    wanted.write_text("1\n")
    eventually(lambda: city.ok("events", "--json", "--type", "session.draining"), within=LIMIT)
    eventually(lambda: len(city.pids()) == 1, within=LIMIT, every=0.05)

    assert set(city.pids().values()) < set(both.values())
    assert city.ok("stop") == "stopped 1 agent and the controller\n"


def test_an_agent_gets_its_own_environment_and_nobody_elses(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + '[[agents]]\nname = "a"\nstart_command = "exec sleep 1000"\nenv = { MINE = "1" }\n'
        + 'pass_env = ["WANTED"]\n'
    )
    ambient = {"CLAUDECODE": "1", "OPENAI_API_KEY": SECRET, "WANTED": "yes", "LC_ALL": "C.UTF-8"}
    city.start(**ambient)
    agent = city.agents()["a"]
    env = environment_of(agent["pid"])

    own = {"GC_AGENT", "GC_CITY", "GC_CITY_PATH", "GC_DIR", "GC_SESSION_NAME", "GC_RUN"}
    base = {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LC_ALL", "MINE", "WANTED"}
    shell = {"LANG", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_", "GC_SESSION_MARK"}
    assert own | base <= set(env)
    assert set(env) <= own | base | shell
    assert (env["GC_AGENT"], env["GC_CITY"], env["GC_RUN"]) == ("a", "town", agent["run"])
    assert env["GC_CITY_PATH"] == env["GC_DIR"] == str(city.folder)
    assert env["WANTED"] == "yes"


def test_no_secret_is_written_down_or_shown(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + '[[agents]]\nname = "a"\nstart_command = "sleep 1000"\npass_env = ["MY_TOKEN"]\n'
        + f'env = {{ OTHER_API_KEY = "{SECRET}" }}\n'
    )
    city.start(MY_TOKEN=SECRET)
    city.ok("restart", "a")
    pid = city.pids()["a"]
    shown = "".join(
        city.ok(*words)
        for words in (["status", "--json"], ["plan", "--json"], ["config", "show", "--resolved"])
    )
    listed = subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
    files = [path for path in city.state.rglob("*") if path.is_file()]

    assert environment_of(pid)["MY_TOKEN"] == environment_of(pid)["OTHER_API_KEY"] == SECRET
    assert SECRET not in shown
    assert SECRET not in listed
    assert len(files) > 3
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
