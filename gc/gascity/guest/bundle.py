"""The daemon as one file: a zip that any Python from 3.9 on runs.

The same sources give the same bytes, so that an image built twice is the same image.
"""

from __future__ import annotations

import io
import zipfile
from importlib import resources

MODULES = (
    "__init__.py",
    "guest/__init__.py",
    "guest/beneath.py",
    "guest/execution.py",
    "guest/files.py",
    "guest/main.py",
    "guest/methods.py",
    "guest/output.py",
    "guest/server.py",
    "guest/talk.py",
    "guest/trees.py",
    "jsonrpc.py",
    "unixsocket.py",
)
FIRST_LINE = b"#!/usr/bin/env python3\n"
START = b"import sys\n\nfrom gascity.guest.main import main\n\nsys.exit(main())\n"
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip can name


def build() -> bytes:
    """Return the file."""
    home = resources.files("gascity")
    members = {f"gascity/{name}": home.joinpath(name).read_bytes() for name in MODULES}
    out = io.BytesIO()
    out.write(FIRST_LINE)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_STORED) as archive:
        for name, data in {"__main__.py": START, **members}.items():
            member = zipfile.ZipInfo(name, LONG_AGO)
            member.external_attr = 0o644 << 16
            archive.writestr(member, data)
    return out.getvalue()
