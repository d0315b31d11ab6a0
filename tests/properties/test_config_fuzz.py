"""Whatever the file holds: a city or problems, within a second, never another exception."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

import gascity.config.schema  # noqa: F401  imported early, so that no file's time includes it
from gascity.config.load import load_city
from gascity.config.problems import ConfigProblems
from gascity.config.show import as_toml
from gascity.core.model import City

SEED = 20260301
PARTS = 5
FILES_PER_PART = 2000
LIMIT = 1.0

VALID = """\
[workspace]
name = "bright-lights"
provider = "claude"
session_template = "gc-{{.City}}-{{.Agent}}"
env = { "LANG" = "C", API_TOKEN = 'literal' }

[[agents]]
name = "mayor"
start_command = "sh -c 'echo {{.Session}}'"
args = ["--flag", "a b", '''
many
lines''']
prompt_mode = "flag"
prompt_flag = "-p"
copy_files = [ { src = "city.toml", rel_dst = "a/b" }, ]

[[agents]]
name = "worker"
dir = "rig"
provider = "mine"
depends_on = ["mayor"] # a comment
env.DEEP = \"\"\"\\
  a \\u00e9 b\"\"\"
ready_delay_ms = 5_000

[agents.pool]
min = 1
max = 7
drain_timeout = "1h30m"

[providers.mine]
command = "mine"
process_names = ["mine", "node"]
emits_permission_warning = false

[session]
provider = "auto"
[session.tmux]
number = 0x1f
ratio = 1.5e3
since = 1979-05-27T07:32:00Z
list = [[1, 2], [3.0, nan], [{ a = true }]]

[daemon]
patrol_interval = "500ms"
max_restarts = 0
"""
PIECES = (
    *(b"\"'[]{}=.,#\n\r\t\\ \0-+_"),
    *(b'"""', b"'''", b"[[", b"]]", b"{{", b"}}", b"{{.Name}}", b"{{.Nope}}", b"\r\n"),
    *(
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        "é☃\U0001f600".encode(),
        b"\x1b[31m",
        b"\\u0000",
        b"\\uD800",
    ),
    *(b"inf", b"-nan", b"1e999", b"0x" + b"f" * 50, b"9" * 5000, b"1979-05-27", b"07:32:00"),
    *(b"agents", b"name", b"pool", b"env", b"max = 1000\n", b"true", b"a.b.c.d = 1\n", b"../../.."),
    *(b"[[agents]]\n", b"[agents]\n", b"[agents.pool]\n", b"[session.x.y]\n", b"x" * 3000),
)


def outcome(path: Path, data: bytes) -> City | ConfigProblems:
    """Load `data` as a city file."""
    path.write_bytes(data)
    try:
        city = load_city(path, known_providers={"tmux", "subprocess"}, auto_provider="tmux")
    except ConfigProblems as problems:
        return problems
    return city


def check_texts(answer: City | ConfigProblems) -> None:
    """Make all texts of the answer."""
    if isinstance(answer, City):
        assert as_toml(answer)
    else:
        assert answer.problems
        assert str(answer).replace("\n", "").isprintable()


def within_limit(path: Path, data: bytes, told: str) -> City | ConfigProblems:
    began = time.thread_time()  # of the processor, which others may use meanwhile
    try:
        answer = outcome(path, data)
        check_texts(answer)
    except Exception as error:  # any other exception is what this test is looking for
        raise AssertionError(f"{told}: {data!r}") from error
    took = time.thread_time() - began
    assert took < LIMIT, f"{told} took {took:.2f} s: {data[:500]!r}"
    return answer


def piece(chance: random.Random) -> bytes:
    chosen = chance.choice(PIECES)
    return bytes([chosen]) if isinstance(chosen, int) else chosen


def mutated(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(changed) + 1)
        end = min(len(changed), at + chance.choice((0, 0, 1, 1, 2, 10, 100)))
        match chance.randrange(4):
            case 0:
                changed[at:end] = piece(chance)
            case 1:
                changed[at:at] = piece(chance) * chance.choice((1, 1, 2, 50))
            case 2:
                changed[at:end] = b""
            case _:
                other = chance.randrange(len(data))
                changed[at:end] = data[other : other + chance.randrange(60)]
    return bytes(changed)


