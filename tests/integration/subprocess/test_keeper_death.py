"""The keeper may be killed at any instant: sessions live on and are taken up."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
from tests.integration.subprocess.conftest import LIMIT, City
from tests.living import lives

from gascity.core.observed import Alive, Exited
from gascity.session.marks import MARK
from gascity.testing.eventually import eventually
from gascity_subprocess import layout


def test_a_session_outlives_its_keeper_and_is_taken_up_by_the_next(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    before = provider.observe(timeout=LIMIT)["a"]
    city.kill_keeper()

    after = provider.observe(timeout=LIMIT)["a"]

    assert after == before
    assert isinstance(after.life, Alive)


def test_metadata_and_output_outlive_the_keeper(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("echo hello; read x; echo $x; sleep 1000"), timeout=LIMIT)
    provider.set_meta("a", "KEY", "a\nvalue", timeout=LIMIT)
    eventually(lambda: "hello" in provider.peek("a", 0, timeout=LIMIT))
    city.kill_keeper()

    provider.nudge("a", "still there", timeout=LIMIT)

    assert provider.get_meta("a", "KEY", timeout=LIMIT) == "a\nvalue"
    eventually(lambda: provider.peek("a", 0, timeout=LIMIT) == "hello\nstill there")


def test_how_a_session_ended_without_a_keeper_is_not_invented(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("exec sleep 1000"), timeout=LIMIT)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    city.kill_keeper()
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not lives(process.pid))

    assert provider.observe(timeout=LIMIT)["a"].life == Exited(None, None)


def test_the_end_of_an_adopted_session_is_noticed_at_once(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("exec sleep 1000"), timeout=LIMIT)
    city.kill_keeper()
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    woken = threading.Event()
    watch = provider.watch(woken.set)
    assert woken.wait(LIMIT)
    woken.clear()

    os.kill(process.pid, signal.SIGKILL)

    assert woken.wait(LIMIT)
    eventually(lambda: provider.observe(timeout=LIMIT)["a"].life == Exited(None, None))
    watch.close()


def test_the_death_of_the_keeper_itself_wakes(city: City) -> None:
    provider = city.provider()
    provider.start("a", city.config("sleep 1000"), timeout=LIMIT)
    woken = threading.Event()
    watch = provider.watch(woken.set)
    assert woken.wait(LIMIT)
    woken.clear()

    city.kill_keeper()

    assert woken.wait(LIMIT)
    eventually(city.keeper)  # and it is replaced, since there is something to keep
    watch.close()


def test_stopping_an_adopted_session_finds_what_ran_away_from_it(city: City) -> None:
    provider = city.provider()
    command = "setsid -f sleep 1001; (trap '' TERM; sleep 1002) & exec sleep 1000"
    provider.start("a", city.config(command), timeout=LIMIT)
    eventually(lambda: {"1000", "1001", "1002"} <= {_last_word(pid) for pid in city.living()})
    city.kill_keeper()

    provider.stop("a", grace=0.2, timeout=LIMIT)

    assert city.living() == []
    assert provider.observe(timeout=LIMIT) == {}


def test_a_start_that_was_cut_off_leaves_nothing(city: City) -> None:
    folder = city.folder("a")
    folder.mkdir(parents=True)
    env = {MARK: layout.mark(str(city.home), "a", "x"), "TEST_TOKEN": city.token}
    cut_off = subprocess.Popen(["sleep", "1000"], env=env, start_new_session=True)
    eventually(city.living)  # it shows no variables in the moment in which it becomes `sleep`

    assert city.provider().observe(timeout=LIMIT) == {}

    assert cut_off.wait(LIMIT) == -signal.SIGKILL
    assert not folder.exists()


def test_starts_survive_a_keeper_that_keeps_dying(city: City) -> None:
    provider = city.provider()
    names = [f"s{number}" for number in range(20)]
    started = threading.Event()

    def start(name: str) -> None:
        provider.start(name, city.config("exec sleep 1000"), timeout=LIMIT)
        started.set()

    with ThreadPoolExecutor(8) as threads:
        starts = [threads.submit(start, name) for name in names]
        started.wait(LIMIT)
        for _ in range(3):
            os.kill(eventually(city.keeper), signal.SIGKILL)
            provider.observe(timeout=LIMIT)
        for one in starts:
            one.result()

    assert provider.list_running("", timeout=LIMIT) == sorted(names)
    roots = {one.process.pid for one in provider.observe(timeout=LIMIT).values() if one.process}
    assert len(roots) == len(names)
    # A process shows no variables in the moment in which it becomes `sleep`.
    eventually(lambda: set(city.living()) == roots)


def test_stops_survive_a_keeper_that_dies(city: City) -> None:
    provider = city.provider()
    for number in range(6):
        provider.start(f"s{number}", city.config("trap '' TERM; sleep 1000"), timeout=LIMIT)

    with ThreadPoolExecutor(6) as threads:
        stops = [
            threads.submit(provider.stop, f"s{number}", grace=0.3, timeout=LIMIT)
            for number in range(6)
        ]
        os.kill(city.keeper(), signal.SIGKILL)
        for one in stops:
            one.result()

    assert city.living() == []
    assert provider.observe(timeout=LIMIT) == {}


def test_a_recycled_pid_is_never_signalled(city: City) -> None:
    innocent = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    provider = city.provider()
    provider.start("a", city.config("exec sleep 1000"), timeout=LIMIT)
    process = provider.observe(timeout=LIMIT)["a"].process
    assert process is not None
    city.kill_keeper()
    os.kill(process.pid, signal.SIGKILL)
    record = city.folder("a") / layout.RECORD
    record.write_text(record.read_text().replace(f'"pid": {process.pid}', f'"pid": {innocent.pid}'))
    try:
        assert not provider.is_running("a", timeout=LIMIT)
        provider.interrupt("a", timeout=LIMIT)
        provider.stop("a", grace=0.1, timeout=LIMIT)

        assert innocent.poll() is None
    finally:
        innocent.kill()
        innocent.wait()


def _last_word(pid: int) -> str:
    try:
        return psutil.Process(pid).cmdline()[-1]
    except (psutil.Error, IndexError):
        return ""
