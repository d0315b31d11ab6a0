"""Open alerts: one line for each trouble, until it is over."""

from __future__ import annotations

from gascity.core.actions import Alert
from gascity.core.memory import Memory
from gascity.journal.alerts import OpenAlert
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

    assert journal.alerts.close(ALERT.key)
    assert not journal.alerts.close(ALERT.key)
    assert journal.alerts.open() == []
    journal.alerts.note([(9.0, ALERT)])
    assert [(alert.since, alert.times) for alert in journal.alerts.open()] == [(9.0, 1)]
