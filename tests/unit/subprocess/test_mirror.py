"""What the keeper knows, mirrored: complete after every look, and never older than before."""

from __future__ import annotations

from pathlib import Path

import pytest

from gascity.errors import ProviderUnavailable
from gascity_subprocess.asking import NOTHING
from gascity_subprocess.mirror import Mirror


def session(name: str, pid: int = 1) -> dict[str, object]:
    return {
        "name": name,
        "pid": pid,
        "started": "s",
        "alive": True,
        "ended": None,
        "created": 1.0,
        "last_activity": None,
        "work_dir": "/",
        "meta": {},
    }


def news(
    since: int,
    number: int,
    *sessions: dict[str, object],
    gone: tuple[str, ...] = (),
    keeper: str = "k",
) -> dict[str, object]:
    return {
        "keeper": keeper,
        "since": since,
        "number": number,
        "sessions": list(sessions),
        "gone": list(gone),
    }


@pytest.fixture
def mirror(tmp_path: Path) -> Mirror:
    made = Mirror(str(tmp_path))
    made.look(lambda _: news(-1, 5, session("a"), session("b")))
    return made


def test_a_look_asks_for_what_came_after_the_last(mirror: Mirror) -> None:
    asked: list[dict[str, object]] = []

    def ask(params: dict[str, object]) -> object:
        asked.append(params)
        return news(5, 7, session("c"), gone=("a",))

    assert sorted(mirror.look(ask)) == ["b", "c"]
    assert asked == [{"keeper": "k", "number": 5}]


def test_words_that_follow_on_complete_the_mirror(mirror: Mirror) -> None:
    told = mirror.told(news(5, 6, session("c")))

    assert told is not None
    assert sorted(told) == ["a", "b", "c"]


def test_words_after_a_gap_are_not_taken(mirror: Mirror) -> None:
    assert mirror.told(news(8, 9, session("c"))) is None
    assert sorted(mirror.look(lambda _: news(5, 5))) == ["a", "b"]


def test_words_of_another_keeper_are_not_taken(mirror: Mirror) -> None:
    assert mirror.told(news(5, 6, session("c"), keeper="other")) is None


def test_an_answer_older_than_what_is_known_changes_nothing(mirror: Mirror) -> None:
    def slow(_: dict[str, object]) -> object:
        mirror.told(news(5, 9, gone=("a",)))
        return news(5, 6, session("a", pid=2))

    assert sorted(mirror.look(slow)) == ["b"]


def test_a_new_keeper_tells_everything(mirror: Mirror) -> None:
    assert sorted(mirror.look(lambda _: news(-1, 1, session("z"), keeper="new"))) == ["z"]


def test_no_keeper_and_no_session_is_an_empty_mirror(mirror: Mirror) -> None:
    assert mirror.look(lambda _: NOTHING) == {}


def test_nonsense_is_an_outage(mirror: Mirror) -> None:
    with pytest.raises(ProviderUnavailable):
        mirror.look(lambda _: "what?")
