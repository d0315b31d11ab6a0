"""What runs in a pod, as its shell tells it."""

from __future__ import annotations

import pytest

from gascity_kubernetes.inside import programs_in

TABLE = b"""\
7
==> /proc/1/stat <==
1 (sh) S 0 1 1
==> /proc/7/stat <==
7 (claude) S 1 7 7
==> /proc/9/stat <==
9 (gone) Z 7 7 7
==> /proc/7/cmdline <==
node\0/usr/bin/claude\0
"""


def test_what_runs_below_the_pane_is_named() -> None:
    found = programs_in(TABLE)

    assert "claude" in found
    assert "sh" not in found
    assert "gone" not in found


def test_a_pane_whose_process_ended_runs_nothing() -> None:
    assert programs_in(b"8\n" + TABLE.partition(b"\n")[2]) == set()


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(TABLE.partition(b"\n")[2], id="tmux does not answer"),
        pytest.param(b"7\n", id="there is no head in the image"),
        pytest.param(b"", id="nothing at all"),
    ],
)
def test_a_table_that_is_not_whole_is_no_proof_of_an_end(said: bytes) -> None:
    with pytest.raises(ValueError, match="no list"):
        programs_in(said)
