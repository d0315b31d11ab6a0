"""`gc` with one more provider: sessions as of `subprocess`, with a lead that lies on a shelf.

The variable LEASED_SHELF names its file. While there is one with `.shut` added, it is not opened.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.integration.controller.shelf import Shelf

from gascity.cli.app import main
from gascity.session import registry
from gascity.session.leadership import Leadership
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity_kubernetes.lease import LeaseLeadership, lease_name, own_name
from gascity_subprocess import Provider


class Leased(Provider):
    """The sessions of one machine, as if they could be reached from others."""

    name = "leased"
    lasting = frozenset({"where"})

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        eventually(lambda: not _shelf().shut.exists())

    @classmethod
    def leadership(cls, context: CityContext) -> Leadership:
        name = lease_name(context.city, context.city_id)
        return LeaseLeadership(_shelf(), name, own_name())


def _shelf() -> Shelf:
    return Shelf(Path(os.environ["LEASED_SHELF"]))


if __name__ == "__main__":
    registry.SHIPPED["leased"] = "__main__:Leased"
    sys.exit(main())
