"""Asking a city's controller. Light: the quickest commands load little else."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gascity.errors import HungUp, NotLeading, NotRunning, Unanswered, Unheard, Unreachable

TYPE_CHECKING = False  # typing, which has it, is slow to import
if TYPE_CHECKING:
    from gascity.asking import Client

PING_TIMEOUT = 10.0
_READING = frozenset({"drain_check", "nudges", "plan", "reported", "status", "why"})
_WITHOUT = "`gc health`, `gc events` and `gc metrics` work without it"
_LATER = "what was asked may still happen"
_NO = frozenset({"", "0", "f", "false", "n", "no", "off"})


def ask_controller(
    state: str, method: str, params: Mapping[str, object], *, timeout: float
) -> object:
    """Return the controller's answer; `state` is the city's `.gc` folder.

    Raises NotRunning when there is no controller, Unanswered when there is one that does not
    answer, HungUp when it ends meanwhile, RemoteError when it says no, and NotLeading, for what
    changes something, as `refuse_alone` does. `stop` returns when the controller's process is gone.
    One that ends and did nothing yet is none: then it is asked once more, by whoever is there.
    """
    path = os.path.join(state, "controller.sock")
    nobody = NotRunning("no controller runs for this city", hint="`gc start --detach` starts one")
    if not os.path.exists(path):
        raise _instead(nobody, method)
    try:
        try:
            return _asked(path, method, params, timeout)
        except HungUp as problem:
            if method not in _READING and not isinstance(problem, Unheard):
                raise
            return _asked(path, method, params, timeout)
    except HungUp as problem:
        raise HungUp(
            "the controller of this city ended before it answered",
            hint="what was asked may have been done, or a part of it; `gc status` tells",
        ) from problem
    except Unanswered as problem:
        reads = method in _READING
        raise Unanswered(
            "the controller of this city does not answer",
            hint=f"its pid is in .gc/controller.lock; {_WITHOUT if reads else _LATER}",
        ) from problem
    except Unreachable as problem:
        raise _instead(nobody, method) from problem


def _asked(path: str, method: str, params: Mapping[str, object], timeout: float) -> object:
    """Return the answer of whoever listens there; raises as `Client.call` does."""
    from gascity.asking import Client

    client = Client(path)
    try:
        if timeout > PING_TIMEOUT:  # an answer may take long, but somebody has to be there
            _ping(client)
        answered = client.call(method, params, timeout=timeout)
        if method == "stop":
            client.wait_for_end(timeout=PING_TIMEOUT)
        return answered
    finally:
        client.close()


def _ping(client: Client) -> None:
    try:
        client.call("ping", {}, timeout=PING_TIMEOUT)
    except HungUp as problem:  # nothing was asked but that
        raise Unheard(problem.message) from problem


def refuse_alone() -> None:
    """Raise NotLeading where a leader is elected: it is not here, and acts from elsewhere.

    What would be done from here it would undo, and what would be kept here it would never see.
    """
    if os.environ.get("GC_LEADER_ELECT", "").lower() not in _NO:
        raise NotLeading(
            "no controller leads here, so nothing is changed from here",
            hint="`kubectl get lease` names the pod of the one that leads: ask there",
        )


def _instead(nobody: NotRunning, method: str) -> NotRunning:
    if method not in _READING:
        refuse_alone()
    return nobody
