"""`gc runs serve`: the runs over HTTP, for programs and browsers on this machine."""

from __future__ import annotations

import itertools
import json
import signal
import sys
import threading
from collections.abc import Mapping

import typer

from gascity import signals
from gascity.cli import records
from gascity.cli.city import Here
from gascity.errors import NotFound, UsageError
from gascity.runs.conductor import ADDRESS, Address, new_key, publish, serving
from gascity.runs.folder import STDERR, STDOUT
from gascity.runs.info import SESSION
from gascity.runs.web import Server, Spoken


def serve_until_over(here: Here, port: int, *, as_json: bool) -> None:
    """Serve the runs of a folder's home until a signal ends it.

    Raises CityHeld when another does, UsageError when the port cannot be had.
    """
    home = records.home_of(here)
    over = threading.Event()
    endings = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    with signals.heard(dict.fromkeys(endings, over.set)), serving(home):
        key = new_key()
        try:
            server = Server(_Served(here), key, port)
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise UsageError(f"port {port} cannot be listened on: {why}") from problem
        with server:
            threading.Thread(target=server.serve_forever, name="web", daemon=True).start()
            publish(home, Address(server.url, key))
            file = f"{home.path}/{ADDRESS}"
            if as_json:
                sys.stdout.write(json.dumps({"url": server.url, "key_file": file}) + "\n")
            else:
                typer.echo(f"runs are at {server.url}/runs, the key is in {file}")
            sys.stdout.flush()
            over.wait()
            server.shutdown()


class _Served:
    """The runs of a home, as `gc runs --json` shows them."""

    def __init__(self, here: Here) -> None:
        self._here = here

    def newest(self, most: int) -> Mapping[str, object]:
        folders = itertools.islice(records.runs_of(self._here), min(most, sys.maxsize) or None)
        found = records.known(self._here, list(folders))
        return {"runs": [one.document() for one in found]}

    def one(self, run: str) -> Mapping[str, object]:
        return self._known(run).document()

    def spoken(self, run: str, stream: str) -> Spoken:
        one = self._known(run)
        if one.info is not None and one.info.kind == SESSION:
            raise NotFound(f"run {one.folder.run_id} is a session of {one.info.agent}")
        name = one.folder.run_id
        path = one.folder.file(STDERR if stream == "stderr" else STDOUT)
        return Spoken(path, records.lives(self._here, one.folder), lambda: self.one(name))

    def _known(self, run: str) -> records.Known:
        (one,) = records.known(self._here, [records.find_run(self._here, run)])
        return one
