"""Sessions belong to the city, not to the process that started them."""

# ruff: noqa: D102  the name of a rule is its sentence

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.conformance.contract import Configure, Contract
from gascity.testing.eventually import eventually
from gascity.testing.witness import Witness

# Starts one session and stays, as a controller does.
ELSEWHERE = """
import importlib, json, signal, sys
from gascity.core.model import SessionConfig
from gascity.session.provider import CityContext
asked = json.loads(sys.stdin.readline())
module, _, name = asked["provider"].partition(":")
provider = getattr(importlib.import_module(module), name)(CityContext(**asked["context"]))
provider.start(asked["name"], SessionConfig(**asked["config"]), timeout=asked["timeout"])
print("started", flush=True)
while True:
    signal.pause()
"""


class SurvivalRules(Contract):
    """What holds when the process that started a session is interrupted, and when it dies."""

    def test_a_session_outlives_the_process_that_started_it(
        self,
        provider: SessionProvider,
        context: CityContext,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        with self._elsewhere(context, name, config(meta={"KEY": "value"})) as controller:
            before = eventually(lambda: witness.living(token))
            os.killpg(controller.pid, signal.SIGINT)
            controller.wait(timeout=self.limit)

        assert witness.living(token) == before
        assert provider.list_running("", timeout=self.limit) == [name]
        assert provider.get_meta(name, "KEY", timeout=self.limit) == "value"
        provider.nudge(name, "still there?", timeout=self.limit)
        eventually(lambda: "got still there?" in provider.peek(name, 0, timeout=self.limit))

    def test_a_session_outlives_a_controller_that_is_killed(
        self,
        provider: SessionProvider,
        context: CityContext,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
    ) -> None:
        with self._elsewhere(context, name, config()) as controller:
            before = eventually(lambda: witness.living(token))
            os.killpg(controller.pid, signal.SIGKILL)
            controller.wait(timeout=self.limit)

        assert witness.living(token) == before
        assert provider.is_running(name, timeout=self.limit)

        provider.stop(name, grace=5.0, timeout=self.limit)

        assert witness.living(token) == []

    def test_another_city_with_the_same_names_is_not_touched(
        self,
        provider: SessionProvider,
        name: str,
        config: Configure,
        witness: Witness,
        token: str,
        tmp_path: Path,
    ) -> None:
        folder = tmp_path / "other" / ".gc"
        folder.mkdir(parents=True)
        context = CityContext("t", uuid.uuid4().hex, str(folder), self.settings)
        other = self.create(context)
        try:
            provider.start(name, config(), timeout=self.limit)
            before = eventually(lambda: witness.living(token))

            other.stop(name, grace=0.5, timeout=self.limit)

            assert dict(other.observe(timeout=self.limit)) == {}
            assert not other.is_running(name, timeout=self.limit)
            assert witness.living(token) == before
        finally:
            other.close()
            self.clean_up(context)

    @contextmanager
    def _elsewhere(
        self, context: CityContext, name: str, config: SessionConfig
    ) -> Iterator[subprocess.Popen[str]]:
        asked = {
            "provider": f"{self.provider_class.__module__}:{self.provider_class.__qualname__}",
            "context": {
                "city": context.city,
                "city_id": context.city_id,
                "state_dir": context.state_dir,
                "settings": dict(context.settings),
            },
            "name": name,
            "config": {
                "command": config.command,
                "work_dir": config.work_dir,
                "env": dict(config.env),
                "meta": dict(config.meta),
            },
            "timeout": self.limit,
        }
        with subprocess.Popen(
            [sys.executable, "-c", ELSEWHERE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as controller:
            try:
                assert controller.stdin is not None
                assert controller.stdout is not None
                controller.stdin.write(json.dumps(asked) + "\n")
                controller.stdin.flush()
                assert controller.stdout.readline() == "started\n"
                yield controller
            finally:
                controller.kill()
