# ruff: noqa: RUF001 - the glyphs that real programs draw
from __future__ import annotations

import re

import pytest

from gascity.screens.options import Options, find, read_options
from gascity.screens.screen import Screen

MENUS = {
    "numbered": """
 Do you trust this folder?

 ❯ 1. Yes, I trust this folder
   2. No, exit

 Enter to confirm · Esc to cancel
""",
    "the cursor below": """
 Do you trust this folder?
   1) Yes, I trust this folder
 › 2) No, exit
""",
    "framed": """
 ╭──────────────────────────────────────────────╮
 │ Do you trust this folder?                    │
 │                                              │
 │ ● (1) Yes, I trust this folder               │
 │   (2) No, exit                               │
 ╰──────────────────────────────────────────────╯
""",
    "without numbers": """
 Do you trust this folder?
 ▶ Yes, I trust this folder
   No, exit

   Enter to confirm
""",
    "far apart": """
 Do you trust this folder?

 > Yes, I trust this folder

   No, exit
""",
    "with marks": """
 ◆  Do you trust this folder?
 │  ● Yes, I trust this folder
 │  ○ No, exit
 └
""",
    "a mark behind the cursor": """
 Do you trust this folder?
 ❯ ○ Yes, I trust this folder
   ● No, exit
""",
    "described": """
 Do you trust this folder?
 ❯ 1. Yes, I trust this folder
      Files are read and run.
   2. No, exit
      Nothing is read.
 Enter to confirm
""",
    "wrapped": """
 Do you trust this folder, as it is now
 ❯ 1. Yes, I trust
      this folder
   2. No, exit
""",
    "wide characters": """
 ┃ 信頼しますか                              ┃
 ┃  → 1. Yes, I trust this folder 👍          ┃
 ┃    2. No, exit いいえ                      ┃
""",
    "under a list": """
 1. Read this.
 2. Then choose.

 ❯ 1. Yes, I trust this folder
   2. No, exit
""",
    "under a quoted menu": """
● It showed:
  ❯ 1. Yes, I accept
    2. No, exit

 ❯ 1. Yes, I trust this folder
   2. No, exit
""",
}


def read(text: str) -> Options:
    options = read_options(Screen.of(text))
    assert options is not None
    return options


@pytest.mark.parametrize("name", MENUS)
def test_both_options_are_found(name: str) -> None:
    options = read(MENUS[name])

    assert len(options.options) == 2
    assert find(options, re.compile("Yes, I trust this folder")) is options.options[0]
    assert find(options, re.compile("^No, exit")) is options.options[1]
    assert options.cursor == (1 if name == "the cursor below" else 0)


def test_a_label_that_the_terminal_cut_within_a_word_is_whole() -> None:
    options = read(
        " Do you trust it? This is forty cells. Yes\n"
        " ❯ 1. No, exit\n"
        "   2. Yes, I trust this folder and all fil\n"
        "es in it\n"
    )

    assert find(options, re.compile("I trust this folder and all files in it")) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "❯\N{NO-BREAK SPACE}",
        "❯ 1. Alone",
        "* one\n* two\n* three",
        "  1. Yes\n  2. No",
        "Some text\n> a quote",
        "❯ 1. Yes, I accept\n  2. No, exit\n\n  1. No, exit\n  2. Yes, I accept\n",
        "❯ 1. Yes\n  2. No\n" + "\n".join(f"Line {number} of output." for number in range(20)),
    ],
)
def test_where_no_cursor_stands_in_a_menu_nothing_is_read(text: str) -> None:
    assert read_options(Screen.of(text)) is None


@pytest.mark.parametrize(
    "label",
    [
        "No, I do not accept",
        "I don't accept",
        "I don’t accept",
        "I will never accept",
        "Leave, and not accept",
    ],
)
def test_an_option_that_says_no_is_no_yes(label: str) -> None:
    options = read(f"Really?\n❯ 1. {label}\n  2. Leave")

    assert find(options, re.compile("accept")) is None
    assert find(options, re.compile(".*accept")) is None


def test_a_no_after_the_label_does_no_harm() -> None:
    options = read("Really?\n❯ 1. Leave\n  2. Yes, I accept, and do not ask again")

    assert find(options, re.compile("Yes, I accept")) is options.options[1]


def test_a_refusal_may_begin_with_no() -> None:
    options = read("Really?\n❯ 1. No, exit\n  2. Don't exit\n  3. Yes")

    assert find(options, re.compile("exit")) is None
    assert find(options, re.compile("exit"), denying=True) is options.options[0]


def test_of_two_that_match_none_is_taken() -> None:
    options = read("Really?\n❯ 1. Yes\n  2. Yes, and remember it\n  3. No")

    assert find(options, re.compile("Yes")) is None
    assert find(options, re.compile("^Yes$")) is options.options[0]


def test_a_match_that_begins_in_the_second_row_does_not_count() -> None:
    options = read("Really?\n❯ 1. Ask me later, when it is my\n     I accept it\n  2. Leave")

    assert find(options, re.compile("I accept")) is None


def test_a_label_that_stands_again_beneath_the_menu_is_not_trusted() -> None:
    options = read("● It said:\n❯ 1. Yes, I accept\n  2. No\n\nQuick check\n  Yes, I accept\n  No")

    assert find(options, re.compile("Yes, I accept")) is None
