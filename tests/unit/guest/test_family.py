"""Whose the processes of a guest are."""

from __future__ import annotations

from gascity.session.marks import MARK
from gascity_guest.family import Process, read


def row(pid: int, parent: int, session: int, comm: str = "x", state: str = "S") -> str:
    fields = ["0"] * 50
    fields[0], fields[1], fields[3], fields[19] = state, str(parent), str(session), f"{pid}00"
    return f"==> /proc/{pid}/stat <==\n{pid} ({comm}) {' '.join(fields)}\n\n"


def table(*rows: str, marks: str = "") -> str:
    return "".join(rows) + "==> /proc/marks/ <==\n" + marks


def pids(found: list[Process]) -> list[int]:
    return [process.pid for process in found]


def test_what_is_below_the_root_or_in_its_terminal_session_belongs_to_it() -> None:
    found = read(
        table(row(10, 1, 10), row(11, 10, 10), row(12, 1, 10), row(13, 11, 13), row(20, 1, 20))
    )

    assert pids(found.members("/h#a#", 10)) == [10, 11, 12, 13]
    assert pids(found.members("/h#a#", None)) == []


def test_what_carries_the_mark_belongs_to_it_wherever_it_went() -> None:
    marks = f"30 {MARK}=/h#a#1\n31 {MARK}=/h#ab#1\n30 GC_AGENT=ann\n"
    found = read(table(row(30, 1, 30), row(31, 1, 31), row(32, 30, 32), marks=marks))

    assert pids(found.members("/h#a#", None)) == [30, 32]
    assert found.told(found.members("/h#a#", None)) == {"GC_AGENT": "ann"}


def test_a_name_may_hold_anything_and_a_zombie_is_nobody() -> None:
    odd = row(40, 1, 40, comm="a) R 1 (\n==> b")
    found = read(table(odd, row(41, 40, 40, state="Z")))

    assert found.members("/h#a#", 40) == [Process(40, "4000")]
