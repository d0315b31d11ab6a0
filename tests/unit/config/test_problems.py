from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config.load import load_city
from gascity.config.problems import ConfigProblems, Problem, format_problems
from gascity.errors import Exit

Problems = Callable[[str | bytes], str]
Write = Callable[[str, str | bytes], Path]


def test_a_problem_shows_its_line_and_a_caret(problems: Problems) -> None:
    said = problems('[[agents]]\nname = "a"\nprovdier = "claude"\n')

    assert said == (
        'city.toml:3:1: unknown key "provdier"; did you mean "provider"?\n'
        '    provdier = "claude"\n'
        "    ^"
    )


def test_all_problems_come_at_once_sorted_by_place(problems: Problems) -> None:
    said = problems(
        '[[agents]]\nname = "a"\nprovider = "claud"\n'
        '[[agents]]\nname = "b"\nstart_command = "x"\nsuspended = 1\n'
        '[daemon]\npatrol_interval = "soon"\n'
    )

    places = [line.split(": ")[0] for line in said.splitlines() if line.startswith("city")]
    assert places == ["city.toml:3:1", "city.toml:7:1", "city.toml:9:1"]


def test_what_follows_from_a_misspelt_key_is_not_reported(problems: Problems) -> None:
    said = problems('[[agents]]\nname = "a"\nstart_comand = "sh"\n')

    assert said.count("city.toml:") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[agents]\n", "city.toml:1:1: expected a list of tables, got a table"),
        ("[agents]\n", "hint: write [[agents]], with two brackets, above each agent"),
        ('[[agents]]\nname = "a"\nargs = 3\n', "3:1: expected a list of strings, got an integer"),
        ('[[agents]]\nname = "a"\nargs = "x"\n', "hint: put it in brackets"),
        ('[[agents]]\nname = "a"\nargs = ["x", 2]\n', "3:14: expected a string, got an integer"),
        ('[[agents]]\nname = "a"\nenv = { A = 1 }\n', "3:9: expected a string, got an integer"),
        ('[[agents]]\nname = "a"\nenv = { A = 1 }\n', "hint: put it in quotes"),
        ('[[agents]]\nname = "a"\nenv = { "A B" = "1" }\n', "3:9: expected the name of an env"),
        ('[[agents]]\nname = "a"\nenv = { GC_RUN = "1" }\n', "3:9: GC_RUN is set by gc itself"),
        ('[[agents]]\nname = "a"\nsuspended = "yes"\n', "expected true or false, got a string"),
        ('[[agents]]\nname = "a"\nready_delay_ms = -1\n', "expected at least 0"),
        ('[[agents]]\nname = "a"\nready_delay_ms = 1.5\n', "expected an integer, got a number"),
        ('[[agents]]\nname = "a"\nprompt_mode = "args"\n', 'got "args"; did you mean "arg"?'),
        ('[[agents]]\nname = "a"\nnudge = "a\\u0000b"\n', "must not hold a NUL character"),
        ('[[agents]]\nname = "a"\nnudge = 1979-05-27\n', "expected a string, got a date"),
        ('[[agents]]\nname = "a"\npool = 2\n', "expected a table, got an integer"),
        ('[[agents]]\nname = "a"\npool = { max = 1001 }\n', "expected at most 1000"),
        ('[[agents]]\nname = "a--b"\n', "2:1: expected a name of letters, digits and _"),
        ('[[agents]]\ndir = "x"\n', '1:1: missing key "name"'),
        ("[daemon]\npatrol_interval = 30\n", 'expected a duration with a unit, such as "30s"'),
        ('[daemon]\npatrol_interval = "0s"\n', 'expected at least "10ms"'),
        ('[daemon]\nrestart_window = "99999h"\n', "at most a year"),
        ('name = "x"\n', 'hint: "name" belongs in [workspace] or [[agents]]'),
        ('[[agents]]\nname="a"\n[agents.pool]\nnudge="x"\n', 'hint: "nudge" belongs in [[agents]]'),
        ("[session]\nsocket = 1\n", "settings of a session provider stand in a table"),
        ("[session.tmux]\nx = 0xffffffffffffffffffff\n", "2:1: an integer of more than 64 bits"),
    ],
)
def test_a_wrong_shape_is_told_in_plain_words(problems: Problems, text: str, said: str) -> None:
    assert said in problems(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "city.toml: is empty"),
        (b"\xef\xbb\xbf \r\n", "city.toml: is empty"),
        (b"x = \n", "city.toml:1:5: this is not TOML: invalid value"),
        (b"[workspace]\r\nname = 'a\r\n", "city.toml:2:10: this is not TOML"),
        (b"[a]\n[a]\n", "city.toml:2:3: this is not TOML: cannot declare"),
        (b'[workspace]\nname = "\xff"\n', "city.toml:2:9: the byte 0xff is not UTF-8"),
        (b"[workspace]\nname = \0\n", "city.toml:2:8: a NUL character"),
        (b"x = " + b"9" * 5000, "city.toml:1:5: an integer of more than 64 bits"),
        (b"x = " + b"[" * 5000, "city.toml:1:37: nested more than 32 levels deep"),
        (b".".join([b"a"] * 100) + b" = 1", "city.toml:1:1: a key of more than 8 parts"),
        (b"#" * (1024 * 1024 + 1), "city.toml: is larger than 1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_problem(
    problems: Problems, data: bytes, said: str
) -> None:
    assert problems(data).startswith(said)


