"""Many processes on one bus: nothing is lost, doubled or out of order, however they end."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from gascity.core.actions import Event, EventType
from gascity.core.memory import Memory
from gascity.errors import GascityError
from gascity.journal import schema
from gascity.journal.bus import Bus
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually

POSTER = """
import sys
from gascity.journal.bus import Bus
path, count, name = sys.argv[1:]
with Bus(path) as bus:
    for n in range(int(count)):
        print(bus.post("INFO", f"{name}-{n}", run=name), flush=True)
"""
SMALL_LOG = """
from gascity.journal import bus
bus.LONGEST_LOG = 4_000_000
"""
ONCE = """
import sys
from gascity.journal.bus import Bus
print("ready", flush=True)
sys.stdin.read()
with Bus(sys.argv[1]) as bus:
    print(sum(1 for n in range(200) if bus.post_once("RUN_CRASH", f"r{n}", "x")))
"""


def python(script: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_ten_processes_post_two_thousand_messages_and_each_is_there_once(path: str) -> None:
    posters = [python(POSTER, path, "200", f"p{n}") for n in range(10)]
    said = {
        f"p{n}": list(map(int, each.communicate()[0].split())) for n, each in enumerate(posters)
    }

    assert [each.returncode for each in posters] == [0] * 10
    assert sorted(number for numbers in said.values() for number in numbers) == list(range(1, 2001))
    with Bus(path) as bus:
        found = [entry for page in bus.every() for entry in page.entries]
    for name, numbers in said.items():
        mine = [entry for entry in found if entry.run == name]
        assert numbers == sorted(numbers) == [entry.number for entry in mine]
        assert [entry.message for entry in mine] == [f"{name}-{n}" for n in range(200)]
    times = [entry.at for entry in found]
    assert times == sorted(times)


def test_a_reader_sees_each_once_or_is_told_what_it_missed(path: str) -> None:
    """Twenty post, old messages are let go all the time, and somebody reads, slower than that."""
    posters = [python(POSTER, path, "25", f"p{n}") for n in range(20)]
    rested = False
    journal = Journal(path, patience=30.0)
    seen: list[int] = []
    missed: list[int] = []
    after = 0
    with Bus(path) as bus:
        while any(each.poll() is None for each in posters) or after < 500:
            page = bus.page(after, limit=7)
            assert not page.anew
            if page.misses:
                missed += range(page.after + 1, page.first)
            seen += [entry.number for entry in page.entries]
            after = page.upto
            if len(seen) > 50 and not rested:
                rest(bus, journal, after)
                rested = True
            if len(seen) > 50:
                trim(journal)
    journal.close()
    for each in posters:
        each.communicate()

    assert [each.returncode for each in posters] == [0] * 20
    assert len(set(seen)) == len(seen)
    assert sorted([*seen, *missed]) == list(range(1, 501))
    assert missed, "nothing was let go before it was read"


def rest(bus: Bus, journal: Journal, after: int) -> None:
    """Be slower than those who post: read on when messages are gone that were not read."""
    eventually(lambda: bus.newest(1).upto > 300)
    eventually(lambda: trim(journal) and bus.page(after).misses)


def trim(journal: Journal) -> bool:
    """Let old ones go; False where that has to wait."""
    try:
        journal.trim(time.time(), 0.01, 100)
    except GascityError as problem:  # somebody posts; it has time
        assert "another process holds it" in problem.message  # noqa: PT017  any other is a failure
        return False
    return True


def test_posters_that_are_killed_at_any_instant_take_nothing_back(path: str) -> None:
    chance = random.Random(5)  # the instants are the machine's anyway
    said: list[tuple[int, str]] = []
    for round_ in range(6):
        posters = {
            f"{round_}.{n}": python(POSTER, path, "1000000", f"{round_}.{n}") for n in (0, 1)
        }
        for each in posters.values():
            assert each.stdout is not None
            said.append((int(each.stdout.readline()), "-0"))
        time.sleep(chance.random() * 0.05)  # an instant, not a wait for anything
        for each in posters.values():
            os.kill(each.pid, signal.SIGKILL)
            assert each.stdout is not None
            lines = each.stdout.read().split("\n")[:-1]  # the last one may be half a number
            each.communicate()
            said += [(int(line), f"-{n}") for n, line in enumerate(lines, 1)]

    with Bus(path) as bus:
        found = {entry.number: entry.message for page in bus.every() for entry in page.entries}
    assert sorted(found) == list(range(1, len(found) + 1))
    for number, ending in said:
        assert found[number].endswith(ending)


def test_of_many_who_would_post_it_one_does(path: str) -> None:
    Journal(path).close()
    each = [python(ONCE, path) for _ in range(6)]
    for one in each:
        assert one.stdout is not None
        one.stdout.readline()
    for one in each:
        assert one.stdin is not None
        one.stdin.close()
        one.stdin = None
    posted = [int(one.communicate()[0]) for one in each]

    assert sum(posted) == 200
    with Bus(path) as bus:
        found = [entry.run for page in bus.every() for entry in page.entries]
    assert sorted(found) == sorted(f"r{n}" for n in range(200))


def test_the_log_of_writes_does_not_grow_without_end_while_many_post(path: str) -> None:
    """SQLite alone begins it anew only when nobody writes; it would have 240 megabytes here."""
    journal = Journal(path)  # or the last one who goes would take the log along
    script = SMALL_LOG + POSTER.replace('f"{name}-{n}"', '"x" * 1_000_000')
    posters = [python(script, path, "20", f"p{n}") for n in range(12)]
    largest = 0
    while any(each.poll() is None for each in posters):
        largest = max(largest, os.path.getsize(f"{path}-wal"))
    for each in posters:
        each.communicate()

    assert [each.returncode for each in posters] == [0] * 12
    assert largest < 120_000_000
    journal.close()


def test_a_controller_gets_its_words_in_while_others_leave_little_room(path: str) -> None:
    """SQLite would ask eleven times in a quarter of a second, and mostly find somebody writing."""
    journal = Journal(path)
    enough = threading.Event()

    def post_large_ones() -> None:
        other = sqlite3.connect(path, timeout=30.0, isolation_level=None)
        while not enough.is_set():
            other.execute("BEGIN IMMEDIATE")
            enough.wait(0.03)
            other.execute("ROLLBACK")
            enough.wait(0.004)
        other.close()

    thread = threading.Thread(target=post_large_ones)
    thread.start()
    try:
        for n in range(30):
            journal.record(float(n), [Event(EventType.AGENT_HELD, "a")], Memory())
            time.sleep(0.01)  # a controller has other things to do
    finally:
        enough.set()
        thread.join()
        journal.close()


def test_several_may_make_the_file_at_once(path: str) -> None:
    """SQLite turns some of them away at once, however patient they are; seen in most runs."""
    together = threading.Barrier(4)
    problems: list[BaseException] = []

    def make() -> None:
        for n in range(100):
            together.wait()
            try:
                schema.connect(f"{path}.{n}", 30.0).close()
            except BaseException as problem:  # noqa: BLE001  whatever it is, it is told below
                problems.append(problem)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
