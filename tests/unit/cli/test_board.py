"""The status in as many columns as a terminal has."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.unit.cli.test_overview import NOW, city

from gascity.cli.board import SYMBOLS, Style, _shows_symbols, drawn
from gascity.core.views import State

PLAIN = Style(colours=False)
ASCII = Style(colours=False, symbols=False)
HOSTILE = [
    "",
    "it waits for a person: do you want to proceed with this very long question of mine?",
    "東京タワーで待ち合わせをしているので、しばらくお待ちください。" * 3,
    "👩‍🚀🚀❤️ launch 🇩🇪 " * 8,
    "e\u0301\u0302\u0303" * 60,
    "\x1b[2J\x1b[31mred\x07\r\nnew line\ttab\x9b1m",
    "\u202egnihtemos\u2066\u200b",
    "x" * 500,
    "] [bold]markup[/bold] {braces} %s",
]


def every_state(reason: str) -> dict[str, object]:
    return city(
        *(
            {
                "name": f"rigs/some-{state}-worker-{number}",
                "state": state,
                "reason": reason,
                "next": f"`gc attach rigs/some-{state}-worker-{number}` and answer",
                "attached": number % 3,
                "drift": number % 4 == 0,
                "next_at": NOW + 10**number if number % 2 else None,
            }
            for number, state in enumerate(State)
        )
    )


def bare(line: str) -> str:
    return re.sub(r"\x1b\[[0-9]*m", "", line)


def test_every_state_has_a_sign_of_one_cell_in_any_locale() -> None:
    assert set(SYMBOLS) == set(State)
    for signs in SYMBOLS.values():
        assert [cell_len(sign) for sign in signs] == [1, 1]
        assert signs[1].isascii()


@pytest.mark.parametrize("columns", [1, 7, 20, 40, 60, 80, 200])
@pytest.mark.parametrize("reason", HOSTILE)
@pytest.mark.parametrize("style", [Style(), PLAIN, ASCII], ids=["colours", "plain", "ascii"])
def test_no_line_is_longer_than_the_terminal_is_wide(
    columns: int, reason: str, style: Style
) -> None:
    lines = drawn(every_state(reason), columns, NOW, style, note="something else").lines()

    for line in lines:
        assert cell_len(bare(line)) <= columns, line
        assert bare(line).isprintable(), line


@given(
    reason=st.text(max_size=300),
    name=st.text(min_size=1, max_size=80),
    city_name=st.text(max_size=40),
    columns=st.integers(1, 250),
    rows=st.integers(0, 40),
)
def test_whatever_is_said_fits(
    reason: str, name: str, city_name: str, columns: int, rows: int
) -> None:
    document = city(
        {"name": name, "state": "blocked", "reason": reason, "next": reason},
        {"name": reason, "state": reason, "provider": name},
    )
    document |= {"city": city_name, "foreign": [{"provider": "tmux", "session": name}]}

    board = drawn(document, columns, NOW, PLAIN)

    assert all(cell_len(line) <= columns and line.isprintable() for line in board.lines())
    assert len(board.within(rows)) <= rows


@pytest.mark.parametrize(
    ("columns", "titles"),
    [
        (40, "STATE AGENT REASON"),
        (60, "STATE AGENT SINCE REASON"),
        (80, "STATE AGENT SINCE RESTARTS REASON"),
        (200, "STATE AGENT SINCE RESTARTS PID PROVIDER REASON"),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns(columns: int, titles: str) -> None:
    board = drawn(every_state(HOSTILE[1]), columns, NOW, PLAIN)

    assert " ".join(board.head[-1].split()) == titles


def test_a_row_is_cut_and_what_to_do_is_not() -> None:
    agent = {
        "name": "clerk",
        "state": "waiting",
        "reason": HOSTILE[1],
        "attached": 2,
        "drift": True,
        "next": "`gc attach clerk` and answer",
    }
    calm = {"name": "mayor", "next": "`gc restart mayor` starts it"}

    board = drawn(city(calm, agent), 80, NOW, PLAIN)

    assert board.lines() == [
        "town: 2 agents: 1 needs you, 1 ready; controller 4711",
        "STATE          AGENT       SINCE    RESTARTS  REASON",
        "◆ waiting      clerk @2 ~  12s      0         it waits for a person: do you wan…",
        "    → `gc attach clerk` and answer",
        "○ ready        mayor       12s      0",
    ]


def test_a_time_to_come_is_cut_last() -> None:
    agent = {"state": "backoff", "reason": "it crashed: " + "x" * 90, "next_at": NOW + 12}

    (rows,) = drawn(city(agent), 60, NOW, PLAIN).agents

    assert rows[0].endswith("… (in 12s)")
    assert cell_len(rows[0]) == 60


def test_a_locale_without_signs_gets_ascii() -> None:
    lines = drawn(every_state("y" * 100), 60, NOW, ASCII).lines()

    assert all(line.isascii() for line in lines)
    assert any("..." in line for line in lines)
    assert any(line.startswith("x blocked") for line in lines)


def test_long_names_keep_their_number() -> None:
    document = city(
        *({"name": f"district/a-very-long-worker-name-{n}", "reason": "r" * 90} for n in (7, 12))
    )

    rows = drawn(document, 60, NOW, PLAIN).agents

    assert [row[0].split()[2][-3:] for row in rows] == ["e-7", "-12"]


def test_names_take_the_room_that_reasons_leave() -> None:
    name = "district/a-very-long-worker-name-7"

    (rows,) = drawn(city({"name": name}), 80, NOW, PLAIN).agents

    assert name in rows[0]


def test_what_does_not_fit_below_is_counted() -> None:
    board = drawn(city(*({"name": f"w-{n}"} for n in range(40))), 80, NOW, PLAIN)

    shown = board.within(10)

    assert len(shown) == 10
    assert shown[-1] == "... and 33 more"
    assert len(board.within(100)) == 42


def test_the_next_step_is_not_parted_from_its_agent() -> None:
    needy = {"state": "blocked", "next": "`gc attach x` answers"}
    board = drawn(city(*({"name": f"w-{n}", **needy} for n in range(9))), 80, NOW, PLAIN)

    assert [line.split()[0] for line in board.within(6)[2:]] == ["✕", "→", "..."]


def test_colours_only_where_they_are_wanted() -> None:
    assert "\x1b[31m✕ blocked" in "\n".join(drawn(every_state("r"), 80, NOW, Style()).lines())
    assert "\x1b" not in "\n".join(drawn(every_state("r"), 80, NOW, PLAIN).lines())


@pytest.mark.parametrize(
    ("env", "encoding", "shows"),
    [
        ({"LANG": "C.UTF-8"}, "utf-8", True),
        ({"LANG": "de_DE.UTF-8"}, "utf-8", True),
        ({"LC_CTYPE": "UTF-8"}, "utf-8", True),
        ({"LANG": "C", "LC_ALL": "C.UTF-8"}, "utf-8", True),
        ({}, "utf-8", False),
        ({"LANG": "C"}, "utf-8", False),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, "utf-8", False),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", False),
        ({"LANG": "de_DE.ISO-8859-1"}, "iso8859-1", False),
        ({"LANG": "x"}, "no such", False),
    ],
)
def test_signs_are_shown_where_the_locale_has_them(
    env: dict[str, str], encoding: str, shows: bool
) -> None:
    assert _shows_symbols(env, encoding) is shows
