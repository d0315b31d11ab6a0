"""The frames of a websocket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gascity_kubernetes import frames


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_what_is_packed_comes_out_again(size: int) -> None:
    payload = bytes(index % 251 for index in range(size))

    packed = frames.pack(frames.BINARY, payload, b"\x01\x02\x03\x04")

    assert frames.Frames().feed(packed) == [(frames.BINARY, payload)]
    assert size < 8 or payload[:8] not in packed


@given(
    messages=st.lists(st.tuples(st.sampled_from([1, 2, 8, 9, 10]), st.binary(max_size=300))),
    cut=st.integers(1, 40),
)
def test_pieces_of_any_size_make_the_same_messages(
    messages: list[tuple[int, bytes]], cut: int
) -> None:
    sent = b"".join(frames.pack(opcode, payload, b"mask") for opcode, payload in messages)
    box = frames.Frames()

    came = [one for at in range(0, len(sent), cut) for one in box.feed(sent[at : at + cut])]

    assert came == messages


def test_a_message_in_parts_is_put_together_around_a_ping() -> None:
    first, ping, last = b"\x02\x02ab", b"\x89\x01p", b"\x80\x01c"

    assert frames.Frames().feed(first + ping + last) == [
        (frames.PING, b"p"),
        (frames.BINARY, b"abc"),
    ]


def test_a_mask_covers_and_uncovers() -> None:
    assert frames.masked(frames.masked(b"secret", b"abcd"), b"abcd") == b"secret"
