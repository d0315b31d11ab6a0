"""Ids of runs: the form that is made, the forms that are understood, and their order."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from gascity.runs.ids import age_of, is_run_id, new_run_id


def test_an_id_has_the_form_with_a_real_fraction_of_the_second_in_utc() -> None:
    east = timezone(timedelta(hours=2))
    made = new_run_id(datetime(2026, 2, 5, 17, 4, 5, 123_456, tzinfo=east))

    assert re.fullmatch(r"20260205-1504051234-\d+-\d+", made)


def test_ids_of_many_threads_are_all_different() -> None:
    made: list[str] = []
    moment = datetime(2026, 2, 5, tzinfo=UTC)
    threads = [
        threading.Thread(target=lambda: made.extend(new_run_id(moment) for _ in range(500)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(made)) == len(made) == 4000


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("20260205-1504051234-77-1", True),
        ("20260205-150405123-12345", True),
        ("20260205-1504051234-77", False),
        ("20260205-150405123-12345-6", False),
        ("20260205-150405123-12345/..", False),
        ("", False),
    ],
)
def test_both_forms_are_understood_and_nothing_else(text: str, is_one: bool) -> None:
    assert is_run_id(text) is is_one


def test_runs_sort_by_time_pid_and_number_and_not_as_text() -> None:
    ordered = [
        "20260205-150405122-12345",
        "20260205-1504051229-9-1",
        "20260205-150405123-4",
        "20260205-1504051230-77-2",
        "20260205-1504051230-77-10",
        "20260205-1504051230-101-1",
    ]

    backwards = ordered[::-1]
    assert sorted(backwards, key=age_of) == ordered


def test_what_is_no_id_has_no_age() -> None:
    with pytest.raises(ValueError, match="no run id"):
        age_of("yesterday")
