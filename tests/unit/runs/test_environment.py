"""What a run finds in its environment, and what never reaches it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gascity.config.oneshots import built_in
from gascity.core.fingerprint import conceal
from gascity.core.model import AlertSettings
from gascity.core.oneshot import OneShot, RunCommand
from gascity.errors import BackendError
from gascity.runs.environment import RunIds, RunPaths, run_environment, secrets_in, withheld_of
from gascity.runs.tokens import read_token

IDS = RunIds("r1", "p", "t")
PATHS = RunPaths("/h/p/t", "/h/p/t/runs/r1", "/h/p/t/runs", "/h/city.db")
MAP = {
    "claude": "ANTHROPIC_API_KEY",
    "codex": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "perplexity": "PERPLEXITY_API_KEY",
    "xai": "XAI_API_KEY",
}
HOST = {
    "PATH": "/bin",
    "HOME": "/home/ann",
    "EDITOR": "ed",
    **{name: f"host {name}" for name in MAP.values()},
    "OPENAI_ORG_ID": "org",
    "CODEX_API_KEY": "host CODEX_API_KEY",
    "ANTHROPIC_AUTH_TOKEN": "host ANTHROPIC_AUTH_TOKEN",
    "GITHUB_TOKEN": "host GITHUB_TOKEN",
    "HOOK_URL": "https://hooks.example.com/secret",
    "CLAUDECODE": "1",
    "CLAUDE_CODE_ENTRYPOINT": "cli",
    "CODEX_SANDBOX": "seatbelt",
    "GEMINI_CLI": "1",
    "GEMINI_CLI_IDE_AUTH_TOKEN": "x",
    "GC_SESSION_MARK": "/city:1",
    "GC_AGENT": "mayor",
    "GC_RUN_MARK": "/other:run",
    "JRUN_ID": "outer",
    "JRUN_CONDUCTOR_URL": "http://stale",
    "JRUN_OTHER": "x",
}


def made(
    backend: OneShot | str = "claude", host: Mapping[str, str] = HOST, **more: object
) -> dict[str, str]:
    one = built_in()[backend] if isinstance(backend, str) else backend
    known = built_in().values()
    env = run_environment(host, IDS, PATHS, one, known=known, **more)  # type: ignore[arg-type]  # real arguments
    return dict(env.variables)


def test_the_host_is_inherited_and_overrides_win() -> None:
    env = made(own={"EDITOR": "vi", "NEW": "1"})

    assert env["HOME"] == "/home/ann"
    assert env["EDITOR"] == "vi"
    assert env["NEW"] == "1"


def test_a_run_knows_who_it_is() -> None:
    env = made(mark="/h:r1")

    assert {name: value for name, value in env.items() if name.startswith("JRUN_")} == {
        "JRUN_PROJECT_ID": "p",
        "JRUN_TASK_ID": "t",
        "JRUN_ID": "r1",
        "JRUN_PARENT_ID": "",
        "JRUN_RUNS_DIR": "/h/p/t/runs",
        "JRUN_MESSAGE_BUS": "/h/city.db",
        "JRUN_TASK_FOLDER": "/h/p/t",
        "JRUN_RUN_FOLDER": "/h/p/t/runs/r1",
    }
    assert env["TASK_FOLDER"] == "/h/p/t"
    assert env["RUN_FOLDER"] == "/h/p/t/runs/r1"
    assert env["GC_RUN_MARK"] == "/h:r1"


def test_the_address_of_the_supervisor_is_there_when_it_has_one() -> None:
    assert made(url="http://127.0.0.1:1")["JRUN_CONDUCTOR_URL"] == "http://127.0.0.1:1"


def test_nobody_can_forge_who_a_run_is() -> None:
    own = {
        "JRUN_ID": "forged",
        "JRUN_CONDUCTOR_URL": "http://forged",
        "JRUN_NEW": "forged",
        "RUN_FOLDER": "/forged",
        "TASK_FOLDER": "/forged",
        "GC_RUN_MARK": "forged",
    }
    env = made(replace(built_in()["claude"], env=own), own=own)

    assert env["JRUN_ID"] == "r1"
    assert "forged" not in " ".join(env.values())


@pytest.mark.parametrize("backend", MAP)
def test_a_backend_sees_its_own_login_and_nobody_elses(backend: str) -> None:
    env = made(backend, withheld=["HOOK_URL"])
    mine = {*built_in()[backend].token_env, *built_in()[backend].account_env}
    secrets = {*MAP.values(), "OPENAI_ORG_ID", "CODEX_API_KEY", "ANTHROPIC_AUTH_TOKEN"}

    assert MAP[backend] in env
    assert {name for name in (*secrets, "GITHUB_TOKEN", "HOOK_URL") if name in env} == (
        mine & {*HOST}
    )


@pytest.mark.parametrize("backend", MAP)
def test_the_token_of_the_city_appears_in_its_own_variables_alone(backend: str) -> None:
    env = made(backend, token="tok-123")

    holders = {name for name, value in env.items() if "tok-123" in value}
    assert holders == {*built_in()[backend].login_env}
    assert MAP[backend] in holders
    assert "ANTHROPIC_AUTH_TOKEN" not in env


def test_a_caller_can_give_another_token() -> None:
    assert made(token="city", own={"ANTHROPIC_API_KEY": "mine"})["ANTHROPIC_API_KEY"] == "mine"


def test_a_variable_that_is_passed_comes_through() -> None:
    backend = replace(built_in()["claude"], pass_env=("GITHUB_TOKEN",))

    assert made(backend)["GITHUB_TOKEN"] == "host GITHUB_TOKEN"


def test_nothing_tells_an_agent_that_it_runs_inside_another() -> None:
    env = made()

    inner = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CODEX_SANDBOX", "GEMINI_CLI", "GC_AGENT")
    marks = ("GC_SESSION_MARK", "GC_RUN_MARK", "GEMINI_CLI_IDE_AUTH_TOKEN")
    assert not {*inner, *marks} & {*env}


def test_address_and_model_are_there_when_they_are_configured() -> None:
    set_up = replace(built_in()["claude"], base_url="http://gate/v1", model="opus")
    env, without = made(set_up), made()

    assert (env["BASE_URL"], env["MODEL"]) == ("http://gate/v1", "opus")
    assert env["ANTHROPIC_BASE_URL"] == "http://gate/v1"
    assert not {"BASE_URL", "MODEL", "ANTHROPIC_BASE_URL"} & {*without}


def test_a_stray_address_of_the_host_does_not_get_the_token_of_a_class() -> None:
    host = {**HOST, "BASE_URL": "http://my-app.test", "MODEL": "T"}

    assert not {"BASE_URL", "MODEL"} & {*made("perplexity", host)}
    assert made("claude", host)["BASE_URL"] == "http://my-app.test"


def test_a_run_can_call_gc_without_its_folder_getting_in_front() -> None:
    assert made(gc_folder="/opt/gc")["PATH"] == "/bin:/opt/gc"
    assert made(host={}, gc_folder="/opt/gc")["PATH"].endswith(":/opt/gc")


@pytest.mark.parametrize("own", [{"": "x"}, {"A=B": "x"}, {"A": "x\0JRUN_ID=y"}, {"A\0": ""}])
def test_what_no_environment_can_hold_is_refused(own: dict[str, str]) -> None:
    with pytest.raises(BackendError, match="cannot be set"):
        made(own=own)


def test_the_secrets_are_told_and_harmless_values_are_not() -> None:
    host = {
        **HOST,
        "GIT_AUTHOR_NAME": "Annemarie",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "DB_PASSWORD": "pw-1",
    }
    backend = replace(built_in()["claude"], base_url="http://u:hid%20den@gate/v1")
    env = run_environment(
        host,
        IDS,
        PATHS,
        backend,
        known=built_in().values(),
        token="tok-123",
        own={"X_AUTH": "own-secret"},
    )

    assert set(env.secrets) == {"tok-123", "pw-1", "own-secret", "hid%20den", "hid den"}
    assert list(env.secrets) == sorted(env.secrets, key=len, reverse=True)
    assert "tok-123" not in conceal("a tok-123 b", env.secrets)
    assert "tok-123" not in repr(env)


def test_the_variables_of_alerts_are_withheld() -> None:
    assert withheld_of(AlertSettings(webhook_env="A", apprise_env="B")) == ("A", "B")
    assert withheld_of(AlertSettings()) == ()


def test_a_token_is_read_for_each_run(tmp_path: Path) -> None:
    file = tmp_path / "key"
    backend = OneShot("own", RunCommand(("x",)), token_file=str(file))
    file.write_text("one\n")
    first = read_token(backend)
    file.write_text("\ufeff two \n")

    assert (first, read_token(backend)) == ("one", "two")
    assert read_token(OneShot("own")) == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (" \n", "is empty"),
        ("two words", "something else than one token"),
        ("one\ntwo", "something else than one token"),
        ("schlüssel", "something else than one token"),
        ("x" * 70_000, "something else than one token"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_token_is_refused_and_not_shown(
    tmp_path: Path, content: str | None, said: str
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BackendError, match=said) as refused:
        read_token(OneShot("own", token_file=str(file)))

    assert refused.value.message.startswith("the token_file of backend own ")
    assert "two" not in refused.value.message


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("http://gate/v1", ()),
        ("http://tok-123@gate/v1", ("tok-123",)),
        ("http://u:hidden@gate/v1", ("hidden",)),
        ("http://[::1", ()),
        ("nothing", ()),
    ],
)
def test_the_login_in_an_address_is_a_secret_whoever_set_it(
    url: str, secrets: tuple[str, ...]
) -> None:
    assert secrets_in({"BASE_URL": url}, OneShot("x")) == secrets
