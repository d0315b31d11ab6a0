"""Sessions in a guest, where the guest is unlike others or in trouble."""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.guests.daemon import Daemon

from gascity.core.model import SessionConfig, StartupHints
from gascity.core.observed import Alive, Exited
from gascity.errors import ConfigError, ProviderUnavailable, StartFailed
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery
from gascity.session.tmux import naming
from gascity.testing.eventually import eventually
from gascity_guest import Provider
from gascity_guest.settings import Settings

pytestmark = pytest.mark.tmux
LIMIT = 60.0
READS = 'echo up; while read -r line; do echo "got $line"; done'


@pytest.fixture
def make_daemon(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    made: list[Daemon] = []

    def make(*options: str, **env: str) -> Daemon:
        folder = tmp_path / f"guest{len(made)}"
        folder.mkdir()
        made.append(Daemon(folder, *options, env=env or None))
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def make_provider(tmp_path: Path) -> Iterator[Callable[..., Provider]]:
    """Return what makes providers of one city; its sessions end with the test."""
    made: list[Provider] = []
    state = tmp_path / "city" / ".gc"
    state.mkdir(parents=True)
    city = uuid.uuid4().hex

    def make(daemon: Daemon, **settings: object) -> Provider:
        table = {"socket": daemon.socket, **settings}
        made.append(Provider(CityContext("town", city, str(state), table)))
        return made[-1]

    yield make
    for provider in made[:1]:
        for name in provider.observe(timeout=LIMIT):
            provider.stop(name, grace=0.2, timeout=LIMIT)
    for provider in made:
        provider.close()


@pytest.fixture
def config(tmp_path: Path) -> Callable[..., SessionConfig]:
    work = tmp_path / "city" / "work"

    def make(command: str = READS, **env: str) -> SessionConfig:
        return SessionConfig(command, str(work), {"GC_DIR": str(work), **env})

    return make


Make = Callable[..., Provider]
Configure = Callable[..., SessionConfig]


def home_of(provider: Provider) -> Path:
    mark = naming.city_mark(provider.context.city_id)
    return Path(f"/tmp/gascity-{os.getuid()}/{mark}")


def said_in(path: Path) -> str:
    """Return what a file says, nothing while it is not there."""
    return path.read_text().strip() if path.exists() else ""


def test_a_guest_without_tmux_says_so_in_one_sentence(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "id", "mkdir"):
        (tools / name).symlink_to(str(shutil.which(name)))
    daemon = make_daemon(PATH=str(tools))
    provider = Provider(
        CityContext("bare", uuid.uuid4().hex, str(tmp_path), {"socket": daemon.socket})
    )

    with pytest.raises(ProviderUnavailable, match="there is no tmux in the guest") as caught:
        provider.start("a", config(), timeout=LIMIT)

    assert "install tmux" in caught.value.hint
    provider.close()


def test_a_guest_that_wants_a_token_gets_it_from_a_file(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("open sesame\n")
    daemon = make_daemon("--token-file", str(token))

    provider = make_provider(daemon, token_file=str(token))
    provider.start("a", config(), timeout=LIMIT)

    assert provider.is_running("a", timeout=LIMIT)
    with pytest.raises(ProviderUnavailable, match="not authorised"):
        make_provider(daemon).observe(timeout=LIMIT)


def test_a_guest_whose_files_are_confined_takes_sessions_as_well(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    folder = tmp_path / "guest0"
    provider = make_provider(make_daemon("--root", str(folder)))

    provider.start("a", config(), timeout=LIMIT)
    provider.set_meta("a", "KEY", "ünïcode", timeout=LIMIT)
    receipt = provider.nudge("a", "hello", timeout=LIMIT)

    assert receipt.delivery is Delivery.SUBMITTED
    assert provider.get_meta("a", "KEY", timeout=LIMIT) == "ünïcode"


def test_the_city_stands_elsewhere_in_the_guest_where_the_workspace_says_so(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    provider = make_provider(make_daemon(), workspace=str(there))
    source = tmp_path / "notes"
    source.write_text("notes")

    provider.start("a", config('echo "$GC_DIR" >seen; cat >/dev/null'), timeout=LIMIT)
    provider.copy_to("a", str(source), "copied", timeout=LIMIT)

    eventually(lambda: said_in(there / "work" / "seen") == f"{there / 'work'}")
    assert (there / "work" / "copied").read_text() == "notes"


def test_a_folder_that_cannot_be_made_in_the_guest_fails_the_start_with_a_hint(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure
) -> None:
    provider = make_provider(make_daemon(), workspace="/proc/no")

    with pytest.raises(StartFailed, match="cannot be made") as caught:
        provider.start("a", config(), timeout=LIMIT)

    assert "workspace" in caught.value.hint
    assert dict(provider.observe(timeout=LIMIT)) == {}


def test_a_tmux_whose_socket_was_cleared_away_is_found_again(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure
) -> None:
    provider = make_provider(make_daemon())
    provider.start("a", config(), timeout=LIMIT)
    (home_of(provider) / "tmux").unlink()

    assert provider.observe(timeout=LIMIT)["a"].life == Alive()


def test_what_outlives_its_tmux_is_a_session_that_ended_until_the_next_start(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    provider = make_provider(make_daemon())
    pid_file = tmp_path / "city" / "work" / "pid"
    deaf = "trap '' HUP TERM; echo $$ >pid; while :; do sleep 1; done"
    provider.start("a", config(deaf, GC_AGENT="ann", GC_RUN="r1"), timeout=LIMIT)
    eventually(lambda: said_in(pid_file))
    survivor = int(pid_file.read_text())
    server = int(Path(f"/proc/{survivor}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(server, signal.SIGKILL)

    eventually(lambda: not psutil.pid_exists(server))
    left = provider.observe(timeout=LIMIT)["a"]
    assert left.life == Exited()
    assert (left.meta["GC_AGENT"], left.meta["GC_RUN"]) == ("ann", "r1")
    provider.start("a", config(), timeout=LIMIT)
    eventually(lambda: not Path(f"/proc/{survivor}").exists())
    assert provider.observe(timeout=LIMIT)["a"].life == Alive()


def test_what_is_heard_too_late_is_not_done(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    daemon = make_daemon()
    provider = make_provider(daemon)
    provider.start("a", config(), timeout=LIMIT)
    trace = tmp_path / "done"

    with daemon.frozen():
        deadline = time.monotonic() + 0.2
        with pytest.raises(ProviderUnavailable):
            provider._guest.run(f"touch {trace}", deadline=deadline)
        threading.Event().wait(1.0)  # longer than it is wanted
    provider._guest.run("true", deadline=time.monotonic() + LIMIT)

    assert provider.is_running("a", timeout=LIMIT)
    assert not trace.exists()


def test_more_than_a_guest_returns_at_once_is_read_in_pieces(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure
) -> None:
    provider = make_provider(make_daemon("--max-output", "20000"))
    count = "n=0; while [ $n -lt 4000 ]; do n=$((n+1)); echo line-$n-wörds; done"
    provider.start("a", config(f"{count}; cat", LC_ALL="C.UTF-8"), timeout=LIMIT)

    eventually(lambda: "line-4000-" in provider.peek("a", 1, timeout=LIMIT))
    assert provider.peek("a", 0, timeout=LIMIT).split() == [
        f"line-{number}-wörds" for number in range(1, 4001)
    ]


@pytest.mark.parametrize("is_confined", [False, True])
@pytest.mark.parametrize("odd", ["", "\udcff"], ids=["text", "bytes"])
def test_nothing_of_an_environment_or_a_message_stands_in_an_argument_list(
    make_daemon: Callable[..., Daemon],
    make_provider: Make,
    config: Configure,
    tmp_path: Path,
    is_confined: bool,
    odd: str,
) -> None:
    folder = tmp_path / "guest0"
    provider = make_provider(make_daemon(*(["--root", str(folder)] if is_confined else [])))
    seen: list[str] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    words = path.read_bytes()
                except OSError:
                    continue
                whole = words + b"".join(_unpacked(words))
                if b"very-secret" in whole and b"pytest" not in words:
                    seen.append(words.decode(errors="replace"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        provider.start("a", config(SECRET=f"very-secret-value{odd}"), timeout=LIMIT)
        provider.nudge("a", "a very-secret-word", timeout=LIMIT)
        provider.set_meta("a", "KEY", "very-secret-meta", timeout=LIMIT)
    finally:
        done.set()
        watcher.join()

    assert seen == []
    assert not list(folder.glob(".gc-*"))


def _unpacked(words: bytes) -> Iterator[bytes]:
    """Yield what stands in there as base64."""
    for found in re.findall(rb"[A-Za-z0-9+/]{24,}={0,2}", words):
        yield base64.b64decode(found[: len(found) // 4 * 4])


def test_a_command_before_the_start_runs_in_the_guest(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure, tmp_path: Path
) -> None:
    provider = make_provider(make_daemon())
    plain = config()
    hints = StartupHints(pre_start=('echo "$GC_DIR" >before',))

    provider.start(
        "a", SessionConfig(plain.command, plain.work_dir, plain.env, hints), timeout=LIMIT
    )

    assert (tmp_path / "city" / "work" / "before").read_text() == f"{plain.work_dir}\n"


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({}, "needs socket"),
        ({"socket": 3}, "must be a text"),
        ({"socket": "/x", "sockets": "/x"}, "no setting"),
        ({"socket": "/x", "connect": True}, "whole number"),
        ({"socket": "/x", "connect": -2}, "between"),
        ({"socket": "/x", "workspace": "here"}, "absolute"),
        ({"socket": "vsock:x"}, "no address"),
        ({"socket": "vsock:3:52", "connect": 52}, "is a path"),
        ({"socket": "/x?connect=52"}, "setting `connect`"),
    ],
)
def test_settings_that_make_no_sense_are_refused(table: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Settings.read(table)


def test_paths_in_settings_begin_in_the_folder_of_the_city() -> None:
    found = Settings.read({"socket": "vm.sock", "token_file": "token", "connect": 52}, "/city")

    assert (str(found.address), found.token_file) == ("/city/vm.sock?connect=52", "/city/token")


def test_who_watches_is_woken_by_changes_and_not_by_time(
    make_daemon: Callable[..., Daemon], make_provider: Make, config: Configure
) -> None:
    daemon = make_daemon()
    provider, onlooker = make_provider(daemon), make_provider(daemon)
    provider.start("a", config(), timeout=LIMIT)
    looks, woken = [], threading.Event()
    count = onlooker._view.look

    def counted(deadline: float, name: str = "") -> object:
        looks.append(name)
        return count(deadline, name)

    onlooker._view.look = counted  # type: ignore[method-assign, assignment] # only counted
    watch = onlooker.watch(woken.set, interval=0.05)
    try:
        eventually(woken.is_set)
        woken.clear()
        before = len(looks)
        eventually(lambda: len(looks) > before + 5)
        assert not woken.is_set()

        provider.set_meta("a", "KEY", "new", timeout=LIMIT)
        eventually(woken.is_set)
    finally:
        watch.close()
