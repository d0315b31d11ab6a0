"""A stream over a pair of sockets, with a test at the other end."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from gascity_kubernetes import frames
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.streams import Stream, StreamEnded, read_status

LIMIT = 60.0


class Far:
    """The other end: what the cluster does."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(LIMIT)
        self._frames = frames.Frames()

    def say(self, channel: int, data: bytes) -> None:
        self.send(frames.BINARY, bytes([channel]) + data)

    def send(self, opcode: int, payload: bytes) -> None:
        self.socket.sendall(frames.pack(opcode, payload, bytes(4)))

    def hear(self) -> list[tuple[int, bytes]]:
        while True:
            data = self.socket.recv(1 << 16)
            if not data:
                return []
            if found := self._frames.feed(data):
                return found

    def echo(self) -> None:
        """Send back on channel 1 what comes on channel 0, until the connection ends."""
        try:
            while found := self.hear():
                for opcode, payload in found:
                    if opcode == frames.BINARY:
                        self.say(1, payload[1:])
        except OSError:
            return


@pytest.fixture
def ends() -> Iterator[tuple[Stream, Far]]:
    near, far = socket.socketpair()
    stream = Stream(near, "https://here")
    yield stream, Far(far)
    stream.close()
    far.close()


def test_output_comes_by_channel_and_in_order(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    far.say(1, b"")
    far.say(1, b"out")
    far.say(2, b"err")

    assert stream.read(LIMIT) == (1, b"out")
    assert stream.read(LIMIT) == (2, b"err")


def test_nothing_to_read_is_a_timeout_and_not_the_end(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    with pytest.raises(TimeoutError):
        stream.read(0.01)
    far.say(1, b"late")

    assert stream.read(LIMIT) == (1, b"late")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"status": "Success"}, 0),
        (
            {
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
            },
            7,
        ),
    ],
)
def test_the_end_tells_the_exit_status(
    ends: tuple[Stream, Far], said: dict[str, object], status: int
) -> None:
    stream, far = ends
    far.say(1, b"last")
    far.say(3, json.dumps(said).encode())
    far.send(frames.CLOSE, b"\x03\xe8")

    assert stream.read(LIMIT) == (1, b"last")
    assert stream.read(LIMIT) is None
    assert stream.status == status
    assert stream.failure == ""


def test_what_is_cut_off_has_no_status(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    far.socket.close()

    assert stream.read(LIMIT) is None
    assert stream.status is None
    with pytest.raises(StreamEnded):
        stream.write(b"more")


@pytest.mark.parametrize("said", [b"", b"junk", b"[]", b'{"details": {"causes": [1, {}]}}'])
def test_a_status_that_says_nothing_is_none(said: bytes) -> None:
    status, _ = read_status(said)

    assert status is None


def test_why_a_program_did_not_run_is_kept() -> None:
    said = {"status": "Failure", "reason": "InternalError", "message": "no such\nprogram"}

    assert read_status(json.dumps(said).encode()) == (None, "no such program")


def test_closing_wakes_whoever_reads(ends: tuple[Stream, Far]) -> None:
    stream, _ = ends
    came: list[object] = []
    reader = threading.Thread(target=lambda: came.append(stream.read(None)))
    reader.start()

    stream.close()
    stream.close()
    reader.join(LIMIT)

    assert came == [None]


def test_ten_megabytes_come_back_though_nobody_reads_meanwhile(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    echo = threading.Thread(target=far.echo)
    echo.start()
    data = os.urandom(10_000_000)

    stream.write(data)
    got = bytearray()
    while len(got) < len(data):
        piece = stream.read(LIMIT)
        assert piece is not None
        got += piece[1]

    assert bytes(got) == data
    stream.close()
    echo.join(LIMIT)


def test_a_program_that_ended_is_not_waited_for_though_its_connection_stays(
    ends: tuple[Stream, Far],
) -> None:
    stream, far = ends
    far.say(2, b"no room")
    far.say(3, b'{"status": "Success"}')

    with pytest.raises(StreamEnded):
        stream.write(bytes(10_000_000))
    assert stream.read(LIMIT) == (2, b"no room")
    assert stream.read(LIMIT) is None
    assert stream.status == 0


def test_a_write_that_nobody_takes_ends_in_time(ends: tuple[Stream, Far]) -> None:
    with pytest.raises(ApiSilent, match="in time"):
        ends[0].write(bytes(10_000_000), deadline=time.monotonic() + 0.2)


def test_a_write_that_is_taken_drop_by_drop_ends_in_time(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    done = threading.Event()

    def sip() -> None:
        while not done.wait(0.01):
            far.socket.recv(1 << 10)

    sipping = threading.Thread(target=sip)
    sipping.start()
    try:
        with pytest.raises(ApiSilent, match="in time"):
            stream.write(bytes(10_000_000), deadline=time.monotonic() + 0.3)
    finally:
        done.set()
        sipping.join()


def test_reading_and_writing_go_on_side_by_side(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    echo = threading.Thread(target=far.echo)
    echo.start()
    data = os.urandom(3_000_000)
    got = bytearray()

    def read() -> None:
        while len(got) < len(data) and (piece := stream.read(LIMIT)) is not None:
            got.extend(piece[1])

    reader = threading.Thread(target=read)
    reader.start()
    stream.write(data)
    reader.join(LIMIT)

    assert bytes(got) == data
    stream.close()
    echo.join(LIMIT)


def test_a_resize_goes_on_its_own_channel(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    stream.resize(100, 30)

    ((opcode, payload),) = far.hear()

    assert (opcode, payload[0]) == (frames.BINARY, 4)
    assert json.loads(payload[1:]) == {"Width": 100, "Height": 30}


def test_a_ping_is_answered_by_whoever_reads(ends: tuple[Stream, Far]) -> None:
    stream, far = ends
    far.send(frames.PING, b"there?")
    with pytest.raises(TimeoutError):
        stream.read(0.01)

    assert far.hear() == [(frames.PONG, b"there?")]


def test_descriptors_are_given_back() -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    before = opened()
    for _ in range(20):
        near, far = socket.socketpair()
        Stream(near, "https://here").close()
        far.close()

    assert opened() <= before
