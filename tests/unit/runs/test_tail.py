"""Following a file: all of it, in lines, without parting letters."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gascity.runs.tail import PIECE, Lines, follow, lines


def test_what_was_written_before_the_end_is_read_after_it(tmp_path: Path) -> None:
    path = tmp_path / "said"
    path.write_bytes(b"one\n")

    def lives() -> bool:
        with path.open("ab") as file:
            file.write(b"last\n")  # between the question and its answer
        return False

    assert b"".join(follow(str(path), 0, lives)) == b"one\nlast\n"


def test_a_file_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path, asked = tmp_path / "said", []

    def lives() -> bool:
        asked.append(1)
        if len(asked) == 2:
            path.write_bytes(b"late\n")
        return len(asked) < 4

    assert list(filter(None, follow(str(path), 0, lives))) == [b"late\n"]


def test_a_file_that_never_comes_ends_with_its_run(tmp_path: Path) -> None:
    assert list(follow(str(tmp_path / "said"), 0, lambda: False)) == []


def test_it_goes_on_behind_a_place(tmp_path: Path) -> None:
    path = tmp_path / "said"
    path.write_bytes(b"one\ntwo\n")

    assert list(follow(str(path), 4, lambda: False)) == [b"two\n"]


@given(st.lists(st.binary(min_size=1, max_size=9).map(lambda one: one.replace(b"1", b"\n"))))
def test_lines_are_whole_however_they_come(pieces: list[bytes]) -> None:
    text = b"".join(pieces)

    assert list(lines(pieces)) == text.splitlines(keepends=True) or b"".join(lines(pieces)) == text
    assert all(line.endswith(b"\n") for line in list(lines(pieces))[:-1])


def test_a_very_long_line_comes_in_pieces_between_letters() -> None:
    text = "ä".encode() * PIECE
    found = list(lines([b"x" + text]))

    assert b"".join(found) == b"x" + text
    assert all(len(one) <= PIECE for one in found)
    assert "".join(one.decode() for one in found) == "x" + "ä" * PIECE


def test_what_is_no_text_is_cut_all_the_same() -> None:
    text = b"\x80" * (3 * PIECE)

    assert b"".join(lines([text])) == text


@given(st.binary(max_size=60).map(lambda one: one.replace(b"1", b"\n")), st.integers(1, 9))
def test_long_lines_are_cut_at_the_same_places_however_they_come(text: bytes, size: int) -> None:
    found = Lines(longest=8)
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    parts = [line for piece in pieces for line in found.add(piece)] + [found.end()]
    at_once = Lines(longest=8)

    assert parts == [*at_once.add(text), at_once.end()]
    assert all(len(part.removesuffix(b"\n")) <= 8 for part in parts)
    assert b"".join(parts) == text
