"""`gc guest call`, `exec` and `cp`: asking a guest by hand."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from gascity.cli.city import Here
from gascity.cli.options import AsJson, not_empty, seconds
from gascity.errors import Exit, GascityError, NotFound, RemoteError, UsageError

if TYPE_CHECKING:
    from gascity.guest import Client

T = TypeVar("T")
METHODS = ("exec", "exec_code", "list_dir", "ping", "read_file", "write_file")
GUEST = "guest:"
CANNOT_RUN = 126  # what a shell ends with

Socket = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        envvar="GC_GUEST_SOCKET",
        callback=not_empty,
        help="Where it answers: PATH, PATH?connect=PORT or vsock:CID:PORT (that of the city).",
        show_default=False,
    ),
]
TokenFile = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        envvar="GC_GUEST_TOKEN_FILE",
        callback=not_empty,
        help="The token it wants to hear first.",
        show_default=False,
    ),
]
Timeout = Annotated[
    str, typer.Option(metavar="TIME", callback=not_empty, help="How long an answer may take.")
]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command()(call)
    group.command(
        "exec",
        options_metavar="[OPTIONS] -- COMMAND ...",
        context_settings={"allow_extra_args": True},
    )(execute)
    group.command()(cp)


def complete_methods(incomplete: str) -> list[str]:
    """Return the methods that begin so."""
    return [name for name in METHODS if name.startswith(incomplete)]


def call(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            callback=not_empty,
            autocompletion=complete_methods,
            help="ping, exec, read_file, ...",
        ),
    ],
    params: Annotated[
        str, typer.Argument(metavar="JSON", help="An object or an array.", show_default=False)
    ] = "{}",
    socket: Socket = "",
    token_file: TokenFile = "",
    timeout: Timeout = "30s",
) -> int:
    """Ask a guest by any method, and print the result as JSON: `gc guest call ping`."""
    try:
        given = json.loads(params)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict | list):
        hint = """such as '{"path": "/etc/hostname"}'"""
        raise UsageError("the parameters are no JSON object or array", hint=hint)
    with _client(context, socket, token_file, timeout) as client:
        found = _told(lambda: client.call(method, given))
    sys.stdout.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return Exit.OK


def execute(
    context: typer.Context,
    socket: Socket = "",
    token_file: TokenFile = "",
    timeout: Timeout = "10m",
    as_json: AsJson = False,
) -> int:
    """Run a command in a guest: `gc guest exec -- ls -l`. Ends with its exit code.

    The words reach the command as they are; `sh -c 'TEXT'` is for what a shell is to read.
    """
    words = list(context.args)
    if not words:
        raise UsageError("nobody says what is to be run", hint="`gc guest exec -- COMMAND ...`")
    with _client(context, socket, token_file, timeout) as client:
        done = _told(lambda: client.exec(shlex.join(words)))
    if as_json:
        told = {"exit_code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr}
        sys.stdout.write(json.dumps(told) + "\n")
    elif done.exit_code == -1:
        sys.stderr.write(f"error: the guest could not run {words[0]}: {done.stderr.strip()}\n")
    else:
        sys.stdout.write(done.stdout)
        sys.stdout.flush()
        sys.stderr.write(done.stderr)
    return done.exit_code if 0 <= done.exit_code <= 255 else CANNOT_RUN


def cp(
    context: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="SRC", callback=not_empty, help="A file, or guest:PATH.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="DST", callback=not_empty, help="A place, or guest:PATH.")
    ],
    socket: Socket = "",
    token_file: TokenFile = "",
    timeout: Timeout = "30s",
    as_json: AsJson = False,
) -> int:
    """Copy a file into a guest or out of it, with its mode: `gc guest cp notes.txt guest:/tmp/`.

    What arrives is there as a whole or not at all. `--timeout` is for each piece.
    """
    if source.startswith(GUEST) == target.startswith(GUEST):
        raise UsageError(
            "one side must be in the guest, and the other here",
            hint="`gc guest cp SRC guest:PATH`, or `gc guest cp guest:PATH DST`",
        )
    into = target.startswith(GUEST)
    path = (target if into else source).removeprefix(GUEST)
    if not path:
        raise UsageError("guest: needs a path behind it", hint="`gc guest cp SRC guest:PATH`")
    with _client(context, socket, token_file, timeout) as client:
        copied = _told(lambda: _send(client, source, path) if into else _get(client, path, target))
    if as_json:
        sys.stdout.write(json.dumps({"from": source, "to": target, "bytes": copied}) + "\n")
    return Exit.OK


def _send(client: Client, source: str, path: str) -> int:
    from gascity.guest import copying

    try:
        with open(source, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise UsageError(f"{source} is no regular file")
            name = os.path.basename(source)
            return copying.send(client, file, path, mode=stat.S_IMODE(found.st_mode), name=name)
    except IsADirectoryError as problem:
        hint = f"`tar -cf copy.tar {source}` makes a file of it"
        raise UsageError(f"{source} is a folder", hint=hint) from problem
    except FileNotFoundError as problem:
        raise NotFound(f"there is no file {source}") from problem


def _get(client: Client, path: str, target: str) -> int:
    from gascity.guest import copying

    if os.path.isdir(target):
        target = os.path.join(target, os.path.basename(path.rstrip("/")) or "unnamed")
    if os.path.exists(target) and not os.path.isfile(target):
        raise UsageError(f"{target} is no regular file")
    folder = os.path.dirname(target) or "."
    try:
        descriptor, part = tempfile.mkstemp(prefix=".gc-part-", dir=folder)
    except FileNotFoundError as problem:
        raise NotFound(f"there is no folder {folder}") from problem
    try:
        with os.fdopen(descriptor, "wb") as file:
            fetched = copying.fetch(client, path, file.write)
            os.fchmod(file.fileno(), fetched.mode & 0o777)
        os.replace(part, target)
    except BaseException:  # an interrupt too: nothing half is left
        os.unlink(part)
        raise
    return fetched.size


def _told(ask: Callable[[], T]) -> T:
    """Return the answer; an error of the guest says that it is the guest's."""
    try:
        return ask()
    except RemoteError as problem:
        raise GascityError(f"the guest says {problem.code}: {problem.message}") from problem


def _client(context: typer.Context, socket: str, token_file: str, timeout: str) -> Client:
    from gascity.guest import Client

    limit = seconds("--timeout", timeout, least=0.1)
    address, known_token = (socket, "") if socket else _of_city(context.obj)
    return Client(address, token=_token(token_file or known_token), timeout=limit)


def _of_city(here: Here) -> tuple[str, str]:
    """Return where the guest of the city answers, and the file of its token."""
    from gascity.controller.own_settings import own_settings

    hint = "`--socket ADDRESS`, or `[session.guest]` in a city.toml"
    try:
        city = here.load()
    except NotFound as problem:
        raise UsageError("nobody says where the guest answers", hint=hint) from problem
    settings = own_settings(city, "guest")
    socket, token = (str(settings.get(key) or "") for key in ("socket", "token_file"))
    if not socket:
        raise UsageError("this city has no guest", hint=hint)
    if not socket.startswith("vsock:"):
        socket = os.path.join(city.root, os.path.expanduser(socket))
        socket += f"?connect={settings['connect']}" if "connect" in settings else ""
    return socket, token and os.path.join(city.root, os.path.expanduser(token))


def _token(path: str) -> str:
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise UsageError(f"the token in {path} cannot be read: {why}") from problem
