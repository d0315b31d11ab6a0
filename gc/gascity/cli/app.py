"""`gc`: one command line for everything.

Commands live in modules by theme. They import what they need when they run: `gc --help` loads
neither the config, nor a provider, nor the controller.
"""

from __future__ import annotations

import sys

from gascity.errors import Exit, GascityError, explain


def main() -> int:
    """Run `gc` with the words of this process; return the exit code."""
    from gascity.cli import quick

    try:
        code = quick.answer(sys.argv[1:])
        return code if code is not None else _long_way()
    except GascityError as problem:
        sys.stderr.write(explain(problem))
        return quick.exit_code(problem)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return Exit.FAILED


def _long_way() -> int:
    from gascity.cli.commands import app

    return app(standalone_mode=False) or Exit.OK
