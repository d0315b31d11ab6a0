"""A bare terminal of some size with `gc` in it, and every byte that was written to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import termios
import threading
from collections.abc import Mapping
from typing import Self

from tests.cli.place import LIMIT, Place

from gascity.screens.sequences import without_sequences
from gascity.testing.eventually import eventually

_FRAME = re.compile(rb"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[\?2026l", re.DOTALL)


class Screen:
    """Runs one command. Use it in a `with`: what still runs at its end is killed."""

    def __init__(
        self,
        place: Place,
        columns: int,
        rows: int,
        *words: str,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._keys, self._far = pty.openpty()
        fcntl.ioctl(self._far, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.written = b""
        self._process = place.popen(
            *words,
            env={"TERM": "xterm", **(env or {})},
            stdin=self._far,
            out=self._far,
            err=self._far,
        )
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._ended.set()
        self._reader.join()
        os.close(self._keys)
        os.close(self._far)

    def press(self, keys: bytes) -> None:
        """Type something."""
        os.write(self._keys, keys)

    def shows(self, text: str) -> list[str]:
        """Wait until the last frame has this text; return its lines, without colours."""

        def look() -> list[str]:
            frames = _FRAME.findall(self.written)
            last = without_sequences(frames[-1].decode()) if frames else ""
            lines = re.split(r"\r+\n", last)  # a terminal adds one of its own
            assert any(text in line for line in lines), lines
            return lines

        return eventually(look, within=LIMIT)

    def ends(self) -> tuple[int, str]:
        """Wait for the end; return the exit code, and all that was written."""
        code = self._process.wait(LIMIT)
        self._ended.set()  # it reads what is there, and no more
        self._reader.join()
        return code, self.written.decode().replace("\r\n", "\n")

    def _read(self) -> None:
        while select.select([self._keys], [], [], 0.05)[0] or not self._ended.is_set():
            with contextlib.suppress(OSError):
                if select.select([self._keys], [], [], 0)[0]:
                    self.written += os.read(self._keys, 65536)
