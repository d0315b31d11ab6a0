"""A unit says the same to systemd as it was made of, whatever the paths look like."""

from __future__ import annotations

import ctypes
import os
import string
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.service.reader import read_unit

from gascity.errors import UsageError
from gascity.service.declared import Service, check_name, environment, service_name
from gascity.service.signature import is_signed, is_untouched
from gascity.service.unit import city_of, essence, kill_mode, unit_text

HOSTILE = (
    "a b",
    "%h and 100%",
    "$HOME ${HOME} $$",
    "it's \"quoted\" 'twice'",
    "back\\slash\\",
    "\\n\\x41 \\\\",
    "[a-z]*? {x,y}",
    "; rm -rf ; # not a comment",
    "-dash =equals",
    "ünï ☃ 城",
    " blank at both ends ",
    "tmpl@.service",
)
NASTY = st.text(st.sampled_from(" %$\"'\\[]*?;#=-@!:+~{}(),." + string.ascii_letters + "ü城"))
PATHS = st.lists(NASTY.filter(lambda p: p not in {"", ".", ".."}), min_size=1, max_size=3)


def made(
    root: str = "/srv/town",
    *,
    program: str = "/usr/bin/gc",
    env: Mapping[str, str] | None = None,
) -> Service:
    return Service("gc-town-1a2b3c4d", "town", root, program, env or {"PATH": "/usr/bin:/bin"})


def test_the_description_names_the_folder() -> None:
    assert "Description=gc: city town in /srv/town\n" in unit_text(made())
    assert "Description=gc: city town in /srv/odd\\/\n" in unit_text(made("/srv/odd\\"))


def says_what_it_was_made_of(service: Service) -> None:
    text = unit_text(service)
    unit = read_unit(text)

    assert _through_a_shell(unit.command("ExecStart")) == [
        *(service.program, "-C", service.root, "start")
    ]
    assert _through_a_shell(unit.command("ExecReload"))[1:] == ["-C", service.root, "reload"]
    assert unit.path("WorkingDirectory") == service.root
    assert unit.environment() == dict(service.environment)
    assert city_of(text) == service.root
    assert is_untouched(text)


def _through_a_shell(command: list[str]) -> list[str]:
    """Return the words that the program gets in the end: the shell, if there is one, gives way."""
    match command:
        case ["/bin/sh", "-c", 'exec "$0" "$@"', *rest]:
            return rest
        case _:
            assert not set(command[0]) & set("\"'\\")  # systemd refuses such a first word
            return command


class _Found(ctypes.Structure):
    """The beginning of C's `glob_t`, and room for the rest."""

    _fields_ = (
        ("count", ctypes.c_size_t),
        ("paths", ctypes.POINTER(ctypes.c_char_p)),
        ("rest", ctypes.c_char * 256),
    )


def _glob(pattern: str) -> list[str]:
    """Return what C's glob makes of a pattern: it knows backslashes, which Python's does not."""
    found = _Found()
    code = ctypes.CDLL(None).glob(os.fsencode(pattern), 0, None, ctypes.byref(found))
    return [os.fsdecode(found.paths[n]) for n in range(found.count)] if code == 0 else []


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_path_arrives_as_it_is(name: str) -> None:
    path = f"/srv/{name}"

    says_what_it_was_made_of(made(path, program=f"{path}/gc", env={"PATH": f"{path}:/bin"}))


@given(PATHS, PATHS, PATHS)
def test_any_path_arrives_as_it_is(root: list[str], gc: list[str], folder: list[str]) -> None:
    paths = ["/" + "/".join(part.replace("/", "") for part in each) for each in (root, gc, folder)]

    says_what_it_was_made_of(made(paths[0], program=paths[1], env={"PATH": f"{paths[2]}:/bin"}))


@pytest.mark.parametrize("name", HOSTILE)
def test_the_file_for_secrets_is_no_pattern(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    (folder / ".gc").mkdir(parents=True)
    (folder / ".gc" / "service.env").touch()
    pattern = read_unit(unit_text(made(str(folder)))).path("EnvironmentFile")

    assert _glob(pattern) == [str(folder / ".gc" / "service.env")]


def test_the_controller_alone_is_stopped_and_what_cannot_work_is_not_retried() -> None:
    unit = read_unit(unit_text(made()))
    wanted = {
        "Type": "notify",
        "KillMode": "process",
        "OOMPolicy": "continue",
        "Restart": "on-failure",
        "RestartPreventExitStatus": "2 3 7",
        "EnvironmentFile": "-/srv/town/.gc/service.env",
        "SyslogIdentifier": "gc-town",
        "WantedBy": "default.target",
    }

    assert {key: unit.one(key) for key in wanted} == wanted
    assert kill_mode(unit_text(made())) == "process"
    assert kill_mode("[Service]\n") == "control-group"


@pytest.mark.parametrize("root", ["/a\nb", "/a\rb", "/a\x1bb", "/a\udcffb"])
def test_a_path_that_no_unit_can_hold_is_refused(root: str) -> None:
    with pytest.raises(UsageError, match="a service cannot be made for"):
        made(root)


def test_an_edited_unit_is_known() -> None:
    text = unit_text(made())

    assert is_untouched(text)
    assert is_signed(text.replace("RestartSec=5", "RestartSec=9"))
    assert not is_untouched(text.replace("RestartSec=5", "RestartSec=9"))
    assert not is_untouched(text + "\n")
    assert not is_signed("[Service]\nExecStart=/bin/true\n")


def test_the_shell_it_was_installed_from_does_not_make_another_unit() -> None:
    one, two = (unit_text(made(env={"PATH": path})) for path in ("/bin", "/usr/bin"))

    assert one != two
    assert essence(one) == essence(two)
    assert essence(one) != essence(unit_text(made("/srv/other")))


def test_no_variable_that_could_be_secret_is_taken() -> None:
    ambient = {
        "PATH": "/bin:relative:.::/usr/bin:/bin:/bad\nline",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "XDG_CONFIG_HOME": "/home/x/conf",
        "XDG_RUNTIME_DIR": "/run/user/1",
        "ANTHROPIC_API_KEY": "sk-secret",
        "HOME": "/home/x",
    }

    assert environment(ambient) == {
        "PATH": "/bin:/usr/bin",
        "LANG": "C.UTF-8",
        "LC_ALL": "C",
        "XDG_CONFIG_HOME": "/home/x/conf",
    }
    assert environment({}) == {}


def test_names() -> None:
    assert service_name("town", "1a2b3c4d5e6f7a8b") == "gc-town-1a2b3c4d"
    assert check_name("my_city-2.test") == "my_city-2.test"
    for name in ("", "a/b", "-x", "..", ".hidden", "a b", "a@b", "x" * 201, "ü"):
        with pytest.raises(UsageError):
            check_name(name)


@pytest.mark.systemd
@pytest.mark.parametrize("name", ["plain", *HOSTILE])
def test_systemd_verifies_it(name: str, tmp_path: Path) -> None:
    root = tmp_path / name
    root.mkdir()
    gc = root / "gc"
    gc.write_text("#!/bin/sh\n")
    gc.chmod(0o755)
    unit = tmp_path / "gc-town-1a2b3c4d.service"
    unit.write_text(unit_text(made(str(root), program=str(gc), env={"PATH": f"{root}:/bin"})))
    (tmp_path / "run").mkdir()

    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", unit],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
