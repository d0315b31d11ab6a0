"""`gc`: one command line for everything.

Commands live in modules by theme. They import what they need when they run: `gc --help` loads
neither the config, nor a provider, nor the controller.
"""

from __future__ import annotations

import os
import sys

from gascity.errors import Exit, GascityError, explain


def main() -> int:
    """Run `gc` with the words of this process; return the exit code."""
    from gascity.cli import quick

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
    except BrokenPipeError:
        # The interpreter would complain once more when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED


def _long_way() -> int:
    from gascity.cli.commands import app

    return app(standalone_mode=False) or Exit.OK
