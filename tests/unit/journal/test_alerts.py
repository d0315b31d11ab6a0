"""Open alerts: one line for each trouble, until it is over."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from gascity.core.alerts import Severity
from gascity.core.memory import Memory
from gascity.journal.alerts import MOST, OpenAlert
from gascity.journal.store import Journal

ALERT = OpenAlert("quarantine:mayor", "mayor", "mayor crashed 5 times", 1.0, 1.0)


def test_a_trouble_is_one_line_as_it_was_last_known(journal: Journal) -> None:
    later = replace(ALERT, text="6 times", last=5.0, times=2, severity=Severity.WARNING, told=True)
    journal.write([], Memory(), [ALERT])
    journal.write([], Memory(), [later])

    assert journal.alerts.open() == [later]


def test_alerts_outlive_the_process_in_the_order_they_came(path: str) -> None:
    journal = Journal(path)
    two, one = OpenAlert("b", "b", "two", 2.0, 2.0), OpenAlert("a", "a", "one \udcff", 1.0, 1.0)
    journal.alerts.keep([two, one])
    journal.close()

    again = Journal(path)

    assert [alert.text for alert in again.alerts.open()] == ["one ?", "two"]
    again.close()


def test_an_alert_that_is_over_is_closed_once(journal: Journal) -> None:
    journal.alerts.keep([ALERT])

    assert journal.alerts.close([ALERT.key, "another"]) == 1
    assert not journal.alerts.close([ALERT.key])
    assert journal.alerts.open() == []


def test_nothing_to_close_is_no_error(journal: Journal) -> None:
    assert journal.alerts.close([]) <= 0


def test_what_was_last_told_long_ago_is_let_go(journal: Journal) -> None:
    last = {"a": 1.0, "b": 50.0, "c": 60.0}
    journal.alerts.keep([OpenAlert(key, "", "x", 1.0, at) for key, at in last.items()])

    journal.trim(100.0, 55.0, 1000)

    assert [alert.key for alert in journal.alerts.open()] == ["b", "c"]


def test_of_too_many_the_newest_are_kept(journal: Journal) -> None:
    many = [OpenAlert(f"nudge:{n}", "", "x", float(n), float(n)) for n in range(MOST + 500)]
    journal.alerts.keep(many)

    journal.trim(2000.0, 1e9, 1000)

    assert [alert.since for alert in journal.alerts.open()] == list(range(500, MOST + 500))


def test_where_nothing_is_to_go_whoever_writes_is_no_hindrance(journal: Journal, path: str) -> None:
    journal.alerts.keep([ALERT])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert not journal.trim(2.0, 3600.0, 1000)

    other.close()


def test_how_bad_it_is_may_be_a_word_of_a_newer_gc(journal: Journal) -> None:
    journal.alerts.keep([ALERT])
    journal._db.execute("UPDATE alert SET severity = 'apocalyptic'")

    assert [alert.severity for alert in journal.alerts.open()] == [Severity.CRITICAL]
