"""The keeper as a program: `python -I -S .../gascity_subprocess FOLDER ROOT...`.

Runs without `site`, which would read every `.pth` file of the environment; so the folders that
hold `gascity` and this package are given as arguments.
"""

from __future__ import annotations

import sys

sys.path[:0] = sys.argv[2:]

from gascity_subprocess import keeper  # noqa: E402  the line above makes it importable

sys.exit(keeper.main(sys.argv[1]))