def test_a_folder_a_pipe_and_nothing_are_problems(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    said = []
    (tmp_path / "loop").symlink_to("loop")
    for name in (".", "pipe", "nothing", "loop", "x" * 300):
        with pytest.raises(ConfigProblems) as refused:
            load_city(tmp_path / name, known_providers=(), auto_provider="tmux")
        said.append(str(refused.value).split(": ", 1)[1])

    assert said[:3] == ["is not a file", "is not a file", "there is no such file"]
    assert all(text.startswith("cannot be read: ") for text in said[3:])


def test_a_byte_order_mark_and_windows_lines_are_fine(problems: Problems) -> None:
    said = problems(b"\xef\xbb\xbf[workspace]\r\nname = 'x'\r\nnope = 1\r\n")

    assert said.startswith('city.toml:3:1: unknown key "nope"')


@pytest.mark.parametrize(
    "text",
    [
        '[[agents]]\nname = "a"\nenv = { MY_TOKEN = "hunter2", X = 1 }\n',
        '[[agents]]\nname = "a"\nenv = { MY_TOKEN = "hunter2\n',
        '[[agents]]\nname = "a"\n[agents.env]\nMY_KEY = """\nhunter2\n""" x\n',
        '[[agents]]\nname = "a"\n[agents.env]\n"MY_KEY" = hunter2\n',
        '[[agents]]\nname = "a"\n[agents.env]\nMY_SECRET = "hunter2{{"\n',
        '[[agents]]\nname = "a"\n[agents.env]\nMY_SECRET = "{{.hunter2}}"\n',
        '[[agents]]\nname = "a"\n[agents.env]\nMY_SECRET = ["hunter2", 3]\n',
        '[[agents]]\nname = "a"\nnope = "MY_TOKEN=hunter2"\n',
    ],
)
def test_no_problem_shows_a_secret(problems: Problems, text: str) -> None:
    assert "hunter2" not in problems(text)


def test_control_characters_are_made_visible(problems: Problems) -> None:
    said = problems("nope\t= '\u202e\u00e9'\n\"\\u001b[31m\" = 1\n")

    assert "    nope = '\\u202eé'" in said
    assert 'unknown key "\\x1b[31m"' in said


def test_the_caret_stands_under_the_place_behind_wide_characters(problems: Problems) -> None:
    said = problems('[[agents]]\nname = "a"\nenv = { A = "日本", B = 1 }\n').splitlines()

    assert said[1] == '    env = { A = "日本", B = 1 }'
    assert said[2] == "    " + " " * 20 + "^"  # each of the two takes two cells


def test_a_long_line_is_cut_around_the_place(problems: Problems) -> None:
    said = problems(f'[[agents]]\nname = "a"\nargs = ["{"x" * 5000}", 3]\n').splitlines()

    assert len(said[1]) < 200
    assert said[1][said[2].index("^")] == "3"


def test_many_problems_are_counted_not_shown(problems: Problems) -> None:
    said = problems("".join(f"k{number} = 1\n" for number in range(150)))

    assert said.count("unknown key") == 100
    assert said.endswith("... and 50 more")


def test_a_problem_without_a_place_is_one_line() -> None:
    assert format_problems([Problem("city.toml", 0, 0, "is empty")]) == "city.toml: is empty"


def test_problems_end_with_the_exit_code_of_a_bad_config() -> None:
    assert ConfigProblems([]).exit_code == Exit.USAGE
