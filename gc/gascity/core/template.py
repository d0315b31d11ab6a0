"""`{{.Var}}` in the texts of a city: expanded, or refused with a reason.

Nothing is left standing: a variable nobody knows, or a `{{` without its end, is an error and never
reaches a shell. `{{"{{"}}` writes two braces. A lone `}}` is plain text, as JSON is full of them.
Values go in as they are: whoever expands into a shell text writes the quotes around it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

_OPEN = "{{"
_FIELD = re.compile(r'\{\{\s*(?:\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|"(?P<braces>\{\{)")\s*\}\}')
_SHOWN = 40  # characters of a broken template that are worth showing


class TemplateError(ValueError):
    """A text that cannot be expanded; `offset` is where in it the trouble begins."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return `text` with every `{{.Var}}` replaced, in one pass: values are not expanded again.

    Raises TemplateError for a variable that is not in `variables` and for braces that do not form
    a template.
    """
    parts: list[str] = []
    done = 0
    while (start := text.find(_OPEN, done)) >= 0:
        field = _FIELD.match(text, start)
        if field is None:
            raise TemplateError(_unreadable(text, start, variables), start)
        name = field["name"]
        if name is not None and name not in variables:
            raise TemplateError(_unknown(name, variables), start)
        parts += (text[done:start], field["braces"] if name is None else variables[name])
        done = field.end()
    return "".join((*parts, text[done:])) if parts else text


def _unreadable(text: str, start: int, variables: Mapping[str, str]) -> str:
    line = text[start : start + _SHOWN].split("\n", 1)[0]
    end = line.find("}}")
    if end < 0:
        return 'a "{{" has no "}}" to close it on the same line'
    example = next(iter(variables), "Name")
    return (
        f'"{line[: end + 2]}" is not a template; '
        f'write {{{{.{example}}}}} for a value, or {{{{"{{{{"}}}} for two braces'
    )


def _unknown(name: str, variables: Mapping[str, str]) -> str:
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    close = difflib.get_close_matches(name[:_SHOWN], variables, n=1, cutoff=0.5)
    if close:
        return f'unknown variable "{{{{.{shown}}}}}"; did you mean "{{{{.{close[0]}}}}}"?'
    known = " ".join(f"{{{{.{variable}}}}}" for variable in variables)
    return f'unknown variable "{{{{.{shown}}}}}"; there are {known or "none here"}'