@pytest.mark.parametrize("part", range(PARTS))
def test_random_bytes_are_problems_or_a_city(part: int, tmp_path: Path) -> None:
    chance = random.Random(SEED + part)
    for number in range(FILES_PER_PART):
        if number % 2:
            data = chance.randbytes(chance.randrange(200))
        else:
            data = b"".join(piece(chance) for _ in range(chance.randrange(20)))

        within_limit(tmp_path / "city.toml", data, f"seed {SEED + part}, file {number}")


@pytest.mark.parametrize("part", range(PARTS))
def test_mutated_cities_are_problems_or_a_city(part: int, tmp_path: Path) -> None:
    chance = random.Random(1000 + SEED + part)
    cities = 0
    for number in range(FILES_PER_PART):
        data = mutated(chance, VALID.encode())
        told = f"seed {1000 + SEED + part}, file {number}"

        cities += isinstance(within_limit(tmp_path / "city.toml", data, told), City)

    assert 0 < cities < FILES_PER_PART


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"x = " + b"[" * 100_000, id="deep arrays"),
        pytest.param(b"x = " + b"[" * 500 + b"]" * 500, id="closed deep arrays"),
        pytest.param(b"x = " + b"{a=" * 100_000, id="deep inline tables"),
        pytest.param(
            b"[session.tmux]\nx = " + b"[{a=" * 12 + b"1" + b"}]" * 12, id="allowed depth"
        ),
        pytest.param(b".".join([b"a"] * 200_000) + b" = 1", id="a key of many parts"),
        pytest.param(b"[" + b".".join([b"a"] * 200_000) + b"]", id="a heading of many parts"),
        pytest.param(b"a" * 1_000_000 + b" = 1", id="a huge key"),
        pytest.param(b'"' + b"\\u00e9" * 30_000 + b'" = 1', id="a huge escaped key"),
        pytest.param(b"x = " + b"9" * 900_000, id="a huge integer"),
        pytest.param(b"[session.tmux]\nx = 0x" + b"f" * 10_000, id="a huge hexadecimal integer"),
        pytest.param(b"[daemon]\nmax_restarts = 0x" + b"f" * 10_000, id="a huge count"),
        pytest.param(b'x = "' + b"\\n" * 100_000, id="a string without end"),
        pytest.param(b'x = """' + b'"\\"' * 50_000, id="quotes without end"),
        pytest.param(b"x = '''" + b"''\n" * 300_000, id="literal quotes without end"),
        pytest.param(b"\n" * 1_000_000, id="a million lines"),
        pytest.param(b"#" * 1_000_000, id="a long comment"),
        pytest.param(b" " * 900_000 + b"=", id="a long blank line"),
        pytest.param(b'[[agents]]\nname = "x"\nnudge = "' + b"{{ " * 300_000 + b'"', id="braces"),
        pytest.param(b"\xef\xbb\xbf" * 300_000, id="byte order marks"),
        pytest.param(b"\xff" * 1_000_000, id="no UTF-8"),
        pytest.param(b"\0" * 1_000_000, id="NUL bytes"),
        pytest.param(b"[a]\r\n" * 30_000, id="a table many times"),
        pytest.param(b"".join(b"k%d=1\n" % n for n in range(5_000)), id="many unknown keys"),
        pytest.param(b"[[agents]]\n" * 5_000, id="many nameless agents"),
        pytest.param(
            b"".join(
                b'[[agents]]\nname = "a%d"\nstart_command = "x"\ndepends_on = ["b%d"]\n' % (n, n)
                for n in range(1_000)
            ),
            id="many agents that depend on nobody",
        ),
    ],
)
def test_hostile_files_are_problems_in_time(data: bytes, tmp_path: Path) -> None:
    within_limit(tmp_path / "city.toml", data, "one file")
