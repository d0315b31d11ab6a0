"""A rule made from one screen, to begin with: what to recognise it by, and what it could answer.

Pure text: `learning` checks that the rule loads and holds, and writes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from gascity.screens.box import Found
from gascity.screens.lines import Line, read_lines
from gascity.screens.options import Option, Options, find
from gascity.screens.reading import Kind
from gascity.screens.screen import Screen

MOST_PATTERNS = 3
LONGEST_PATTERN = 70
LONGEST_NAME = 30
LINES = 15  # what a rule looks at unless it says otherwise

_YES = re.compile(
    r"(?:yes|accept|agree|allow|approve|trust|continue|proceed|confirm|ok(?:ay)?)\b", re.IGNORECASE
)
_NO = re.compile(
    r"(?:no|not|never|exit|quit|cancel|deny|decline|reject|refuse|abort|don.t)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"an?|and|are|be|by|can|does?|do|for|from|has|have|how|if?|in|is|its?|me|my|of|on|or|our|the|"
    r"this|that|to|want|was|what|which|will|with|would|your?"
)
_PART = re.compile(
    r"(?P<path>\S*/\S*|~\S*)|(?P<id>\S*(?:[^\W\d]\d|\d[^\W\d])\S*)|(?P<number>\d+)|(?P<blank>\s+)|"
    r"(?P<text>[^\s\d]+|.)"
)


def name_for(screen: Screen, options: Options | None, taken: Collection[str]) -> str:
    """Return a name for the rule, from the words of the screen, that nobody has yet."""
    rows = [line.label for line in _told(read_lines(screen.rows), options)]
    words = [w for row in rows[:1] for w in re.findall(r"[a-z]+", row.lower())]
    telling = [word for word in words if not _FILLER.fullmatch(word)] or words or ["screen"]
    name = ""
    for word in telling[:4]:
        longer = f"{name}-{word}".strip("-")
        name = longer if len(longer) <= LONGEST_NAME else name
    name = name or "screen"
    number = 1
    while (tried := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return tried


def patterns_for(
    screen: Screen, options: Options | None, found: Found | None, changed: Collection[int]
) -> list[str]:
    """Return regular expressions by which the screen can be told, the most telling first.

    Rows in `changed` are not used: they held a secret.
    """
    lines = read_lines(screen.rows)
    if found is not None:
        rows = [line for line in lines[: found.begin] if line.is_text][-2:][::-1]
        return _some(line.label for line in rows)
    usable = [line for n, line in enumerate(lines) if line.is_text and n not in changed]
    told = [line for line in _told(lines, options) if line in usable]
    labels: list[str] = []
    if options is not None:
        both = [_answer(options, _YES), _answer(options, _NO)]
        chosen = [option for option in both if option is not None] or options.options[:2]
        labels = [option.parts[0] for option in chosen if option.row not in changed]
    return _some([*(line.label for line in told[:1]), *labels, *(line.label for line in told[1:])])


def reach_of(screen: Screen, patterns: Sequence[str]) -> int:
    """Return how many rows from the bottom, empty ones not counted, hold all the patterns."""
    rows = screen.bottom(len(screen.rows))
    deepest = [
        next((n for n, row in enumerate(reversed(rows), 1) if re.search(pattern, row)), LINES)
        for pattern in patterns
    ]
    return max([LINES, *deepest])


def rule_text(
    name: str,
    kind: Kind,
    patterns: Sequence[str],
    *,
    has_box: bool,
    lines: int = LINES,
    options: Options | None = None,
    fixture: str,
) -> str:
    """Return the rule as TOML, with remarks for who completes it."""
    text = [f"[[rule]] # learned from {fixture}", f'name = "{name}"', f'kind = "{kind}"']
    in_turn = has_box and kind in (Kind.ERROR, Kind.LIMITED, Kind.AUTH)
    if kind is Kind.READY:
        text.append('region = "box"')
    elif in_turn:
        text += ['region = "turn"', "lines = 5", "box = true"]
    else:
        text.append('# region = "bottom" # or "screen", "box", "beneath", "turn", "title"')
        if lines > LINES:
            text.append(f"lines = {lines}")
    if kind not in (Kind.DIALOG, Kind.WAITING, Kind.READY) and not in_turn:
        text.append(f"box = {str(has_box).lower()}")
    if patterns and kind is not Kind.READY:
        text.append(f"match = [{', '.join(map(literal, patterns))}]")
        text.append("# unless = 'what never stands on this screen'")
    if kind is Kind.LIMITED:
        text.append("# resets = 'resets (?P<resets>.+)' # where it says when the limit ends")
    if kind is Kind.DIALOG:
        text += _answers(options)
    return "\n".join(text) + "\n"


def literal(pattern: str) -> str:
    """Return a regular expression as a TOML string."""
    return "'" + pattern.replace("'", r"\x27") + "'"


def _told(lines: Sequence[Line], options: Options | None) -> list[Line]:
    """Return the rows that say what the screen is about: the question first, then from below."""
    if options is None:
        rows = [line for line in lines if line.is_text and _is_telling(line.label)]
        asks = [line for line in rows[-LINES:] if line.text.rstrip().endswith("?")]
        return [*asks[-1:], *[line for line in rows[::-1] if line not in asks[-1:]]]
    above = [line for line in lines[: options.options[0].row] if line.is_text]
    above = [line for line in above[-LINES:] if _is_telling(line.label)]
    asks = [line for line in above if line.text.rstrip().endswith(("?", ":"))]
    beneath = [line for line in lines[options.end :] if line.is_text and _is_telling(line.label)]
    return [*(asks[-1:] or above[-1:]), *beneath]


def _is_telling(text: str) -> bool:
    return _letters(_pattern(text)) >= 6 and " " in text.strip()


def _some(texts: Iterator[str] | Sequence[str]) -> list[str]:
    patterns = dict.fromkeys(_pattern(text) for text in texts)
    telling = [pattern for pattern in patterns if _letters(pattern) >= 4]
    return (telling or [pattern for pattern in patterns if pattern])[:MOST_PATTERNS]


def _letters(pattern: str) -> int:
    return len(re.findall(r"[^\W\d_]", re.sub(r"\\[sSdw]", "", pattern)))


def _pattern(text: str) -> str:
    """Return a regular expression for a row, without what differs from time to time."""
    pattern = ""
    for part in _PART.finditer(text.strip()):
        match part.lastgroup:
            case "path" | "id":
                piece = r"\S+"
            case "number":
                piece = r"\d+"
            case "blank":
                piece = " " if part[0] == " " else r"\s+"
            case _:
                piece = re.sub(r"\\([-&#~])", r"\1", re.escape(part[0])).replace("'", ".")
        if len(pattern) + len(piece) > LONGEST_PATTERN:
            break
        pattern += piece
    return pattern.strip()


def _answers(options: Options | None) -> list[str]:
    told = [] if options is None else [f'"{option.label}"' for option in options.options]
    text = [f"# its options: {', '.join(told)}"] if told else []
    for key, word in (("accept", _YES), ("deny", _NO)):
        option = None if options is None else _answer(options, word)
        pattern = "" if option is None else f"^{_pattern(option.parts[0])}"
        if options is not None and option is not None:
            found = find(options, re.compile(pattern), denying=key == "deny")
            option = option if found is option else None
        if option is None:
            text.append(f"# {key} = '^the label of the option to choose'")
        else:
            text.append(f"{key} = {literal(pattern)}")
    if not told:
        text.append('# keys = ["Enter"] # to press where there are no options')
    text.append('policy = "ask" # "accept" or "deny" once you are sure of the above')
    return text


def _answer(options: Options, word: re.Pattern[str]) -> Option | None:
    """Return the only option that begins with such a word."""
    found = [option for option in options.options if word.match(option.label)]
    return found[0] if len(found) == 1 else None
