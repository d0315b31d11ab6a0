from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from gascity.config.places import Lines, Path, scan

KEYS = st.text(max_size=5)
SCALARS = st.text(max_size=8) | st.integers(-99, 99) | st.booleans() | st.floats(allow_nan=False)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)

TEXT = """\
[workspace] # [no]
  name = "[[x]]"
[[agents]]
args = [ # ]
0,'b]' ]
env = { A = '"', B = 1 }
[[agents]]
[agents.pool]
min = 1
"""


def paths(value: object, at: Path = ()) -> Iterator[Path]:
    if at:
        yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*at, index))


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans())
def test_every_key_of_a_document_has_a_place(document: dict[str, object], multiline: bool) -> None:
    text = tomli_w.dumps(document, multiline_strings=multiline)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:  # a lone carriage return, which TOML cannot write
        return

    assert set(paths(parsed)) <= set(scan(text).offsets)


@given(st.text(alphabet="ab.=[]{}\"'\\#\n ,1"))
def test_any_text_is_scanned(text: str) -> None:
    found = scan(text)

    assert all(0 <= offset <= len(text) for offset in found.offsets.values())


@given(st.text(alphabet="ab.=[]{}\"'\\#\n ,1"))
def test_a_text_that_parses_is_scanned_to_its_end(text: str) -> None:
    try:
        parsed = tomllib.loads(text)
    except ValueError:
        return

    assert set(paths(parsed)) <= set(scan(text).offsets)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("workspace",), (1, 1)),
        (("workspace", "name"), (2, 3)),
        (("agents",), (3, 1)),
        (("agents", 0), (3, 1)),
        (("agents", 0, "args", 1), (5, 3)),
        (("agents", 0, "env", "B"), (6, 18)),
        (("agents", 1, "pool"), (8, 1)),
        (("agents", 1, "pool", "min"), (9, 1)),
        (("agents", 1, "dir"), (7, 1)),
        (("nowhere", "at", "all"), (1, 1)),
    ],
)
def test_a_key_is_found_where_it_stands(path: Path, place: tuple[int, int]) -> None:
    assert Lines(TEXT).place(scan(TEXT).offset(path)) == place


def test_the_values_of_secret_keys_are_known() -> None:
    text = 'env = { A = "1", TOKEN = "x" }\nauth = [1, { b = "y" }]\n'

    assert [text[a:b] for a, b in scan(text).secrets] == ['"x"', "1", '"y"']


def test_lines_answer_for_places_that_do_not_exist() -> None:
    lines = Lines("ab\ncd\n")

    assert lines.place(4) == (2, 2)
    assert lines.offset(2, 2) == 4
    assert lines.offset(99, 1) == 6
