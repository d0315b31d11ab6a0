"""What is kept of a command's output."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gascity.guest.output import MARK, Kept

MIB = 1024 * 1024


def kept(data: bytes, limit: int, size: int = 65536) -> str:
    found = Kept(limit)
    for start in range(0, len(data), size):
        found.add(data[start : start + size])
    return found.text()


def cut(data: bytes, limit: int) -> str:
    """Return the same by the long way: all of it decoded, then cut between two characters."""
    text = data.decode(errors="replace")
    if len(text.encode()) <= limit:
        return text
    return text.encode()[:limit].decode(errors="ignore") + MARK


@given(
    st.lists(st.one_of(st.text().map(str.encode), st.binary(max_size=4))).map(b"".join),
    st.integers(1, 40),
    st.integers(1, 7),
)
def test_it_is_the_same_however_the_output_comes(data: bytes, limit: int, size: int) -> None:
    assert kept(data, limit, size) == cut(data, limit)


def test_a_mebibyte_stays_and_one_byte_more_is_cut() -> None:
    assert kept(b"x" * MIB, MIB) == "x" * MIB
    assert kept(b"x" * (MIB + 1), MIB) == "x" * MIB + "\n... [output truncated]"
    assert kept(b"x" * (MIB - 1) + "é".encode(), MIB) == "x" * (MIB - 1) + MARK
    assert kept(b"x" * (MIB - 2) + "é".encode(), MIB) == "x" * (MIB - 2) + "é"


def test_no_more_than_the_limit_is_held() -> None:
    found = Kept(1000)

    for _ in range(1000):
        found.add(b"x" * 1000)

    assert len(found._bytes) == 1000
