"""What a provider's test class says about it, and the ground every rule stands on.

Each test has a city of its own. When it ends, all its sessions are stopped through the provider
and the witness looks for survivors, so every test also is a test of `stop`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, TypeVar

import pytest

from gascity.core.model import SessionConfig, StartupHints
from gascity.errors import GascityError
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.witness import TOKEN, ProcessWitness, Witness

T = TypeVar("T")

NOTHING: Mapping[str, str] = MappingProxyType({})

# One process that reads its input, says what it read, and ends when asked to.
LASTING = f"""exec sh -c 'while read -r line; do echo "got $line"; done' lasting "${TOKEN}" """


class Configure(Protocol):
    """Makes a session's config: the test's work folder, PATH and the test's token are given."""

    def __call__(  # noqa: D102  the class docstring says it
        self,
        command: str = LASTING,
        *,
        env: Mapping[str, str] = NOTHING,
        meta: Mapping[str, str] = NOTHING,
        hints: StartupHints | None = None,
    ) -> SessionConfig: ...


class Contract:
    """What a subclass says of its provider; every line has a default but the class itself."""

    provider_class: type[SessionProvider]
    """The provider under test. It is made with nothing but a CityContext."""

    settings: Mapping[str, object] = NOTHING
    """Its table `[session.NAME]`; plain JSON values."""

    limit = 30.0
    """The time limit given to a call that should succeed, in seconds."""

    birth = 0.0
    """How long making a session may take before anything of it runs, in seconds."""

    supports_attach = False
    """Whether `attach` has a terminal to give."""

    has_terminal = False
    """Whether a session's input and output are a terminal, so that `Down` and `C-c` are keys."""

    tells_activity = True
    """Whether `last_activity` knows."""

    adds_env: frozenset[str] = frozenset()
    """Variables the provider itself must set in a session, such as TERM and TMUX."""

    python = sys.executable
    """The interpreter for scripts inside a session."""

    def create(self, context: CityContext) -> SessionProvider:
        """Return one more provider instance for this city."""
        return self.provider_class(context)

    def look(self) -> Witness:
        """Return who sees what runs, without the provider."""
        return ProcessWitness()

    def make_unreachable(
        self,
        provider: SessionProvider,  # noqa: ARG002  for those who override it
        name: str,  # noqa: ARG002  for those who override it
    ) -> AbstractContextManager[None] | None:
        """Return a context in which the backend of session `name` does not answer, if that can be.

        When it ends, all must be as before.
        """
        return None

    def clean_up(self, context: CityContext) -> None:
        """End what the backend keeps for a city that has no session any more."""

    # --- the ground of a test

    @pytest.fixture
    def token(self) -> str:
        """Return what all processes of this test carry."""
        return f"witness-{uuid.uuid4().hex}"

    @pytest.fixture
    def name(self) -> str:
        """Return a session name nobody has used."""
        return f"gc-t-{uuid.uuid4().hex[:8]}"

    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        """Return the work folder of this test's sessions."""
        folder = tmp_path / "work"
        folder.mkdir()
        return folder

    @pytest.fixture
    def context(self, tmp_path: Path) -> CityContext:
        """Return a city that nobody else has."""
        folder = tmp_path / ".gc"
        folder.mkdir()
        return CityContext(
            city="t", city_id=uuid.uuid4().hex, state_dir=str(folder), settings=self.settings
        )

    @pytest.fixture
    def witness(self) -> Witness:
        """Return who sees what runs."""
        return self.look()

    @pytest.fixture
    def config(self, work: Path, token: str) -> Configure:
        """Return the maker of session configs."""

        def configure(
            command: str = LASTING,
            *,
            env: Mapping[str, str] = NOTHING,
            meta: Mapping[str, str] = NOTHING,
            hints: StartupHints | None = None,
        ) -> SessionConfig:
            whole = {"PATH": os.environ["PATH"], TOKEN: token, **env}
            return SessionConfig(command, str(work), whole, hints or StartupHints(), meta)

        return configure

    @pytest.fixture
    def make_provider(
        self, context: CityContext, witness: Witness, token: str
    ) -> Iterator[Callable[[], SessionProvider]]:
        """Return the maker of instances for one city; afterwards nothing of them may live."""
        made: list[SessionProvider] = []

        def make() -> SessionProvider:
            made.append(self.create(context))
            return made[-1]

        yield make
        try:
            self._stop_all(make())
            assert witness.living(token) == [], "these processes survived the stop of all sessions"
        finally:
            witness.kill(token, signal.SIGKILL)
            for provider in made:
                provider.close()
            self.clean_up(context)

    @pytest.fixture
    def provider(self, make_provider: Callable[[], SessionProvider]) -> SessionProvider:
        """Return the instance a test works with."""
        return make_provider()

    @pytest.fixture
    def script(self, tmp_path: Path) -> Callable[..., str]:
        """Return what turns Python source and arguments into a session's command."""

        def write(source: str, *arguments: str) -> str:
            path = tmp_path / f"script-{uuid.uuid4().hex[:8]}.py"
            path.write_text(source)
            words = [_quoted(word) for word in (self.python, str(path), *arguments)]
            return f'exec {" ".join(words)} "${TOKEN}"'

        return write

    def _stop_all(self, provider: SessionProvider) -> None:
        states = provider.observe(timeout=self.limit)
        stops = [_stopper(provider, name, self.limit) for name in states]
        for outcome in together(stops):
            if isinstance(outcome, BaseException):
                raise outcome


def together(calls: Sequence[Callable[[], T]]) -> list[T | GascityError]:
    """Make all calls at the same moment; return their answers, or what they raised on purpose."""
    gate = threading.Barrier(max(len(calls), 1))

    def make(call: Callable[[], T]) -> T | GascityError:
        gate.wait()
        try:
            return call()
        except GascityError as problem:
            return problem

    with ThreadPoolExecutor(max(len(calls), 1)) as pool:
        return list(pool.map(make, calls))


def _stopper(provider: SessionProvider, name: str, limit: float) -> Callable[[], None]:
    return lambda: provider.stop(name, grace=0.2, timeout=limit)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def as_json(path: Path) -> object:
    """Return what a script wrote, or None while it has not finished writing."""
    try:
        answer: object = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return answer
