"""The queue of messages in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.core.nudges import NudgeState, QueuedNudge
from gascity.errors import GascityError, NotFound, UsageError
from gascity.journal.nudges import MOST_PENDING, SHOWN
from gascity.journal.store import Journal


def add(journal: Journal, text: str = "hello") -> QueuedNudge:
    return journal.nudges.add("a", "gc-c-a", text, at=1.0, expires_at=2.0, raw=True, run="r")


def test_a_message_outlives_the_process(tmp_path: Path, journal: Journal) -> None:
    kept = add(journal, "two\nlines 東京 \udcff")
    journal.close()

    again = Journal(str(tmp_path / "city.db"))

    assert again.nudges.open() == [kept]
    assert kept.text == "two\nlines 東京 ?"
    again.close()


def test_messages_are_open_in_their_order_until_they_are_over(journal: Journal) -> None:
    first, second, third = (add(journal, text) for text in ("1", "2", "3"))
    journal.nudges.mark(first.number, NudgeState.SUBMITTED, "it works on it", attempts=1)
    journal.nudges.mark(second.number, NudgeState.SENDING)

    still = journal.nudges.open()

    assert [nudge.number for nudge in still] == [second.number, third.number]
    assert still[0].state is NudgeState.SENDING
    everything = journal.nudges.recent()
    assert [nudge.text for nudge in everything] == ["1", "2", "3"]
    assert everything[0].evidence == "it works on it"
    assert everything[0].attempts == 1


def test_of_those_that_are_over_only_the_last_are_listed(journal: Journal) -> None:
    for number in range(SHOWN + 5):
        journal.nudges.mark(add(journal, str(number)).number, NudgeState.SUBMITTED)

    listed = journal.nudges.recent()

    assert len(listed) == SHOWN
    assert listed[-1].text == str(SHOWN + 4)


def test_a_message_can_be_taken_back_while_it_waits(journal: Journal) -> None:
    kept = add(journal)

    journal.nudges.cancel(kept.number)

    assert journal.nudges.open() == []


def test_but_not_once_it_is_on_its_way(journal: Journal) -> None:
    kept = add(journal)
    journal.nudges.mark(kept.number, NudgeState.SENDING)

    with pytest.raises(UsageError, match="it is sending"):
        journal.nudges.cancel(kept.number)


def test_there_is_nothing_to_take_back_of_an_unknown_number(journal: Journal) -> None:
    with pytest.raises(NotFound, match="no message 99"):
        journal.nudges.cancel(99)


def test_a_queue_does_not_grow_without_end(journal: Journal) -> None:
    for _ in range(MOST_PENDING):
        add(journal)

    with pytest.raises(UsageError, match="messages wait for a already"):
        add(journal)


def test_a_message_in_a_state_that_there_is_not_is_a_clear_error(
    journal: Journal, path: str
) -> None:
    number = add(journal).number
    journal._db.execute("UPDATE nudge SET state = 'flying' WHERE number = ?", (number,))

    with pytest.raises(GascityError, match="'flying'"):
        journal.nudges.recent()
