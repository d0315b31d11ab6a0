"""Worker threads: few for much short work, more when work gets stuck."""

from __future__ import annotations

import threading

from gascity.controller.workers import Workers
from gascity.testing.eventually import eventually


def test_jobs_that_are_stuck_hold_up_nobody() -> None:
    workers = Workers(few=2)
    release, done = threading.Event(), threading.Event()
    for _ in range(20):
        workers.submit(release.wait)

    workers.submit(done.set)

    assert done.wait(60)
    release.set()


def test_short_jobs_need_few_threads() -> None:
    workers = Workers(few=3)
    names: set[int] = set()
    count = iter(range(1000))
    done: list[int] = []

    def job() -> None:
        names.add(threading.get_ident())
        done.append(next(count))

    for _ in range(500):
        workers.submit(job)

    eventually(lambda: len(done) == 500)
    assert len(names) <= 10


def test_every_job_runs_once_with_many_submitters() -> None:
    workers = Workers(few=2)
    lock = threading.Lock()
    seen: list[tuple[int, int]] = []

    def submit_all(who: int) -> None:
        for number in range(100):
            workers.submit(lambda pair=(who, number): _note(lock, seen, pair))  # type: ignore[misc]  # a bound default

    threads = [threading.Thread(target=submit_all, args=(who,)) for who in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    eventually(lambda: len(seen) == 500)
    assert len(set(seen)) == 500


def _note(lock: threading.Lock, seen: list[tuple[int, int]], pair: tuple[int, int]) -> None:
    with lock:
        seen.append(pair)
