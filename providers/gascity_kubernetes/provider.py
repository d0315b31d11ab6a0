"""The session provider `kubernetes`: one pod per agent, which runs in a tmux inside it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from gascity.core.model import SessionConfig
from gascity.core.observed import BACKEND, SessionState
from gascity.errors import (
    ProviderError,
    SessionExists,
    SessionNotFound,
    StartFailed,
)
from gascity.screens.screen import Screen
from gascity.session.leadership import Leadership
from gascity.session.locks import AT_ONCE, SessionBusy, session_lock
from gascity.session.provider import CityContext
from gascity.session.tmux.contract import Tmux
from gascity.session.tmux.problems import Lost
from gascity.session.tmux.provider import InTmux
from gascity.session.watch import SeenCallback, Watch
from gascity_kubernetes import entry, names, state, viewing
from gascity_kubernetes.cluster import Cluster
from gascity_kubernetes.podtmux import PodPane, PodTmux
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import Pod
from gascity_kubernetes.watching import PodWatch


class Provider(InTmux[PodPane]):
    """Sessions in pods."""

    name = "kubernetes"
    is_local = False
    ending = 60.0
    lasting = frozenset({"namespace", "context", "kubeconfig", "lease"})

    def __init__(self, context: CityContext) -> None:
        super().__init__(context)
        self.settings = _settings(context)
        self._lock = threading.Lock()
        self._made: Cluster | None = None
        self._words: dict[str, str] = {}

    def use(self, context: CityContext) -> None:
        """Make pods by other settings from now on; those there are have drifted."""
        super().use(context)
        self.settings = _settings(context)
        if self._made is not None:
            self._made.births.settings = self.settings

    @classmethod
    def unavailable(cls) -> str:
        """Say why Kubernetes cannot be used here."""
        if importlib.util.find_spec("kubernetes") is None:
            return "its Python package is not installed: pip install 'gascity[kubernetes]'"
        return ""

    @classmethod
    def check_settings(cls, settings: Mapping[str, object], folder: str = "") -> None:
        """Refuse a table `[session.kubernetes]` that makes no sense."""
        Settings.read(settings, os.environ, folder=folder).check_image()

    @classmethod
    def shape(cls, settings: Mapping[str, object], folder: str) -> Mapping[str, str]:
        """Return what makes a pod: a pod with another image has drifted."""
        return Settings.read(settings, os.environ, folder=folder).shape()

    @classmethod
    def sources(cls, settings: Mapping[str, object], folder: str) -> tuple[str, ...]:
        """Return the pod template."""
        path = Settings.read(settings, os.environ, folder=folder).pod_template
        return (path,) if path else ()

    @classmethod
    def leadership(cls, context: CityContext) -> Leadership:
        """Return a claim to the lease of the city."""
        from gascity_kubernetes.lease import claim  # noqa: PLC0415  who stands alone needs none

        return claim(context)

    def about(self) -> str:
        """Say which cluster it is, and that it would take a pod of this city."""
        return self._cluster.about()

    def close(self) -> None:
        """Let go of connections. Sessions are not touched."""
        if self._made is not None:
            self._made.close()

    @property
    def _cluster(self) -> Cluster:
        """The cluster, met when it is first needed: that costs half a second."""
        with self._lock:
            if self._made is None:
                self._made = Cluster(self.context, self.settings)
            return self._made

    # --- life

    def start(self, name: str, config: SessionConfig, *, timeout: float) -> None:
        """Bring a session up; see the contract."""
        from gascity.session.startup import bring_up  # noqa: PLC0415  who only looks needs none
        from gascity_kubernetes.target import PodTarget  # noqa: PLC0415  likewise

        deadline = time.monotonic() + timeout
        cluster = self._cluster
        with self._lock:
            self._words.pop(name, None)
        try:
            with session_lock(self.context.state_dir, name, AT_ONCE, purpose="start"):
                self._keep_words(name, deadline)
                pod = cluster.births.prepare(name, config, deadline=deadline)
                prompt = config.hints.ready_prompt_prefix
                target = PodTarget(
                    self,
                    name,
                    config,
                    pod,
                    cluster.inside,
                    self.settings,
                    rules=self.context.screens.of(config.meta.get(BACKEND, ""), prompt),
                    hold=partial(session_lock, self.context.state_dir, name),
                    greet=partial(self._talker().nudge, inside=True),
                    city=cluster.city,
                    deadline=deadline,
                )
                try:
                    bring_up(name, config, target, timeout=deadline - time.monotonic())
                except StartFailed as failure:
                    cluster.births.discard(pod, failure)
                    raise
        except SessionBusy as problem:
            raise SessionExists(f"session {name} is being started by someone else") from problem

    def stop(self, name: str, *, grace: float, timeout: float) -> None:
        """Delete the pod with grace, and return when it is gone; see the contract."""
        deadline = time.monotonic() + timeout
        pod = self._pod(name, deadline)
        if pod is not None:
            self._cluster.births.remove(pod, grace=grace, deadline=deadline)

    # --- questions

    def observe(self, *, timeout: float) -> Mapping[str, SessionState]:
        """Return every session: from one list, or from the watch that followed it."""
        now = time.time()
        cluster = self._cluster
        pods = cluster.known(time.monotonic() + timeout)
        return {
            found.name: cluster.pulse.felt(found, pod)
            for pod in pods
            if (found := state.session_state(pod, now)).name
        }

    def watch(
        self,
        wake: Callable[[], None],
        *,
        seen: SeenCallback | None = None,
        interval: float = 1.0,  # noqa: ARG002  the API tells by itself
    ) -> Watch:
        """Call `wake` whenever a pod changed, or the API is lost or back; see `PodWatch`."""
        return PodWatch(self._cluster, wake, seen)

    def is_running(self, name: str, *, timeout: float) -> bool:
        """Tell whether the pod is up and its agent lives."""
        pod = self._pod(name, time.monotonic() + timeout)
        return pod is not None and viewing.runs(pod)

    def process_alive(self, name: str, wanted: Sequence[str], *, timeout: float) -> bool:
        """Tell whether one of the names lives in the agent's process tree."""
        deadline = time.monotonic() + timeout
        pod = self._pod(name, deadline)
        if pod is None or not viewing.runs(pod):
            return False
        return viewing.has_program(self._cluster, pod, wanted, deadline)

    def processes_alive(
        self, wanted: Mapping[str, Sequence[str]], *, timeout: float
    ) -> Mapping[str, bool]:
        """Answer for several sessions, side by side."""
        return viewing.processes_alive(self._cluster, wanted, time.monotonic() + timeout)

    def list_running(self, prefix: str, *, timeout: float) -> list[str]:
        """Return the sorted names of the sessions that run."""
        pods = self._cluster.listed(time.monotonic() + timeout)
        running = (state.session_of(pod) for pod in pods if viewing.runs(pod))
        return sorted(name for name in running if name.startswith(prefix))

    def last_activity(self, name: str, *, timeout: float) -> float | None:
        """Return when the session last showed something."""
        deadline = time.monotonic() + timeout
        pod = self._pod(name, deadline)
        if pod is None or not viewing.runs(pod):
            return None
        try:
            return self._cluster.pulse.take(pod, deadline=deadline).activity
        except (Lost, SessionNotFound):
            return None

    # --- talk

    def attach(self, name: str, *, read_only: bool = False) -> int:
        """Give the caller's terminal to the session until it detaches."""
        pod = self._pod(name, time.monotonic() + 5.0)
        if pod is None or not viewing.runs(pod):
            raise SessionNotFound(f"there is no session {name} that runs")
        from gascity_kubernetes.attach import attach  # noqa: PLC0415  rarely needed

        return attach(self._cluster.api, pod, read_only=read_only)

    def screens(
        self, wanted: Sequence[str], *, since: float | None = None, timeout: float
    ) -> Mapping[str, Screen]:
        """Return what several sessions show, side by side; not what showed nothing new."""
        return viewing.screens(self._cluster, wanted, since, time.monotonic() + timeout)

    def peek(self, name: str, lines: int, *, timeout: float, colours: bool = False) -> str:
        """Return the last lines the session showed; of one that ended, what its pod kept."""
        deadline = time.monotonic() + timeout
        return viewing.peek(self._cluster, name, lines, deadline, colours=colours)

    # --- metadata

    def set_meta(self, name: str, key: str, value: str, *, timeout: float) -> None:
        """Store a value as an annotation, and lay it out for the agent where it may ask for it."""
        if not self._change_meta(name, key, value, timeout):
            raise SessionNotFound(f"there is no session {name}")

    def get_meta(self, name: str, key: str, *, timeout: float) -> str | None:
        """Return a stored value."""
        pod = self._pod(name, time.monotonic() + timeout)
        return None if pod is None else state.meta(pod).get(key)

    def remove_meta(self, name: str, key: str, *, timeout: float) -> None:
        """Forget a key."""
        self._change_meta(name, key, None, timeout)

    def copy_to(self, name: str, src: str, rel_dst: str, *, timeout: float) -> None:
        """Copy a file or folder into the session's work folder, over what is there."""
        deadline = time.monotonic() + timeout
        pod = self._pod(name, deadline)
        if pod is None or not viewing.runs(pod) or not os.path.exists(src):
            return
        left = deadline - time.monotonic()
        try:
            self._cluster.inside.place(pod, src, rel_dst, overwrite=True, timeout=left)
        except OSError as problem:
            raise ProviderError(f"{src} was not copied to session {name}: {problem}") from problem

    # --- how

    def _tmux(self) -> PodTmux:
        return self._cluster.tmux()

    def _do(self, tmux: Tmux[PodPane], pane: PodPane, line: str, deadline: float) -> None:
        viewing.do(self._cluster, tmux, pane, line, deadline)

    def _take_words(self, name: str) -> str:
        with self._lock:
            return self._words.pop(name, "")

    def _pod(self, name: str, deadline: float) -> Pod | None:
        return self._cluster.births.pod_of(name, deadline)

    def _change_meta(self, name: str, key: str, value: str | None, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        annotation = names.annotation(key)
        pod = self._pod(name, deadline)
        if pod is None:
            return False
        cluster = self._cluster
        left = max(deadline - time.monotonic(), 0.01)
        if cluster.births.patch(pod, {annotation: value}, timeout=left) is None:
            return False
        if key in entry.MIRRORED and state.is_reachable(pod):
            with contextlib.suppress(Lost, SessionNotFound):  # it has ended: nobody inside asks
                cluster.inside.mirror(pod, key, value, deadline=deadline)
        return True

    def _keep_words(self, name: str, deadline: float) -> None:
        """Keep what the pod that is replaced showed last."""
        pod = self._pod(name, deadline)
        if pod is not None and state.is_over(pod):
            words = self._cluster.log(pod, deadline)
            with self._lock:
                self._words[name] = words


def _settings(context: CityContext) -> Settings:
    folder = os.path.dirname(os.path.abspath(context.state_dir))
    return Settings.read(context.settings, os.environ, folder=folder)
