"""Codex: the program `notify` in its `config.toml`, called with one JSON argument.

It is called when a turn is over, and for nothing else; Codex has hooks for more, but a person has
to approve those first. There is one `notify` for all of a user's sessions: one that stands there
already is kept behind a `--` in ours, which calls it too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gascity.hooks.hooked import Hooked, Untouchable
from gascity.screens.reading import Kind

NAME = "codex"
EVENTS: Mapping[str, Kind | None] = {"notify": None}
DETAILS: Mapping[tuple[str, str], Kind | None] = {
    ("notify", "agent-turn-complete"): Kind.READY,
    ("notify", "approval-requested"): Kind.WAITING,
}
WORDS = ("hook", "report", NAME, "notify")
THEIRS = "--"


def _path(work_dir: str, env: Mapping[str, str]) -> str:
    del work_dir
    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME") or "~", ".codex")
    return os.path.join(os.path.expanduser(home), "config.toml")


def _merged(content: bytes | None, gc: str) -> bytes:
    import tomlkit  # noqa: PLC0415  only where a file of Codex's is changed

    document = tomlkit.parse(_text(content or b""))
    there = _command(document.get("notify"))
    theirs = _theirs(there)
    words = [gc, *WORDS, *([THEIRS, *theirs] if theirs else [])]
    if there == words and content is not None:
        return content
    if "notify" in document:
        document["notify"] = words
        return tomlkit.dumps(document).encode()
    line = tomlkit.dumps({"notify": words})  # in front: after a table it would be a key of that
    return line.encode() + (content or b"")


def _stripped(content: bytes) -> bytes:
    import tomlkit  # noqa: PLC0415  only where a file of Codex's is changed

    document = tomlkit.parse(_text(content))
    there = _command(document.get("notify"))
    theirs = _theirs(there)
    if theirs == there:
        return content
    line = tomlkit.dumps({"notify": there}).encode()
    if not theirs and content.startswith(line):
        return content.removeprefix(line)
    if theirs:
        document["notify"] = theirs
    else:
        del document["notify"]
    return tomlkit.dumps(document).encode()


def _theirs(words: Sequence[str]) -> list[str]:
    """Return the user's own command: what is behind ours, or all of it when it is not ours."""
    if tuple(words[1:5]) != WORDS:
        return list(words)
    return list(words[6:]) if words[5:6] == [THEIRS] else []


def _command(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise Untouchable('"notify" is no list of words there')
    return [str(word) for word in value]


def _text(content: bytes) -> str:
    import tomllib  # noqa: PLC0415  only where a file of Codex's is changed

    try:
        text = content.decode("utf-8")
        tomllib.loads(text)
    except UnicodeDecodeError:
        raise Untouchable("it is not UTF-8 text") from None
    except RecursionError:
        raise Untouchable("it is nested too deeply") from None
    except ValueError as problem:
        raise Untouchable(f"it is not TOML: {problem}") from None
    return text


CODEX = Hooked(NAME, EVENTS, _path, _merged, _stripped, b"", DETAILS)
