"""Hands in a pod that is this machine: a real shell at the other end of a stream."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, cast

import pytest
from tests.unit.kubernetes.test_streams import Far

from gascity.testing.eventually import eventually
from gascity_kubernetes import frames, names
from gascity_kubernetes.api import Api
from gascity_kubernetes.hand import Hand, HandLost
from gascity_kubernetes.hands import IDLE, Hands
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.streams import STDERR, STDIN, STDOUT, Stream

LIMIT = 60.0
POD = {"metadata": {"name": "one", "uid": "uid-one"}}


class Node:
    """Runs programs as a cluster does, here; `before` is what each shell says as it begins."""

    def __init__(self) -> None:
        self.opened: list[subprocess.Popen[bytes]] = []
        self.before = b""
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def open_stream(
        self, pod: str, container: str, argv: Sequence[str], *, stdin: bool, timeout: float
    ) -> Stream:
        del pod, container, stdin, timeout
        near, end = socket.socketpair()
        self._ends.append(end)
        far = Far(end)
        pipe = subprocess.PIPE
        program = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.opened.append(program)
        if self.before:
            far.say(STDERR, self.before)
        self._begin(self._write, far, program)
        self._begin(self._read, far, STDOUT, program.stdout)
        self._begin(self._read, far, STDERR, program.stderr)
        return Stream(near, "https://here")

    def fence(self) -> None:
        """Anybody may act here."""

    def close(self) -> None:
        for program in self.opened:
            program.kill()
            program.wait()
        for thread in self._threads:
            thread.join(LIMIT)
        for end in self._ends:
            end.close()

    def _begin(self, work: Callable[..., None], *about: object) -> None:
        self._threads.append(threading.Thread(target=work, args=about, daemon=True))
        self._threads[-1].start()

    def _write(self, far: Far, program: subprocess.Popen[bytes]) -> None:
        assert program.stdin is not None
        with contextlib.suppress(OSError), program.stdin:
            while heard := far.hear():
                for opcode, payload in heard:
                    if opcode == frames.BINARY and payload[0] == STDIN:
                        program.stdin.write(payload[1:])
        program.kill()

    def _read(self, far: Far, channel: int, pipe: IO[bytes]) -> None:
        with contextlib.suppress(OSError), pipe:
            while data := pipe.read(1 << 16):
                far.say(channel, data)
            far.socket.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def node() -> Iterator[Node]:
    node = Node()
    yield node
    node.close()


@pytest.fixture
def hands(node: Node) -> Iterator[Hands]:
    hands = Hands(cast("Api", node))  # it does what is asked of one here
    yield hands
    hands.close()


def soon() -> float:
    return time.monotonic() + LIMIT


def test_a_pod_whose_first_process_has_not_said_who_it_is_was_not_replaced(hands: Hands) -> None:
    about = {"name": "one", "uid": "uid-one", "annotations": {names.TOKEN: "mine"}}

    with pytest.raises(ApiSilent, match="is not up"):
        hands.of({"metadata": about}, deadline=soon())


def test_a_hand_is_kept_for_the_next_time(node: Node, hands: Hands) -> None:
    first, second = (hands.of(POD, deadline=soon()) for _ in range(2))

    assert first is second
    assert len(node.opened) == 1


def test_a_hand_that_was_used_is_kept_whether_or_not_its_pod_is_known(
    node: Node, hands: Hands
) -> None:
    hand = hands.of(POD, deadline=soon())

    hands.tidy()

    assert hand.run("echo here", deadline=soon()).text == "here\n"


def test_a_hand_that_is_at_work_is_kept(node: Node, hands: Hands, tmp_path: Path) -> None:
    hand = hands.of(POD, deadline=soon())
    said: list[str] = []
    script = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo done"

    def work() -> None:
        said.append(hand.run(script, deadline=soon()).text)

    thread = threading.Thread(target=work)
    thread.start()
    eventually(hand._lock.locked, within=LIMIT)
    hand.used_at -= IDLE * 2
    hands.tidy()
    (tmp_path / "go").touch()
    thread.join()

    assert said == ["done\n"]


def test_a_hand_that_nobody_used_for_long_is_let_go(node: Node, hands: Hands) -> None:
    hand = hands.of(POD, deadline=soon())
    hand.used_at -= IDLE * 2

    hands.tidy()

    assert hand.is_lost
    with pytest.raises(HandLost):
        hand.run("echo here", deadline=soon())


def test_what_a_shell_complains_of_is_no_answer(node: Node, hands: Hands) -> None:
    node.before = b"sh: warning: setlocale: LC_ALL: cannot change locale (en_US.UTF-8)\n"

    hand = hands.of(POD, deadline=soon())
    done = hand.run("echo no such thing >&2; echo said", deadline=soon())

    assert done.text == "said\n"


def say_here(hand: Hand) -> str:
    return hand.run("echo here", deadline=soon()).text


def test_a_hand_whose_shell_ended_is_replaced_before_it_is_told_anything(
    node: Node, hands: Hands
) -> None:
    hand = hands.of(POD, deadline=soon())
    node.opened[0].kill()
    while hand._stream.read(LIMIT) is not None:
        pass  # what it complained of at the beginning

    assert hands.do(POD, say_here, deadline=soon()) == "here\n"


def test_who_waits_for_a_hand_is_not_harmed_by_who_had_it(node: Node, hands: Hands) -> None:
    hand = hands.of(POD, deadline=soon())
    first = threading.Thread(target=give_up_waiting, args=[hand])
    first.start()
    eventually(lambda: hand._lock.locked() or hand.is_lost, within=LIMIT)  # it may be over already

    said = hands.do(POD, say_here, deadline=soon())
    first.join()

    assert said == "here\n"
    assert len(node.opened) == 2


def give_up_waiting(hand: Hand) -> None:
    with pytest.raises(ApiSilent):
        hand.run("sleep 1", deadline=time.monotonic() + 0.3)


def test_what_may_be_done_twice_is_done_again_where_the_shell_was_lost(
    node: Node, hands: Hands, tmp_path: Path
) -> None:
    script = f"[ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; kill -KILL $$; }}; echo laid"

    done = hands.repeat(POD, lambda hand: hand.run(script, deadline=soon()), deadline=soon())

    assert done.text == "laid\n"
    assert len(node.opened) == 2


def test_what_may_have_been_done_is_not_done_again(node: Node, hands: Hands) -> None:
    with pytest.raises(HandLost):
        hands.do(POD, lambda hand: hand.run("kill -9 $$", deadline=soon()), deadline=soon())

    assert len(node.opened) == 1
