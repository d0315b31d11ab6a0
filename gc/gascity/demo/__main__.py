"""`python -m gascity.demo`."""

from __future__ import annotations

import sys

from gascity.demo.agent import main

sys.exit(main())
