"""A session gets the environment it was given, and nobody else sees it."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from tests.integration.tmux.conftest import LIMIT, City

from gascity.core.model import SessionConfig, StartupHints
from gascity.errors import StartFailed
from gascity.session.marks import MARK
from gascity.testing.eventually import eventually
from gascity_tmux.provider import Provider

pytestmark = pytest.mark.tmux

OF_TMUX = {"TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "SHELL"}
TELL = "env -0 >told.$$; mv told.$$ told; exec sleep 1000"  # several may tell at once


def told(city: City) -> dict[str, str]:
    """Return the environment that a session wrote down."""
    path = city.work / "told"
    eventually(path.exists)
    pairs = (entry.partition("=") for entry in path.read_text().split("\0") if entry)
    return {key: value for key, _, value in pairs if key not in ("_", "PWD", "SHLVL", "OLDPWD")}


def test_environment_does_not_leak_from_a_server_that_a_person_started(city: City) -> None:
    dirty = {"LEAKED": "1", "CLAUDECODE": "1", "OTHER_API_KEY": "secret"}
    city.tmux("new-session", "-d", "-s", "person", "sleep 1000", env=dirty)

    config = city.config(TELL)
    city.provider().start("a", config, timeout=LIMIT)

    assert set(told(city)) - OF_TMUX == {*config.env, MARK}


def test_environment_does_not_leak_from_the_caller(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("TMUX", "TMUX_PANE", "CLAUDECODE", "LEAKED"):
        monkeypatch.setenv(key, "/nowhere,1,0")

    config = city.config(TELL)
    city.provider().start("a", config, timeout=LIMIT)

    found = told(city)
    assert set(found) - OF_TMUX == {*config.env, MARK}
    assert found["TMUX"].startswith(f"{city.socket},")


def test_environment_does_not_leak_from_what_a_person_set_in_the_server(city: City) -> None:
    provider = city.provider()
    provider.start("first", city.config("sleep 1000"), timeout=LIMIT)
    city.tmux("set-environment", "-g", "LEAKED", "1")

    config = city.config(TELL)
    provider.start("a", config, timeout=LIMIT)

    assert set(told(city)) - OF_TMUX == {*config.env, MARK}


def test_environment_does_not_leak_from_one_session_to_the_next(city: City) -> None:
    provider = city.provider()
    provider.start("first", city.config("sleep 1000", env={"FIRST": "1"}), timeout=LIMIT)

    provider.start("a", city.config(TELL), timeout=LIMIT)

    assert "FIRST" not in told(city)
    assert city.token not in city.tmux("show-environment", "-g")


def test_a_variable_holds_whatever_a_variable_can_hold(city: City) -> None:
    odd = {
        "NEWLINES": "a\nb\n",
        "QUOTES": "'\"`$HOME ${HOME} $(id) \\ ~",
        "FORMAT": "#{pid} #(id) ##",
        "END": "x;",
        "EMPTY": "",
        "DASH": "-t",
        "UNICODE": "héllo ☃",
        "BRACES": "{ } %if 1",
        "LONG": "x" * 100_000,
    }

    city.provider().start("a", city.config(TELL, env=odd), timeout=LIMIT)

    found = told(city)
    assert {key: found.get(key) for key in odd} == odd


def test_a_variable_longer_than_the_kernel_takes_is_refused(city: City) -> None:
    with pytest.raises(StartFailed, match="variable LONG is longer"):
        city.provider().start("a", city.config(TELL, env={"LONG": "x" * 200_000}), timeout=LIMIT)

    assert not city.living()


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_shell_and_path_are_what_the_config_says(city: City, shell: str) -> None:
    tools = city.work / "tools"
    tools.mkdir()
    (tools / "agent").write_text(f"#!/bin/sh\n{TELL}\n")
    (tools / "agent").chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    env = {"PATH": path, "SHELL": shell}

    city.provider().start("a", city.config("agent", env=env), timeout=LIMIT)

    found = told(city)
    assert (found["SHELL"], found["PATH"]) == (shell, path)


def test_nothing_secret_is_in_ps_while_starting(city: City) -> None:
    secret = f"secret-{city.token[::-1]}"
    seen: list[str] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            seen.extend(words for words in command_lines() if secret in words)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        provider = city.provider()
        hints = StartupHints(pre_start=("true",), session_setup=("true",), ready_delay_ms=50)
        for count in range(5):
            config = city.config(TELL, hints=hints, env={"API_KEY": secret})
            provider.start(f"a{count}", config, timeout=LIMIT)
            provider.set_meta(f"a{count}", "KEY", secret, timeout=LIMIT)
    finally:
        is_over.set()
        watcher.join()

    assert told(city)["API_KEY"] == secret
    assert seen == []


def command_lines() -> list[str]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                found.append(Path("/proc", entry, "cmdline").read_bytes().decode(errors="replace"))
    return found


def test_nothing_secret_is_kept_in_tmux(city: City) -> None:
    """Metadata and variables are both environment to tmux; what it shows to all is metadata."""
    provider = city.provider()
    config = city.config("sleep 1000", env={"API_KEY": "secret"}, meta={"KEY": "value"})

    provider.start("a", config, timeout=LIMIT)

    assert "secret" not in city.tmux("show-environment", "-t", "=a")
    assert provider.observe(timeout=LIMIT)["a"].meta == {"KEY": "value"}


@pytest.mark.parametrize("name", ["a #{b} #S c", "##", "#(touch done)", "-x", "it's; $HOME"])
def test_a_work_folder_may_have_hashes_and_spaces_in_its_path(city: City, name: str) -> None:
    folder = city.work / name
    folder.mkdir()
    config = SessionConfig("pwd >here; exec sleep 1000", str(folder), city.config("").env)
    provider = city.provider()

    provider.start("a", config, timeout=LIMIT)
    provider.copy_to("a", "/etc/hostname", "copied", timeout=LIMIT)

    eventually(lambda: (folder / "here").exists() and (folder / "here").read_text())
    assert (folder / "here").read_text() == f"{folder}\n"
    assert (folder / "copied").exists()


def test_a_work_folder_inside_tmux_is_not_the_callers(city: City, tmp_path: Path) -> None:
    provider: Provider = city.provider()

    with contextlib.chdir(tmp_path):
        provider.start("a", city.config("sleep 1000"), timeout=LIMIT)

    # The folder is the kernel's to say, once the program runs.
    eventually(lambda: city.ask("a", "#{pane_current_path}") == str(city.work))
