"""The fake is held to the contract, so that a test which trusts it trusts the contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

from gascity.session.provider import CityContext, SessionProvider
from gascity.testing.conformance import ProviderConformance
from gascity.testing.fake import FakeProvider, FakeWorld
from gascity.testing.witness import FakeWitness, Witness


class TestFake(ProviderConformance):
    @cached_property
    def world(self) -> FakeWorld:
        return FakeWorld()

    def create(self, context: CityContext) -> SessionProvider:
        return FakeProvider(context, self.world)

    def look(self) -> Witness:
        return FakeWitness(self.world)

    def make_unreachable(
        self, provider: SessionProvider, name: str
    ) -> AbstractContextManager[None] | None:
        @contextmanager
        def outage() -> Iterator[None]:
            self.world.unreachable = "the test says so"
            try:
                yield
            finally:
                self.world.unreachable = ""

        return outage()
