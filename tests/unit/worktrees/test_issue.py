"""What an issue in a file is called, and what its title is."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gascity.errors import UsageError
from gascity.worktrees.issue import from_file, from_stream, title_of


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# It crashes\n\nwhen", "It crashes"),
        ("\n\n  ## It crashes  \n", "It crashes"),
        ("---\nlabels: bug\ntitle: 'It crashes'\n---\n# Other", "It crashes"),
        ("---\nlabels: bug\n---\n\n# It crashes\n", "It crashes"),
        ("---\nIt crashes\n", "It crashes"),
        ("***\n漏れている\n", "漏れている"),
        ("#\n---\n", ""),
        ("", ""),
    ],
)
def test_the_title_is_the_first_line_that_says_something(text: str, title: str) -> None:
    assert title_of(text) == title


def test_an_issue_is_called_like_its_file_or_its_title(tmp_path: Path) -> None:
    (tmp_path / "the bug.md").write_text("It crashes")

    assert from_file(str(tmp_path / "the bug.md")).key == "the-bug"
    assert from_stream(io.BytesIO(b"It crashes!")).key == "it-crashes"


def test_issues_without_latin_letters_have_names_of_their_own() -> None:
    keys = [from_stream(io.BytesIO(text.encode())).key for text in ("漏れ", "別の問題", "漏れ")]

    assert keys[0] == keys[2] != keys[1]
    assert all(key.startswith("issue-") for key in keys)


@pytest.mark.parametrize("text", ["", " \n", "#\n", "---\n---\n", "🚢\n"])
def test_an_issue_without_a_word_says_nothing(text: str) -> None:
    with pytest.raises(UsageError, match="the issue says nothing"):
        from_stream(io.BytesIO(text.encode()))
