"""A session sees the environment and the folder it was given, and nothing else."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gascity.session.provider import SessionProvider
from gascity.testing.conformance.contract import LASTING, NOTHING, Configure, Contract, as_json
from gascity.testing.eventually import eventually

# What a shell or the interpreter adds on its own.
AMBIENT = {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"}

REPORT = """
import json, os, pathlib, signal, sys
told = {"env": dict(os.environ), "cwd": os.getcwd()}
pathlib.Path(sys.argv[1]).write_text(json.dumps(told))
while True:
    signal.pause()
"""

VALUES = {
    "EMPTY": "",
    "EQUALS": "a=b=c",
    "NEWLINE": "first\nsecond=2\n",
    "DASH": "-n",
    "BLANKS": "  two  blanks  ",
    "QUOTES": "'single' \"double\" `back` $HOME \\ ; #{x}",
    "UNICODE": "Zürich 東京 🏙",
    "LONG": "x" * 60_000,
}


class EnvironmentRules(Contract):
    """`SessionConfig.env` is the whole environment, `work_dir` the folder."""

    @pytest.fixture
    def report(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        script: Callable[..., str],
        tmp_path: Path,
    ) -> Callable[..., Mapping[str, object]]:
        """Return what starts a session and tells what it found."""

        def ask(env: Mapping[str, str] = NOTHING, suffix: str = "") -> Mapping[str, object]:
            path = tmp_path / f"report{suffix}.json"
            command = script(REPORT, str(path))
            provider.start(name + suffix, config(command, env=env), timeout=self.limit)
            told = eventually(lambda: as_json(path))
            assert isinstance(told, dict)
            return told

        return ask

    def test_the_environment_is_exactly_what_was_given(
        self,
        report: Callable[..., Mapping[str, object]],
        config: Configure,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("GC_AMBIENT", "must not leak")
        monkeypatch.setenv("CLAUDECODE", "1")
        monkeypatch.setenv("HOME", "/not/given")

        told = report(VALUES)["env"]

        assert isinstance(told, dict)
        allowed = AMBIENT | self.adds_env
        wanted = dict(config(env=VALUES).env)
        assert {key: told.get(key) for key in wanted} == wanted
        assert set(told) - set(wanted) - allowed == set()

    def test_one_session_does_not_see_the_environment_of_another(
        self, report: Callable[..., Mapping[str, object]]
    ) -> None:
        report({"OF_THE_FIRST": "secret"})

        told = report(suffix="-second")["env"]

        assert isinstance(told, dict)
        assert "OF_THE_FIRST" not in told

    def test_a_session_runs_in_its_work_folder(
        self, report: Callable[..., Mapping[str, object]], work: Path
    ) -> None:
        assert report()["cwd"] == str(work.resolve())

    @pytest.mark.parametrize(
        "text",
        ['it\'s "quoted" $(not run) `not run` ; & | > \\', "two\nlines", "🏙", "x" * 100_000],
        ids=["quotes", "lines", "unicode", "100 kB"],
    )
    def test_a_command_is_run_as_it_is_written(
        self, provider: SessionProvider, name: str, config: Configure, work: Path, text: str
    ) -> None:
        quoted = text.replace("'", "'\\''")
        command = f"printf '%s' '{quoted}' > heard.part; mv heard.part heard; {LASTING}"

        provider.start(name, config(command), timeout=self.limit)

        eventually((work / "heard").exists)
        assert (work / "heard").read_text() == text
