"""What sessions show and which programs they run, several of them side by side."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from gascity.core.observed import Alive, Standing
from gascity.errors import ProviderUnavailable, SessionNotFound
from gascity.screens.screen import Screen
from gascity.session import processes
from gascity.session.tmux import screen
from gascity.session.tmux.contract import Tmux
from gascity.session.tmux.problems import Lost
from gascity_kubernetes import state
from gascity_kubernetes.cluster import Cluster
from gascity_kubernetes.podtmux import PodPane
from gascity_kubernetes.problems import ApiSilent
from gascity_kubernetes.state import Pod

TOGETHER = 16  # pods that are looked into at once
ENDING = 1.0  # seconds for what a dying pod is asked
HEARD = 3.0  # seconds for the API to hear of an end


def runs(pod: Pod) -> bool:
    """Tell whether the agent of a pod was started and lives, as far as anybody knows."""
    found = state.session_state(pod, time.time())
    return isinstance(found.life, Alive) and found.standing in (Standing.UP, Standing.LOST)


def peek(cluster: Cluster, name: str, lines: int, deadline: float, *, colours: bool) -> str:
    """Return the last lines a session showed; of one that ended, what its pod kept."""
    patience = ENDING
    while (pod := cluster.births.pod_of(name, deadline)) is not None:
        if state.is_over(pod):
            return last(cluster.log(pod, deadline), lines)
        if not state.is_staged(pod):
            return ""  # nothing of it has begun yet
        try:
            soon = min(deadline, time.monotonic() + patience)
            return screen.peek(cluster.tmux(), name, lines, soon, colours=colours)
        except (ApiSilent, Lost, SessionNotFound):  # it ends unheard of by the API, or is slow
            if time.monotonic() >= deadline:
                raise
        patience *= 2
        time.sleep(0.05)  # nothing tells when it has
    raise SessionNotFound(f"there is no session {name}")


def screens(
    cluster: Cluster, names: Sequence[str], since: float | None, deadline: float
) -> Mapping[str, Screen]:
    """Return what several sessions show; not of those that showed nothing new."""
    pods = {state.session_of(pod): pod for pod in cluster.known(deadline) if runs(pod)}
    asked = [name for name in names if name in pods and cluster.pulse.is_new(pods[name], since)]
    with ThreadPoolExecutor(TOGETHER) as pool:
        shown = pool.map(lambda name: cluster.look(pods[name], name, deadline), asked)
        return {name: seen for name, seen in zip(asked, shown, strict=True) if seen is not None}


def processes_alive(
    cluster: Cluster, wanted: Mapping[str, Sequence[str]], deadline: float
) -> Mapping[str, bool]:
    """Tell of several sessions whether one of the wanted programs lives in them.

    Those that cannot be asked are left out; raises ProviderUnavailable when none can be.
    """
    pods = {state.session_of(pod): pod for pod in cluster.known(deadline) if runs(pod)}

    def is_alive(name: str) -> bool | ProviderUnavailable:
        try:
            return name in pods and has_program(cluster, pods[name], wanted[name], deadline)
        except ProviderUnavailable as problem:
            return problem

    with ThreadPoolExecutor(TOGETHER) as pool:
        told = dict(zip(wanted, pool.map(is_alive, wanted), strict=True))
    known = {name: said for name, said in told.items() if isinstance(said, bool)}
    problems = [said for said in told.values() if not isinstance(said, bool)]
    if problems and not known:
        raise problems[0]
    return known


def has_program(cluster: Cluster, pod: Pod, wanted: Sequence[str], deadline: float) -> bool:
    """Tell whether one of the names lives in the agent's process tree; no names: it runs.

    Raises ProviderUnavailable when it cannot be asked: only the API's word that it ended counts.
    """
    if not wanted:
        return True
    for may_repeat in (True, False):
        try:
            return processes.matches(wanted, cluster.pulse.programs(pod, deadline=deadline))
        except (Lost, SessionNotFound) as problem:
            if may_repeat:
                continue  # with another hand
            until = min(deadline, time.monotonic() + HEARD)
            if isinstance(cluster.inside.end_of(pod, deadline=until), Alive):
                raise ApiSilent(f"what runs in a pod is not known: {problem}") from problem
    return False


def do(cluster: Cluster, tmux: Tmux[PodPane], pane: PodPane, line: str, deadline: float) -> None:
    """Have a pane's tmux do a line; nothing happens where its agent has ended meanwhile."""
    try:
        tmux.do(line, deadline, of=pane)
    except Lost:
        until = min(deadline, time.monotonic() + HEARD)
        if isinstance(cluster.inside.end_of(pane.pod, deadline=until), Alive):
            raise


def last(text: str, lines: int) -> str:
    """Return the last lines of a text, all of them when `lines` is not positive."""
    kept = text.splitlines()
    return "\n".join(kept[-lines:] if lines > 0 else kept)
