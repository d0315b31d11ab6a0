"""`python -m tests.zoo NAME` runs one of the programs in this terminal."""

from __future__ import annotations

import sys

from tests.zoo.programs import PROGRAMS

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]().run()
