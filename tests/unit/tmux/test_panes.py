"""Panes, metadata and names as tmux writes them down."""

from __future__ import annotations

import signal

import pytest

from gascity.core.observed import Alive, Exited, Life
from gascity.errors import ProviderUnavailable
from gascity.session.tmux import meta, panes
from gascity.session.tmux.wire import Block
from gascity_tmux import layout
from gascity_tmux.program import read_version


def line(*, dead: str = "0", status: str = "", signalled: str = "", title: str = "t") -> bytes:
    text = f"%3|$2|123|{dead}|{status}|{signalled}|2|1700000000|1600000000|v1|token|a.b|{title}"
    return text.encode()


def read(*lines: bytes) -> list[panes.Pane]:
    return panes.read([Block(ok=True, lines=lines)])


def test_a_pane_is_read() -> None:
    (found,) = read(line())

    assert found == panes.Pane(
        id="%3",
        session="$2",
        pid=123,
        life=Alive(),
        attached=2,
        activity=1700000000.0,
        created=1600000000.0,
        version="v1",
        token="token",
        name="a.b",
        title="t",
    )
    assert found.alive
    assert found.key == ("$2", 123)


@pytest.mark.parametrize("title", ["a|b|c", "", "|", "é☃"])
def test_a_title_may_hold_anything(title: str) -> None:
    assert read(line(title=title))[0].title == title


@pytest.mark.parametrize(
    ("status", "signalled", "life"),
    [
        ("0", "", Exited(code=0)),
        ("3", "", Exited(code=3)),
        ("", "9", Exited(signal=signal.SIGKILL)),
        ("", "TERM", Exited(signal=signal.SIGTERM)),
        ("", "SIGHUP", Exited(signal=signal.SIGHUP)),
        ("", "NEVERHEARD", Exited()),
        ("", "", Exited()),
    ],
)
def test_how_a_program_ended_is_read(status: str, signalled: str, life: Life) -> None:
    (found,) = read(line(dead="1", status=status, signalled=signalled))

    assert found.life == life
    assert not found.alive


def test_a_pane_whose_end_is_not_known_is_unsettled() -> None:
    assert read(line(dead="1"))[0].is_unsettled
    assert not read(line(dead="1", status="0"))[0].is_unsettled
    assert not read(line())[0].is_unsettled


@pytest.mark.parametrize(
    "answered",
    [[], [Block(ok=False, lines=(b"no",))], [Block(ok=True, lines=(b"what is this",))]],
    ids=["nothing", "an error", "nonsense"],
)
def test_what_is_no_list_of_panes_is_an_outage(answered: list[Block]) -> None:
    with pytest.raises(ProviderUnavailable):
        panes.read(answered)


def test_an_empty_list_is_an_empty_city() -> None:
    assert read() == []


# --- metadata


@pytest.mark.parametrize(
    ("value", "stored"),
    [("plain text; = -x", "plain text; = -x"), ("%", "%25"), ("a\nb", "a%0Ab"), ("é", "%C3%A9")],
)
def test_a_value_is_stored_as_it_is_where_it_is_plain(value: str, stored: str) -> None:
    assert meta.encode(value) == stored
    assert meta.decode(stored.encode()) == value


def test_metadata_is_what_is_set_without_the_version_and_what_was_unset() -> None:
    lines = (b"A=1", b"B==x=", b"-GONE", b"EMPTY=", f"{panes.VERSION}=v".encode())

    assert meta.read(Block(ok=True, lines=lines)) == {"A": "1", "B": "=x=", "EMPTY": ""}


# --- names


@pytest.mark.parametrize("name", ["a", "gc-city-a", "a.b", "a:b", "_", "0", "a" * 200])
def test_these_are_names(name: str) -> None:
    assert layout.is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "-a", ".a", ":", "a b", "a/b", "a\n", "a#", "é", "a,b", "a}", "a" * 201, layout.HUB],
)
def test_these_are_no_names(name: str) -> None:
    assert not layout.is_name(name)


def test_tmux_calls_a_session_by_its_name_unless_it_would_change_it() -> None:
    assert layout.session_name("gc-city-a_1") == "gc-city-a_1"
    changed = {layout.session_name(name) for name in ("a.b", "a:b", "a_b", "a..b", "a::b")}
    assert len(changed) == 5
    assert not [name for name in changed if "." in name or ":" in name]


def test_the_mark_of_one_session_is_not_the_beginning_of_anothers() -> None:
    assert layout.mark("/home", "worker-10", "x").startswith(layout.mark("/home", "worker-10"))
    assert not layout.mark("/home", "worker-10", "x").startswith(layout.mark("/home", "worker-1"))


def test_cities_have_sockets_of_their_own_that_the_kernel_takes() -> None:
    one, other = (layout.socket_path("c" * 300, home) for home in ("/a/.gc/tmux", "/b/.gc/tmux"))

    assert one != other
    assert len(one) <= layout.LONGEST_SOCKET
    assert layout.socket_path("c", "/a", "mine").endswith("/mine")
    assert layout.socket_path("c", "/a", "/x/../y") == "/y"


# --- versions


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("tmux 3.3a\n", (3, 3)),
        ("tmux 3.2", (3, 2)),
        ("tmux 3.10c", (3, 10)),
        ("tmux next-3.6\n", (3, 6)),
        ("tmux 3.5-rc2", (3, 5)),
        ("tmux master\n", (99, 0)),
        ("tmux", None),
        ("", None),
        ("tmux x.y", None),
    ],
)
def test_a_version_is_read(text: str, version: tuple[int, int] | None) -> None:
    assert read_version(text) == version
