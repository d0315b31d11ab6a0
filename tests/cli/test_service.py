"""`gc service`: what is written, what the service manager is told, and what is refused.

systemctl and loginctl are real programs on the PATH that write down how they were called; a folder
is their memory.
"""

from __future__ import annotations

import json
import os
import plistlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import GC, HEAD, SLEEPERS, City, Inside, MakeCity, Said
from tests.living import lives
from tests.unit.service.reader import read_unit

from gascity.service import systemd
from gascity.testing.eventually import eventually

SYSTEMCTL = """\
#!/bin/sh
cd {memory} || exit 9
echo "$*" >> calls
[ -e gone ] && {{ echo "Failed to connect to bus: No medium found" >&2; exit 1; }}
[ "$1" = --user ] || exit 8
shift
case "$1 $2" in
"enable "*) touch enabled;;
"start "*) [ -e sick ] && {{ echo "Job for $2 failed." >&2; exit 1; }}; touch active;;
"disable --now") rm -f enabled active; [ -e pid ] && kill $(cat pid);;
"show --property=Version") echo Version=252;;
"show "*)
    echo "UnitFileState=$([ -e enabled ] && echo enabled || echo disabled)"
    echo "ActiveState=$([ -e active ] && echo active || echo inactive)"
    echo "MainPID=$(cat pid 2>/dev/null || echo 0)"
    echo "KillMode=$(cat mode 2>/dev/null || echo process)";;
esac
exit 0
"""
LOGINCTL = '#!/bin/sh\n[ "$1" = show-user ] && cat {memory}/linger\n'
SECRET = "sk-not-for-the-unit-4711"


