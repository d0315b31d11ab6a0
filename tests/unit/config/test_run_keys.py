"""`[providers.NAME.run]` and the login of one-shot runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config.backends import presets
from gascity.config.oneshots import built_in
from gascity.core.model import City
from gascity.core.oneshot import Format, PromptBy, RunCommand

Load = Callable[[str | bytes], City]
Problems = Callable[[str | bytes], str]
Write = Callable[[str, str | bytes], Path]
AGENT = '[[agents]]\nname = "a"\nstart_command = "run"\n'
CLAUDE = RunCommand(
    ("claude",),
    (
        "-p",
        "--input-format",
        "text",
        "--output-format",
        "stream-json",
        "--verbose",
        "--permission-mode",
        "bypassPermissions",
    ),
    PromptBy.STDIN,
    Format.CLAUDE,
    ("--model", "{}"),
)


def test_the_tools_are_called_as_their_programs_take_it() -> None:
    known = built_in()
    codex, gemini = known["codex"].run, known["gemini"].run

    assert known["claude"].run == CLAUDE
    assert codex is not None
    assert codex.args[:3] == ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox")
    assert codex.args[-1] == "-"
    assert gemini is not None
    assert gemini.args[:4] == ("--output-format", "stream-json", "--approval-mode", "yolo")
    assert {run.prompt for run in (CLAUDE, codex, gemini)} == {PromptBy.STDIN}


def test_a_city_has_all_built_in_backends_without_a_word_about_them(load: Load) -> None:
    city = load(AGENT)

    assert city.backends == built_in()
    assert {"perplexity", "xai"} < {*city.backends}
    assert not {"perplexity", "xai"} & {*presets()}


def test_a_key_stands_in_place_of_the_presets(load: Load) -> None:
    city = load(AGENT + '[providers.claude.run]\nargs = ["-p"]\nformat = "text"\n')

    assert city.backends["claude"].run == RunCommand(
        ("claude",), ("-p",), PromptBy.STDIN, Format.TEXT, ("--model", "{}")
    )
    assert city.backends["codex"] == built_in()["codex"]


def test_a_city_can_add_a_backend_that_only_runs_once(load: Load) -> None:
    city = load(
        AGENT + '[providers.own]\nbase_url = "http://localhost:1/v1"\nmodel = "m"\n'
        'env = { WHERE = "{{.CityRoot}}", WHO = "<{{.Agent}}>" }\n'
        "[providers.own.run]\n"
        """command = "python3 -m 'my tool'"\nargs = ["--x", "a b", "{{.City}}"]\nprompt = "arg"\n"""
    )
    own = city.backends["own"]

    assert own.run == RunCommand(
        ("python3", "-m", "my tool"), ("--x", "a b", "{{.City}}"), PromptBy.ARG, Format.TEXT
    )
    assert (own.base_url, own.model) == ("http://localhost:1/v1", "m")
    assert own.env == {"WHERE": city.root, "WHO": "<>"}


def test_what_all_agents_have_runs_have_too(load: Load) -> None:
    city = load(
        AGENT + '[workspace]\nname = "town"\nenv = { A = "{{.City}}", B = "1" }\n'
        '[providers.claude]\nenv = { B = "2" }\npass_env = ["GH_TOKEN"]\n'
    )
    claude = city.backends["claude"]

    assert claude.env == {"A": "town", "B": "2"}
    assert "GH_TOKEN" in claude.pass_env
    assert city.backends["codex"].env == {"A": "town", "B": "1"}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('[providers.own.run]\nargs = ["x"]\n', 'city.toml:4:1: missing key "command": backend'),
        ("""[providers.own.run]\ncommand = "it's"\n""", "city.toml:5:1: no closing quotation"),
        (
            '[providers.claude.run]\nprompt = "file"\n',
            'city.toml:5:1: expected "stdin", "arg" or "none", got "file"',
        ),
        (
            '[providers.claude.run]\nformat = "gemni"\n',
            'or "gemini", got "gemni"; did you mean "gemini"?',
        ),
        (
            '[providers.claude.run]\ncomand = "x"\n',
            'city.toml:5:1: unknown key "comand"; did you mean "command"?',
        ),
        ('[providers.claude.run]\nargs = "x"\n', "city.toml:5:1: expected a list of strings"),
        ('[providers.claude]\nrun = "x"\n', "city.toml:5:1: expected a table, got a string"),
        (
            '[providers.claude]\nbase_url = "example.com"\n',
            'city.toml:5:1: expected an address such as "https://example.com/v1"',
        ),
        (
            '[providers.codex]\nbase_url = "https://me:pw@example.com/v1"\n',
            "city.toml:5:1: an address with a login cannot be used here: it would be an argument",
        ),
        ('[providers.own]\nmodel = "x"\n', 'city.toml:4:1: missing key "command"'),
        ('[providers.claude]\nenv = { X = "{{.Nope}}" }\n', "city.toml:5:"),
    ],
)
def test_what_is_wrong_has_its_place(problems: Problems, table: str, said: str) -> None:
    assert said in problems(AGENT + table)


def test_an_agent_cannot_have_a_backend_that_only_runs_once(problems: Problems) -> None:
    said = problems(
        '[[agents]]\nname = "a"\nprovider = "xai"\n[[agents]]\nname = "b"\nprovider = "own"\n'
        '[providers.own.run]\ncommand = "x"\n'
    )

    assert 'city.toml:3:1: backend "xai" is for one-shot runs and has no session command' in said
    assert 'city.toml:6:1: backend "own" is for one-shot runs' in said


# --- the token


def test_a_token_lies_in_a_file_of_the_city_or_of_the_home(
    load: Load, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine").write_text("t\n")
    write("keys/claude", "token").chmod(0o600)
    (tmp_path / "mine").chmod(0o600)
    city = load(
        AGENT + '[providers.claude]\ntoken_file = "keys/claude"\n'
        '[providers.xai]\ntoken_file = "~/mine"\n'
    )

    assert city.backends["claude"].token_file == str(tmp_path / "town/keys/claude")
    assert city.backends["xai"].token_file == str(tmp_path / "mine")
    assert city.warnings == ()
    assert str(tmp_path / "mine") in city.sources


def test_a_token_that_others_can_read_is_warned_of(load: Load, write: Write) -> None:
    write("key", "token").chmod(0o640)
    city = load(AGENT + '[providers.claude]\ntoken_file = "key"\n')

    assert city.warnings == (
        'the token_file of backend "claude" can be read by others: chmod 600 makes it yours alone',
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "this file cannot be used: No such file or directory"),
        (Path.mkdir, "this is not a file"),
        (os.mkfifo, "this is not a file"),
        (Path.touch, "this file is empty"),
    ],
)
def test_a_token_file_that_cannot_be_used_is_refused_and_not_named(
    problems: Problems, folder: object, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    (tmp_path / "town").mkdir()
    make(tmp_path / "town" / "sk-1234")
    told = problems(AGENT + '[providers.claude]\ntoken_file = "sk-1234"\n')

    assert f"city.toml:5:1: {said}" in told
    assert "sk-1234" not in told


def test_a_token_needs_a_variable(problems: Problems, load: Load, write: Write) -> None:
    write("key", "token").chmod(0o600)
    table = AGENT + '[providers.own]\ncommand = "x"\ntoken_file = "key"\n'
    said = problems(table)
    own = load(table + 'token_env = ["OWN_KEY", "OTHER_KEY"]\n').backends["own"]

    assert 'city.toml:6:1: backend "own" has no variable for a token' in said
    assert (own.token_env, own.login_env) == (("OWN_KEY", "OTHER_KEY"), ("OWN_KEY",))


def test_codex_logs_in_with_the_variable_that_its_one_shot_form_reads(load: Load) -> None:
    own = load(AGENT + '[providers.codex]\ntoken_env = ["MY_KEY"]\n').backends["codex"]

    assert built_in()["codex"].login_env == ("OPENAI_API_KEY", "CODEX_API_KEY")
    assert own.login_env == ("MY_KEY",)


def test_the_variables_a_city_logs_in_with_reach_its_sessions(load: Load) -> None:
    city = load(
        '[[agents]]\nname = "a"\nprovider = "own"\n'
        '[providers.own]\ncommand = "x"\ntoken_env = ["OWN_KEY"]\n'
    )

    assert city.desired.agents[0].pass_env == ("OWN_KEY",)
