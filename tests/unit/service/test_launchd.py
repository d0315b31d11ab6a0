"""What launchd is asked, through a launchctl that writes down its calls."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.service.test_unit import made

from gascity.errors import GascityError, NotInstalled
from gascity.service.host import Standing, Unmanaged
from gascity.service.installed import host_here, services_of, write
from gascity.service.launchd import Launchd

LAUNCHCTL = """\
#!/bin/sh
cd {memory} || exit 9
case "$1" in
print) [ -e sick ] && exit 64; [ -e loaded ] || exit 113
    printf 'x = {{\\n\\tstate = %s\\n\\tpid = 4242\\n}}\\n' "$(cat loaded)"; exit 0;;
print-disabled) cat disabled 2>/dev/null; exit 0;;
esac
echo "$*" >> calls
case "$1" in
bootstrap) echo running > loaded;;
bootout) rm loaded;;
enable) [ ! -e sick ] || {{ echo "no such domain" >&2; exit 125; }};;
esac
"""
TARGET = f"gui/{os.getuid()}/dev.gascity.town-1a2b3c4d"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "launchctl"
    program.write_text(LAUNCHCTL.format(memory=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def calls(home: Path) -> list[str]:
    path = home / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_an_agent_is_found_again_by_its_city(home: Path) -> None:
    host = host_here("launchd")
    service = made(str(home / "town"))
    path = os.path.join(host.folder, host.file_name(service.name))
    write(path, host.text(service))
    (found,) = services_of(host, service.root)

    assert path == f"{home}/Library/LaunchAgents/dev.gascity.town-1a2b3c4d.plist"
    assert found.path == path
    assert host.file_name(found.name) == host.file_name(service.name)
    assert not found.was_edited
    assert services_of(host, "/elsewhere") == []


def test_it_is_loaded_started_and_unloaded(home: Path) -> None:
    host = Launchd()
    name = made().name
    host.disable(name)
    host.enable(name)
    down = host.standing(name)
    host.start(name)
    up = host.standing(name)
    host.start(name)
    host.disable(name)

    assert down == Standing(enabled=True, active=False, pid=0, says="not loaded")
    assert up == Standing(enabled=True, active=True, pid=4242, says="active")
    assert calls(home) == [
        f"enable {TARGET}",
        f"bootstrap gui/{os.getuid()} {home}/Library/LaunchAgents/dev.gascity.town-1a2b3c4d.plist",
        f"kickstart {TARGET}",
        f"bootout {TARGET}",
    ]


def test_one_that_a_person_disabled_is_told(home: Path) -> None:
    (home / "disabled").write_text('\t"dev.gascity.town-1a2b3c4d" => disabled\n')

    assert not Launchd().standing(made().name).enabled


def test_without_launchd_nothing_is_concluded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "sick").touch()
    with pytest.raises(Unmanaged):
        Launchd().standing(made().name)
    with pytest.raises(GascityError, match="no such domain"):
        Launchd().enable(made().name)
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(NotInstalled):
        Launchd().standing(made().name)


def test_an_agent_that_would_take_the_agents_with_it_is_a_danger(home: Path) -> None:
    host = Launchd()
    text = host.text(made())

    assert host.danger("x", text) == ""
    assert "AbandonProcessGroup" in host.danger("x", text.replace("Abandon", "Keep"))