class Machine:
    """A home folder with a city in it, and a service manager to ask."""

    def __init__(
        self, city: City, folder: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.city = city
        self._inside = inside
        self._patch = monkeypatch
        self.units = folder / "conf" / "systemd" / "user"
        self.memory = folder / "memory"
        self._bin = folder / "bin"
        self.memory.mkdir(parents=True)
        self._bin.mkdir()
        (self.memory / "linger").write_text("yes\n")
        self.program("systemctl", SYSTEMCTL)
        self.program("loginctl", LOGINCTL)

    def program(self, name: str, text: str) -> None:
        path = self._bin / name
        path.write_text(text.format(memory=self.memory))
        path.chmod(0o755)

    def environment(self) -> dict[str, str]:
        path = f"{self._bin}:{self.city.environment()['PATH']}"
        return {"PATH": path, "XDG_CONFIG_HOME": str(self.units.parent.parent)}

    def gc(self, *words: str, **env: str) -> Said:
        with self._patch.context() as patch:
            for key, value in {**self.environment(), **env}.items():
                patch.setenv(key, value)
            patch.chdir(self.city.folder)
            return self._inside(*words)

    def ok(self, *words: str) -> str:
        done = self.gc(*words)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def calls(self) -> list[str]:
        """Return what systemctl was told to change since this was last asked."""
        path = self.memory / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        changes = [line.removeprefix("--user ") for line in lines]
        return [line for line in changes if not line.startswith("show ")]

    def unit(self) -> Path:
        (path,) = self.units.glob("*.service")
        return path


@pytest.fixture
def make_machine(
    tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> Callable[[City], Machine]:
    return lambda city: Machine(city, tmp_path / "home", inside, monkeypatch)


@pytest.fixture
def machine(city: City, make_machine: Callable[[City], Machine]) -> Machine:
    return make_machine(city)


def test_install_writes_a_unit_and_enables_it(machine: Machine) -> None:
    said = machine.ok("service", "install")
    unit = machine.unit()
    read = read_unit(unit.read_text())
    program, *words = read.command("ExecStart")

    assert said.startswith(f"wrote {unit}\n")
    assert unit.name.startswith("gc-town-")
    assert (os.path.basename(program), os.access(program, os.X_OK)) == ("gc", True)
    assert words == ["-C", str(machine.city.folder), "start"]
    assert read.environment()["PATH"].startswith(str(machine.memory.parent))
    assert machine.calls() == ["daemon-reload", f"enable {unit.name}"]
    assert f"`systemctl --user start {unit.name}` starts it now\n" in said
    assert [path.name for path in machine.units.iterdir()] == [unit.name]


def test_what_is_shown_is_what_is_written(machine: Machine) -> None:
    shown = machine.ok("service", "show")
    assert not machine.units.exists()
    document = json.loads(machine.ok("service", "show", "--json"))
    machine.ok("service", "install")

    assert machine.unit().read_text() == shown == document["text"]
    assert document["file"] == str(machine.unit())
    assert document["kind"] == "systemd"


def test_the_plist_is_shown_too(machine: Machine) -> None:
    facts = plistlib.loads(machine.ok("service", "show", "--for", "launchd").encode())
    refused = machine.gc("service", "show", "--for", "runit")

    assert facts["ProgramArguments"][1:] == ["-C", str(machine.city.folder), "start"]
    assert refused.returncode == 2
    assert refused.stderr == (
        "error: there is no service manager 'runit'\nhint: there are: systemd, launchd\n"
    )


def test_a_second_install_changes_nothing(machine: Machine) -> None:
    machine.ok("service", "install", "--now")
    first = machine.unit().stat().st_mtime_ns
    said = machine.ok("service", "install", "--now")

    assert said.startswith(f"{machine.unit()} is up to date\n")
    assert said.endswith("it runs\n")
    assert machine.unit().stat().st_mtime_ns == first


def test_now_starts_it(machine: Machine) -> None:
    said = machine.ok("service", "install", "--now")

    assert machine.calls() == [
        "daemon-reload",
        f"enable {machine.unit().name}",
        f"start {machine.unit().name}",
    ]
    assert said.endswith("it runs now\n")


def test_a_start_that_fails_is_told(machine: Machine) -> None:
    (machine.memory / "sick").touch()
    done = machine.gc("service", "install", "--now")

    assert done.returncode == 1
    assert "did not start: Job for gc-town-" in done.stderr
    assert "hint: `journalctl --user -u gc-town-" in done.stderr


def test_it_can_be_written_without_telling_anybody(machine: Machine) -> None:
    machine.ok("service", "install", "--no-enable")
    done = machine.gc("service", "install", "--no-enable", "--now")

    assert machine.unit().exists()
    assert machine.calls() == []
    assert done.returncode == 2


@pytest.mark.parametrize("missing", [False, True])
def test_without_systemd_the_unit_is_written_and_that_is_all(
    machine: Machine, *, missing: bool
) -> None:
    (machine.memory / "gone").touch()
    env = {"PATH": "/no/programs/here"} if missing else {}
    done = machine.gc("service", "install", **env)

    assert done.returncode == 3
    assert machine.unit().exists()
    assert done.stderr.startswith("error: the file is written, and gc-town-")
    why = "there is no systemctl on the PATH" if missing else "Failed to connect to bus"
    assert why in done.stderr
    assert f"systemctl --user enable {machine.unit().name}`" in done.stderr
    at_once = machine.gc("service", "install", "--now", **env)
    assert f"systemctl --user enable --now {machine.unit().name}`" in at_once.stderr


def test_a_broken_city_gets_no_service(machine: Machine) -> None:
    machine.city.write("[[agents]]\nnam = 1\n")
    done = machine.gc("service", "install")

    assert done.returncode == 2
    assert "city.toml:2:1" in done.stderr
    assert not machine.units.exists()
    machine.city.write(HEAD + SLEEPERS)


def test_the_file_of_somebody_else_is_left_alone(machine: Machine, make_city: MakeCity) -> None:
    machine.ok("service", "install", "--name", "mine")
    other = make_city(folder="other")
    taken = machine.gc("-C", str(other.folder), "service", "install", "--name", "mine", "--force")
    (machine.units / "theirs.service").write_text("[Service]\nExecStart=/bin/true\n")
    words = ["service", "install", "--name", "theirs", "--force"]
    foreign = machine.gc("-C", str(other.folder), *words)

    assert taken.returncode == 2
    expected = f"mine.service is the service of another city: {machine.city.folder}\n"
    assert taken.stderr.partition("\n")[0].endswith(expected.strip())
    assert foreign.returncode == 2
    assert "theirs.service was not written by gc\n" in foreign.stderr


def test_a_city_has_one_service(machine: Machine) -> None:
    machine.ok("service", "install", "--name", "mine")
    machine.calls()
    again = machine.ok("service", "install")
    second = machine.gc("service", "install", "--name", "other")
    wrong = machine.gc("service", "install", "--name", "../x")

    assert again.startswith(f"{machine.units}/mine.service is up to date\n")
    assert second.returncode == 2
    assert "error: this city has a service already: mine\n" in second.stderr
    assert wrong.stderr.startswith("error: '../x' cannot be the name of a service\n")


def test_what_a_person_edited_is_kept(machine: Machine) -> None:
    machine.ok("service", "install")
    text = machine.unit().read_text()
    edited = text.replace("RestartSec=5", "RestartSec=60")
    machine.unit().write_text(edited)
    kept = machine.gc("service", "install")
    stays = machine.gc("service", "uninstall")

    assert (kept.returncode, stays.returncode) == (2, 2)
    assert "was edited since gc wrote it; it is left as it is\n" in kept.stderr
    assert machine.unit().read_text() == edited
    machine.ok("service", "install", "--force")
    assert machine.unit().read_text() == text


def test_a_controller_that_was_started_by_hand_is_told(machine: Machine) -> None:
    pid = machine.city.start()
    refused = machine.gc("service", "install", "--now")
    assert not machine.units.exists()
    told = machine.ok("service", "install")

    assert refused.returncode == 7
    assert refused.stderr.startswith(f"error: controller {pid} holds this city, and was not")
    assert f"controller {pid} was started by hand: `kill {pid}`" in told


def test_no_secret_is_written_and_the_way_to_give_it_is_told(
    make_city: MakeCity, make_machine: Callable[[City], Machine]
) -> None:
    agent = '[[agents]]\nname = "a"\nstart_command = "sleep 9"\npass_env = ["MY_TOKEN", "UNSET"]\n'
    machine = make_machine(make_city(HEAD + agent))
    done = machine.gc("service", "install", MY_TOKEN=SECRET)
    env_file = machine.city.state / "service.env"

    assert SECRET not in machine.unit().read_text() + done.stdout + done.stderr
    assert f"agents are passed MY_TOKEN: write them to {env_file}, mode 0600" in done.stdout

    env_file.write_text(f"MY_TOKEN={SECRET}\n")
    env_file.chmod(0o644)
    again = machine.gc("service", "install", MY_TOKEN=SECRET)

    assert "agents are passed" not in again.stdout
    assert again.stderr == f"warning: others can read {env_file}; `chmod 600` it\n"


def test_a_provider_that_the_service_will_not_choose_is_told(machine: Machine) -> None:
    done = machine.gc("service", "install", GC_SESSION="subprocess")

    assert done.returncode == 0
    assert done.stderr.startswith("warning: the service does not see GC_SESSION of this shell;")


def test_linger_is_hinted_at_where_it_is_off(machine: Machine) -> None:
    (machine.memory / "linger").write_text("no\n")

    assert "`loginctl enable-linger`" in machine.ok("service", "install")
    assert "`loginctl enable-linger`" in machine.gc("service", "status").stdout


def test_uninstall_leaves_the_agents(machine: Machine) -> None:
    machine.ok("service", "install")
    unit = machine.unit()
    controller = machine.city.start()
    before = machine.city.pids()
    (machine.memory / "pid").write_text(str(controller))
    (machine.memory / "active").touch()
    machine.calls()
    said = machine.ok("service", "uninstall")

    assert said == (
        f"removed {unit}\n3 agents go on; `gc start` takes them up, `gc stop` ends them\n"
    )
    assert machine.calls() == [
        f"disable --now {unit.name}",
        "daemon-reload",
        f"reset-failed {unit.name}",
    ]
    assert not unit.exists()
    assert all(pid and lives(pid) for pid in before.values())
    assert machine.gc("service", "uninstall").returncode == 4


def test_a_stop_that_would_end_the_agents_unasked_is_refused(machine: Machine) -> None:
    machine.ok("service", "install")
    (machine.memory / "mode").write_text("control-group")
    machine.calls()
    done = machine.gc("service", "uninstall")

    assert done.returncode == 2
    assert "has KillMode=control-group: its stop or restart ends the agents" in done.stderr
    assert machine.calls() == []
    assert machine.unit().exists()
    assert machine.gc("service", "uninstall", "--force").returncode == 0


def test_uninstall_can_end_the_agents(machine: Machine) -> None:
    machine.ok("service", "install")
    unit = machine.unit()
    machine.city.start()
    said = machine.ok("service", "uninstall", "--stop")

    assert said == f"stopped 3 agents\nremoved {unit}\n"
    eventually(lambda: not machine.city.living())  # the keeper goes when nobody asks it any more


def test_uninstall_works_with_a_broken_city(machine: Machine) -> None:
    machine.ok("service", "install")
    unit = machine.unit()
    machine.city.write("broken [")
    done = machine.gc("service", "uninstall")
    machine.city.write(HEAD + SLEEPERS)

    assert done.returncode == 0
    assert done.stdout.startswith(f"removed {unit}\n")


def test_uninstall_without_systemd_removes_the_file_and_its_link(machine: Machine) -> None:
    machine.ok("service", "install")
    unit = machine.unit()
    wants = machine.units / "default.target.wants"
    wants.mkdir()
    (wants / unit.name).symlink_to(unit)
    (machine.memory / "gone").touch()
    done = machine.gc("service", "uninstall")

    assert done.returncode == 3
    assert "could not be stopped: the systemd of this user cannot be asked" in done.stderr
    assert not unit.exists()
    assert not list(wants.iterdir())


def test_status_says_how_it_stands(machine: Machine) -> None:
    def stands() -> tuple[int, dict[str, object]]:
        done = machine.gc("service", "status", "--json")
        document: dict[str, object] = json.loads(done.stdout)
        return done.returncode, document

    code, document = stands()
    assert (code, document["installed"]) == (4, False)
    machine.ok("service", "install")
    code, document = stands()
    assert (code, document["active"], document["enabled"], document["same"]) == (5, 0, 1, True)
    (machine.memory / "active").touch()
    (machine.memory / "pid").write_text("4242")
    code, document = stands()
    assert (code, document["active"], document["pid"]) == (0, True, 4242)
    assert machine.gc("service", "status").stdout == (
        f"{machine.unit().stem}: active, process 4242, enabled\n"
        f"file: {machine.unit()} (as this gc writes it)\n"
    )
    machine.unit().write_text(machine.unit().read_text().replace("RestartSec=5", "RestartSec=9"))
    code, document = stands()
    assert (code, document["same"], document["edited"]) == (1, False, True)
    (machine.memory / "gone").touch()
    code, document = stands()
    assert (code, document["active"]) == (3, None)
    assert "cannot be asked" in str(document["problem"])


def test_another_shell_does_not_make_it_differ(machine: Machine) -> None:
    machine.ok("service", "install", "--now")
    elsewhere = f"{machine.memory.parent / 'bin'}:/some/where/else:/usr/bin:/bin"
    done = machine.gc("service", "status", PATH=elsewhere)

    assert done.returncode == 0, done


@pytest.mark.git
def test_the_doctor_speaks_of_a_service_that_would_end_the_agents(machine: Machine) -> None:
    assert "service" not in machine.gc("doctor").stdout
    machine.ok("service", "install")
    fine = machine.gc("doctor")
    (machine.memory / "mode").write_text("control-group")
    (machine.memory / "linger").write_text("no\n")
    bad = machine.gc("doctor")

    assert fine.returncode == 0
    assert f"ok    service: {machine.unit().stem} leaves the agents running" in fine.stdout
    assert bad.returncode == 3
    assert f"FAIL  service: {machine.unit().stem} has KillMode=control-group" in bad.stdout
    assert "loginctl enable-linger" in bad.stdout


def test_a_service_manager_that_hangs_is_not_waited_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.ok("service", "install")
    machine.program("systemctl", "#!/bin/sh\nexec sleep 1000\n")
    monkeypatch.setattr(systemd._systemctl, "__kwdefaults__", {"timeout": 0.2})
    done = machine.gc("service", "status")

    assert done.returncode == 124
    assert done.stderr.startswith("error: `systemctl --user show --property=Version` did not end")


def test_the_program_that_was_called_is_the_one_that_is_written(machine: Machine) -> None:
    done = machine.city.gc("service", "show", env=machine.environment())

    assert read_unit(done.stdout).command("ExecStart")[0] == GC
