"""A tmux that is reached through a shell beside it: what the shell is told, and what it says.

tmux is spoken to by plain clients which read their commands from their input, so that nothing of a
message or of an environment stands in an argument list. Only sh and the common small tools are
needed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gascity.session import processes
from gascity.session.tmux.wire import Block

_WINK = "0.05"  # seconds for a program to see that its terminal changed its size
# Only bash can tell whether a terminal holds input; where there is none, that is not told.
_INPUT = """(
  case $(stty -a <{tty}) in *-icanon*) echo keys ;; *icanon*) echo lines ;; *) exit 4 ;; esac
  command -v bash >/dev/null || exit 0
  if bash -c 'read -t 0 <"$1"' sh {tty}; then echo unread; else echo empty; fi
) 2>/dev/null"""
# One program reads it all: the kernel's word on every process, and its arguments.
PROGRAMS = "head -v -c 4096 /proc/[0-9]*/stat /proc/[0-9]*/cmdline 2>/dev/null"


def quote(text: str) -> str:
    """Return a text as one word of a shell."""
    return shlex.quote(text)


def questions(lines: Sequence[str], token: str) -> str:
    """Return lines of commands with marks between them, to be read by a tmux client.

    A line that fails does not keep the next from being done. `token` stands in none of them.
    """
    asked = []
    for number, line in enumerate(lines):
        asked += [f"{line} ; {_say(token, number, 'ok')}", _say(token, number, "end")]
    return "\n".join([*asked, ""])


def blocks(output: bytes, token: str, count: int) -> list[Block]:
    """Return what was printed between the marks; a line without its first mark went wrong."""
    lines = output.split(b"\n")
    found: list[Block] = []
    said: list[bytes] = []
    is_ok = False
    for line in lines:
        if line == f"{token}-{len(found)}-ok".encode():
            is_ok = True
        elif line == f"{token}-{len(found)}-end".encode():
            found.append(Block(ok=is_ok, lines=tuple(said)))
            said, is_ok = [], False
        else:
            said.append(line)
    why = tuple(line for line in said if line)
    # tmux tells of what went wrong when it is done with everything.
    found = [block if block.ok or block.lines else Block(ok=False, lines=why) for block in found]
    return found + [Block(ok=False, lines=why)] * (count - len(found))


def input_script(tty: str) -> str:
    """Return what asks a shell beside a terminal for its input."""
    return _INPUT.format(tty=quote(tty))


def read_input(status: int, text: str) -> tuple[bool, bool | None]:
    """Return what the shell said: whether lines are read, and whether some are unread."""
    words = text.split() if status == 0 else []
    unread = "unread" in words if {"unread", "empty"} & set(words) else None
    return "lines" in words, unread


def wink_script(tty: str) -> str:
    """Return what makes a terminal a row smaller for a moment."""
    path = quote(tty)
    return (
        f"size=$(stty size <{path}) && rows=${{size%% *}} && [ $rows -gt 1 ]"
        f" && stty rows $((rows - 1)) <{path} && sleep {_WINK} && stty rows $rows <{path}"
    )


def programs_below(roots: Sequence[int], table: bytes) -> dict[int, set[str]]:
    """Return the names of what runs in the trees of these processes, in what `PROGRAMS` said.

    Raises ValueError for a table that says nothing: then nothing is known of any program.
    """
    parents: dict[int, int] = {}
    comms: dict[int, str] = {}
    words: dict[int, list[str]] = {}
    for section in table.split(b"==> /proc/")[1:]:
        where, _, content = section.partition(b" <==\n")
        pid, _, kind = where.partition(b"/")
        if not pid.isdigit():
            continue
        if kind == b"stat":
            # The name may hold anything; it stands in the outermost brackets.
            name, _, fields = content.partition(b"(")[2].rpartition(b")")
            status = fields.split()
            if len(status) > 1 and status[0] != b"Z":
                parents[int(pid)] = int(status[1])
                comms[int(pid)] = name.decode(errors="replace")
        else:
            cut = content.removesuffix(b"\n").split(b"\0")
            words[int(pid)] = [word.decode(errors="replace") for word in cut if word]
    if not parents:
        raise ValueError("there is no list of them")
    return {root: _below(root, parents, comms, words) for root in roots}


def _below(
    root: int, parents: dict[int, int], comms: dict[int, str], words: dict[int, list[str]]
) -> set[str]:
    found: set[str] = set()
    waiting = [root] if root in parents else []
    while waiting:
        pid = waiting.pop()
        found |= processes.names_of(comms[pid], "", words.get(pid, []))
        waiting += [child for child, parent in parents.items() if parent == pid]
    return found


def _say(token: str, number: int, word: str) -> str:
    return f"display-message -p {token}-{number}-{word}"
