"""What an answer of the API means, and what was being done when it came, in plain words.

Pure: texts and numbers in, a `problems` class out. A status that says the API is not able to
answer (429, 5xx) is silence; one that says no is a refusal; one that says "not you" is neither,
for then nothing is known about what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gascity.errors import ProviderError
from gascity_kubernetes.problems import Absent, ApiRefused, ApiSilent, Expired, Forbidden, Taken

_REFUSALS = {404: Absent, 409: Taken, 410: Expired}
_DOING = {"POST": "creating", "PUT": "replacing", "PATCH": "changing", "DELETE": "deleting"}
_LONGEST = 300


def doing(method: str, path: str) -> str:
    """Return what a request does, as in "listing pods" or "changing pod one"."""
    things, name, part = _parts(path)
    if not things:
        return f"reading {path}"
    verb = _DOING.get(method, "reading" if name else "listing")
    if part == "exec":
        return f"running a program in pod {name}"
    if not name:
        return f"{verb} {things}"
    return f"{verb} {part + ' of ' if part else ''}{things.removesuffix('s')} {name}"


def kind(method: str, path: str) -> str:
    """Return which kind of request it is: write, list, get, or probe for no object at all."""
    if method != "GET":
        return "write"
    things, name, _ = _parts(path)
    if not things:
        return "probe"
    return "get" if name else "list"


def problem(where: str, what: str, status: int, body: bytes) -> ProviderError:
    """Return what to raise for an answer that is not a success.

    `where` is the API's address, `what` what was being done, `body` the answer's text.
    """
    said = read_object(body)
    message = _sentence(said, body)
    told = f": {message}" if message else ""
    if status == 401:
        return Forbidden(
            f"the Kubernetes API at {where} does not accept our credentials while {what}{told}",
            hint="have the credentials expired? `kubectl get pods` uses the same",
        )
    if status == 403:
        return Forbidden(
            f"the Kubernetes API at {where} does not allow {what}{told}",
            hint="the user or service account needs a role that allows it",
        )
    if status == 429 or status >= 500:
        return ApiSilent(f"the Kubernetes API at {where} cannot answer ({status}) {what}{told}")
    reason = str(said.get("reason") or "")
    refusal = _REFUSALS.get(status, ApiRefused)
    told = message or f"the Kubernetes API at {where} said no"
    return refusal(f"{told} ({status}, while {what})", status=status, reason=reason)


def read_object(body: bytes) -> dict[str, Any]:  # Any: it is JSON
    """Return the JSON object in a body; an empty one if there is none."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _sentence(said: Mapping[str, Any], body: bytes) -> str:
    text = said.get("message")
    if not isinstance(text, str) or not text:
        text = "" if said else body.decode("utf-8", "replace")
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "..."


def _parts(path: str) -> tuple[str, str, str]:
    """Return the resource, the name and the subresource that a path is about."""
    match path.strip("/").split("/"):
        case ["api", _, *rest] | ["apis", _, _, *rest]:
            if rest[:1] == ["namespaces"] and len(rest) > 2:
                rest = rest[2:]
            things, name, part, *_ = [*rest, "", "", ""]
            return things, name, part
        case _:
            return "", "", ""
