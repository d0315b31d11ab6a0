"""The commands typed most, answered without loading the command line.

`gc stop` only asks a running controller, `gc start --detach` only starts one, `gc status` looks by
itself where there is none to ask, and agents call `gc drain-check` in loops and post messages: none
of them needs options, help or completion. Whatever this module does not recognise to the letter
goes the long way, which behaves the same; a test compares the two.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence

from gascity.cli.ask import ask_controller
from gascity.config.find import find_city
from gascity.errors import Exit, GascityError, HungUp, NotRunning, RemoteError, explain

STATUS_TIMEOUT = 30.0
STOP_TIMEOUT = 3600.0


def answer(words: Sequence[str]) -> int | None:
    """Return the exit code of the command, or None when it has to go the long way."""
    folder, rest = _folder(words)
    match rest:
        case ["status", "--json"]:
            return _status(folder, as_json=True)
        case ["status"]:
            return _status(folder, as_json=False)
        case ["stop"]:
            return _stop(folder)
        case ["start", "--detach"]:
            from gascity.cli.detach import start_detached

            return start_detached(folder)
        case ["drain-check"] | ["drain-check", "-q" | "--quiet"]:
            from gascity.cli.whom import Whom, should_drain

            given = folder if words[0] == "-C" else ""
            return print_drain(should_drain(Whom.meant(given)).drain, quiet=len(rest) > 1)
        case ["bus", "post", text] if text == "-" or text[:1] != "-":
            return _post(folder, "INFO", text, given=words[0] == "-C")
        case ["bus", "post", "--type", kind, text] if kind and (text == "-" or text[:1] != "-"):
            return _post(folder, kind, text, given=words[0] == "-C")
        case _:
            return None


def _post(folder: str, kind: str, text: str, *, given: bool) -> int:
    from gascity.cli import speaking
    from gascity.cli.city import Here

    who = speaking.speaker(Here(folder, given=given), os.environ)
    sys.stdout.write(f"{speaking.post(who, kind, text)}\n")
    return Exit.OK


def print_drain(drain: bool, *, quiet: bool) -> int:
    """Say whether an agent should drain; return the exit code that says the same."""
    if not quiet:
        sys.stdout.write("drain\n" if drain else "go on\n")
    return Exit.OK if drain else Exit.FAILED


def _folder(words: Sequence[str]) -> tuple[str, list[str]]:
    if len(words) >= 2 and words[0] == "-C" and words[1]:
        return words[1], list(words[2:])
    return ".", list(words)


def _status(folder: str, *, as_json: bool) -> int:
    document = _ask(folder, "status", STATUS_TIMEOUT)
    if not isinstance(document, dict):
        from gascity.cli.alone import status_without_controller
        from gascity.cli.city import Here

        document = status_without_controller(Here(folder))
    print_status(document, as_json=as_json)
    return Exit.OK


def print_status(document: dict[str, object], *, as_json: bool) -> None:
    """Print a status document, for a person or for a program."""
    if as_json:
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
        return
    now = time.time()
    if sys.stdout.isatty():
        from gascity.cli.board import Style, drawn, terminal_size

        shown = drawn(document, terminal_size()[0], now, Style.of_this_terminal())
        sys.stdout.write("".join(line + "\n" for line in shown.lines()))
        return
    from gascity.cli import overview, render

    rows = overview.plain_rows(overview.agents_of(document), now)
    lines = [overview.headline(document), *overview.troubles(document)]
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.write(render.plain(overview.COLUMNS, rows))
    sys.stdout.write("".join(line + "\n" for line in overview.strangers(document)))


def _stop(folder: str) -> int | None:
    try:
        answered = _ask(folder, "stop", STOP_TIMEOUT)
    except HungUp:
        return None
    except RemoteError as problem:
        sys.stderr.write(explain(problem))
        return exit_code(problem)
    if not isinstance(answered, dict):
        return None
    print_stopped(answered)
    return Exit.OK


def print_stopped(answered: dict[str, object]) -> None:
    """Say what `gc stop` ended."""
    stopped = answered.get("stopped")
    count = len(stopped) if isinstance(stopped, list) else 0
    agents = "1 agent" if count == 1 else f"{count} agents"
    sys.stdout.write(f"stopped {agents} and the controller\n")


def exit_code(problem: GascityError) -> int:
    """Return the exit code the other side meant."""
    if isinstance(problem, RemoteError):
        given = problem.data.get("exit")
        if isinstance(given, int):
            return given
    return problem.exit_code


def _ask(folder: str, method: str, timeout: float) -> object | None:
    """Return the controller's answer; None when there is none to ask."""
    state = os.path.join(os.path.dirname(find_city(folder)), ".gc")
    try:
        return ask_controller(state, method, {}, timeout=timeout)
    except NotRunning:
        return None
