from __future__ import annotations

import pytest

from gascity.screens.versions import check_range, in_range


@pytest.mark.parametrize(
    ("version", "wanted", "is_in"),
    [
        ("2.1.197", "", True),
        ("2.1.197", ">=2.1", True),
        ("2.1.197", ">2.1.197", False),
        ("2.1.197", "==2.1.197", True),
        ("2.10", ">2.9", True),
        ("2", ">=2.0.0", True),
        ("2.0", "==2", True),
        ("3.0", ">=2.1,<3", False),
        ("2.9.9", ">=2.1, <3", True),
        ("1", "<=1", True),
    ],
)
def test_a_version_is_in_a_range(version: str, wanted: str, is_in: bool) -> None:
    check_range(wanted)

    assert in_range(version, wanted) is is_in


@pytest.mark.parametrize("text", ["2", "~2", ">=", ">=2,,<3", ">=a", "=2", ">=2 <3"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a range of versions"):
        check_range(text)
