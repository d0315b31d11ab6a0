"""Open alerts: one line for each trouble, until it is over."""

from __future__ import annotations

import sqlite3

from gascity.core.actions import Alert
from gascity.core.memory import Memory
from gascity.journal.alerts import MOST, OpenAlert
from gascity.journal.store import Journal

ALERT = Alert("quarantined:mayor", "mayor", "mayor crashed 5 times")


def test_the_same_trouble_is_one_alert(journal: Journal) -> None:
    journal.write([], Memory(), [(1.0, ALERT)])
    journal.write([], Memory(), [(5.0, Alert(ALERT.key, "mayor", "mayor crashed 6 times"))])

    assert journal.alerts.open() == [
        OpenAlert(ALERT.key, "mayor", "mayor crashed 6 times", since=1.0, last=5.0, times=2)
    ]


def test_alerts_outlive_the_process_in_the_order_they_came(path: str) -> None:
    journal = Journal(path)
    journal.alerts.note([(2.0, Alert("b", "b", "two")), (1.0, Alert("a", "a", "one \udcff"))])
    journal.close()

    again = Journal(path)

    assert [alert.text for alert in again.alerts.open()] == ["one ?", "two"]
    again.close()


def test_an_alert_that_is_over_is_closed_once_and_begins_anew(journal: Journal) -> None:
    journal.alerts.note([(1.0, ALERT), (2.0, ALERT)])

    assert journal.alerts.close([ALERT.key, "another"]) == 1
    assert not journal.alerts.close([ALERT.key])
    assert journal.alerts.open() == []
    journal.alerts.note([(9.0, ALERT)])
    assert [(alert.since, alert.times) for alert in journal.alerts.open()] == [(9.0, 1)]


def test_nothing_to_close_is_no_error(journal: Journal) -> None:
    assert journal.alerts.close([]) <= 0


def test_what_is_closed_and_raised_in_one_write_is_open(journal: Journal) -> None:
    journal.write([], Memory(), [(1.0, ALERT)])
    journal.write([], Memory(), [(2.0, ALERT)], [ALERT.key])
    assert [alert.since for alert in journal.alerts.open()] == [2.0]

    journal.write([], Memory(), closed=[ALERT.key])

    assert journal.alerts.open() == []


def test_what_was_last_told_long_ago_is_let_go(journal: Journal) -> None:
    told = [(1.0, "a"), (1.0, "b"), (50.0, "b"), (60.0, "c")]
    journal.alerts.note([(at, Alert(key, "", "x")) for at, key in told])

    journal.trim(100.0, 55.0, 1000)

    assert [alert.key for alert in journal.alerts.open()] == ["b", "c"]


def test_of_too_many_the_newest_are_kept(journal: Journal) -> None:
    journal.alerts.note([(float(n), Alert(f"nudge:{n}", "", "x")) for n in range(MOST + 500)])

    journal.trim(2000.0, 1e9, 1000)

    assert [alert.since for alert in journal.alerts.open()] == list(range(500, MOST + 500))


def test_where_nothing_is_to_go_whoever_writes_is_no_hindrance(journal: Journal, path: str) -> None:
    journal.alerts.note([(1.0, ALERT)])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert not journal.trim(2.0, 3600.0, 1000)

    other.close()
