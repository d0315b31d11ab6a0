"""Many agents on a small terminal: nothing is lost without a word, and nothing is a tangle."""

from __future__ import annotations

import re

from tests.cli.solve.screen import Screen
from tests.cli.solve.workshop import READY, Workshop

from gascity.screens.sequences import without_sequences
from gascity.testing.eventually import eventually

LIMIT = 60.0
COUNT = 14


def crew(shop: Workshop, script: str, count: int = COUNT) -> list[str]:
    """Return many agents that do the same, `n01` and so on."""
    path = shop.agent("one", script)
    return [f"n{number:02}={path}" for number in range(1, count + 1)]


def test_a_small_window_shows_the_columns_of_the_table_and_what_has_no_room(shop: Workshop) -> None:
    waits = f"*/n1[34]-1) while [ ! -e {shop.folder}/go ]; do sleep 0.1; done;;"
    who = crew(shop, f"case $COCODE_REPO_PATH in {waits} *) echo no luck >&2; exit 1;; esac")
    with shop.popen(*shop.words(*who)) as process:
        try:
            eventually(lambda: _count(shop, "failed") == COUNT - 2, within=LIMIT)
            with Screen(shop, 40, 10, "solve", "status", "--watch") as watching:
                lines = watching.shows("... and ")
                watching.press(b"q")
                code, _ = watching.ends()
            with Screen(shop, 40, 10, "solve", "status") as table:
                _, shown = table.ends()
        finally:
            (shop.folder / "go").touch()
            process.communicate(timeout=LIMIT)

    assert code == 0
    assert lines[0].split() == ["ISSUE", "AGENT", "STATE", "WHY"]
    assert lines[0] in without_sequences(shown)
    assert [line.split()[1] for line in lines[1:5]] == ["n13", "n14", "n01", "n02"]
    assert re.fullmatch(r"bug +n01 +failed +agent exited.*\.\.\.", lines[3])
    assert lines[-1] == "... and 6 more"
    assert len(lines) == 10
    assert all(len(line) <= 40 for line in lines)


def test_agents_that_have_no_room_side_by_side_are_rows(shop: Workshop) -> None:
    work = 'echo "$COCODE_REPO_PATH" >main.py; echo new >new.py; git add .; git commit -qm "fix it"'
    shop.solve(*crew(shop, f"{work}; {READY}"))
    words = ("solve", "compare", "bug", "--check", "test -e new.py")
    with Screen(shop, 80, 24, *words) as terminal:
        code, written = terminal.ends()
    lines = without_sequences(written).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("AGENT"))

    assert code == 0
    assert lines[head].split() == [
        "AGENT", "STATE", "COMMITS", "FILES", "LINES", "UNCOMMITTED", "TIME", "CHECK",
    ]  # fmt: skip
    assert re.fullmatch(r"n01 +ready +2 +2 +\+2 -1 +0 +\d+s +passed *", lines[head + 1])
    assert all(len(line) <= 80 for line in lines[head:])
    block = lines[lines.index("n14: gc/bug/n14-1") :]
    assert [line.split(maxsplit=1)[1] for line in block[1:]] == [
        "resolve it", "fix it", "-1  main.py", "-0  new.py",
    ]  # fmt: skip


def test_agents_that_have_room_are_side_by_side(shop: Workshop) -> None:
    shop.solve(*crew(shop, f"echo new >new.py; git add .; git commit -qm new; {READY}", 2))
    with Screen(shop, 80, 24, "solve", "compare", "bug") as terminal:
        code, written = terminal.ends()

    assert (code, written) == (0, shop.gc("solve", "compare", "bug").stdout.decode())


def test_a_pipe_has_agents_side_by_side_however_many(shop: Workshop) -> None:
    shop.solve(*crew(shop, "true"))
    done = shop.gc("solve", "compare", "bug")

    assert done.stdout.decode().splitlines()[0].split() == [f"n{n:02}" for n in range(1, COUNT + 1)]


def _count(shop: Workshop, state: str) -> int:
    return list(shop.states().values()).count(state)
