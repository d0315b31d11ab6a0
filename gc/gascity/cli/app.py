"""`gc`: one command line for everything.

Commands live in modules by theme. They import what they need when they run: `gc --help` loads
neither the config, nor a provider, nor the controller.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TextIO

from gascity.errors import Exit, GascityError, explain


def main() -> int:
    """Run `gc` with the words of this process; return the exit code."""
    if sys.argv[1:3] == ["hook", "report"] and len(sys.argv) > 4:
        from gascity.hooks import report  # an agent waits for it: nothing else is loaded

        return report.main(sys.argv[3:])
    from gascity.cli import quick

    _have_streams()
    code: int | None = None
    try:
        code = quick.answer(sys.argv[1:])
        code = code if code is not None else _long_way()
        sys.stdout.flush()  # here, where a reader that left can still be dealt with
        return code
    except GascityError as problem:
        sys.stderr.write(explain(problem))
        return quick.exit_code(problem)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:  # whoever reads our output has had enough of it
        stop_writing()
        return code or Exit.OK
    except OSError as problem:
        what = f": {problem.filename}" if problem.filename else ""
        sys.stderr.write(f"error: {problem.strerror or problem}{what}\n")
        stop_writing()
        return Exit.FAILED


def _have_streams() -> None:
    """Make sure that there is something to write to, and that any text can be written."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  for life
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def stop_writing(stream: TextIO | None = None) -> None:
    """Point the output at nothing: the interpreter would complain again when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def _long_way() -> int:
    from gascity.cli.commands import app

    try:
        return app(standalone_mode=False) or Exit.OK
    except SystemExit as end:  # what the framework makes of a reader that left
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
