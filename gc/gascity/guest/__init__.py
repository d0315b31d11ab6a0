"""A hand inside a sandbox: a daemon that runs commands and moves files, and the client for it.

The daemon is shipped alone and runs on Python 3.9 with the standard library. The client is not
part of that, and is loaded when somebody asks for it.
"""

from __future__ import annotations

import importlib


def __getattr__(name: str) -> object:
    if name == "Client":
        return importlib.import_module("gascity.guest.client").Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
