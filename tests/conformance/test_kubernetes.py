"""Sessions in pods, held to the contract on a real cluster.

The cluster's node must be this machine: the rules look at files and processes themselves.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import MappingProxyType

import pytest
from tests.cluster import where
from tests.cluster.line import Line

from gascity.session.provider import SessionProvider
from gascity.testing.conformance import ProcessConformance
from gascity_kubernetes import Provider

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(300)]

PYTHON, PYTHON_VOLUMES = where.python()
SERVICE = ("HOST", "PORT", "PORT_HTTPS")
LINKS = ("", "_443_TCP", "_443_TCP_PROTO", "_443_TCP_PORT", "_443_TCP_ADDR")


class TestKubernetes(ProcessConformance):
    provider_class = Provider
    limit = 60.0
    birth = 20.0
    supports_attach = True
    has_terminal = True
    python = PYTHON
    adds_env = frozenset(
        {"HOME", "HOSTNAME", "PATH", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX"}
        | {"TMUX_PANE", "SHELL", *(f"KUBERNETES_SERVICE_{name}" for name in SERVICE)}
        | {f"KUBERNETES_PORT{name}" for name in LINKS}
    )
    line: Line

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _namespace(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        name = f"gc-conformance-{uuid.uuid4().hex[:8]}"
        where.kubectl("create", "namespace", name)
        cls.line = Line()
        cls.settings = MappingProxyType(
            {
                **where.small(),
                "namespace": name,
                "kubeconfig": cls.line.write_config(tmp_path_factory.mktemp("line") / "config"),
                "volumes": [where.shared_temp(), *PYTHON_VOLUMES],
            }
        )
        yield
        cls.line.close()
        where.kubectl("delete", "namespace", name, "--wait=false")

    def make_unreachable(
        self, provider: SessionProvider, name: str
    ) -> AbstractContextManager[None] | None:
        return self.line.frozen()
