"""One city's part of a cluster: everything that is made once and shared by all calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from gascity.errors import ProviderError, ProviderUnavailable
from gascity.screens.screen import Screen
from gascity.session.provider import CityContext
from gascity.session.tmux import screen
from gascity_kubernetes import names, state
from gascity_kubernetes.api import Api
from gascity_kubernetes.birth import Births
from gascity_kubernetes.hands import Hands
from gascity_kubernetes.inside import Inside
from gascity_kubernetes.listing import list_pods
from gascity_kubernetes.manifest import City
from gascity_kubernetes.pods import Pods
from gascity_kubernetes.podtmux import PodPane, PodTmux
from gascity_kubernetes.pulse import Pulse
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import CONTAINER, Pod

NODE = 5.0  # seconds for a node to tell what a pod had shown
ASKED = 5.0  # seconds for a cluster to show that it is there


class Cluster:
    """What a provider works with. `listeners` are called whenever something may have changed."""

    def __init__(self, context: CityContext, settings: Settings) -> None:
        path = os.path.dirname(os.path.abspath(context.state_dir))
        self.city = City(context.city, context.city_id, path)
        self.api = Api(settings, context.fence)
        self._selector = names.selector(context.city_id)
        self.pods = Pods(lambda: self.api, self._selector)
        self.hands = Hands(self.api)
        self.births = Births(self.city, settings, self.api, self.pods, self.hands)
        self.inside = Inside(self.api, self.pods, self.hands, self.births)
        self.listeners: set[Callable[[], None]] = set()
        self.pulse = Pulse(self.inside, self.known, self._tell)
        self._is_followed = False

    def about(self) -> str:
        """Say which cluster it is, and that it would take a pod of this city.

        Raises ProviderError, with the reason, when it would not or does not answer.
        """
        version = self.api.request("GET", "/version", timeout=ASKED).get("gitVersion", "")
        self.births.rehearse()
        image = self.births.settings.image
        return f"Kubernetes {version} at {self.api.about()}; it takes pods of {image}"

    def follow(self) -> None:
        """Have the API tell of every change from now on, and feel the pulse of what lives."""
        self.pods.listeners.add(self._tell)
        self.pods.follow()
        self._is_followed = True
        self.pulse.begin()

    def known(self, deadline: float) -> Iterable[Pod]:
        """Return the city's pods: what the watch told, or one list where nobody watches."""
        if self._is_followed:
            return self._ours(self.pods.all(deadline=deadline).values())
        return self.listed(deadline)

    def listed(self, deadline: float) -> Iterable[Pod]:
        """Return the city's pods as the API lists them at this moment."""
        found, _ = list_pods(self.api, {"labelSelector": self._selector}, deadline)
        return self._ours(found.values())

    def _ours(self, pods: Iterable[Pod]) -> list[Pod]:
        """Return those that carry a session, and not a copy that somebody made of one."""
        return [
            pod
            for pod in pods
            if state.owner(pod) == self.city.id
            and pod["metadata"]["name"] == names.pod_name(self.city.id, state.session_of(pod))
        ]

    def tmux(self) -> PodTmux:
        """Return what reaches the tmux of one pod, whichever is looked for."""
        return PodTmux(self.births.pod_of, self.hands)

    def look(self, pod: Pod, name: str, deadline: float) -> Screen | None:
        """Return what one session shows; None when it cannot be told at the moment."""
        from gascity.session.tmux.terminal import look_at  # noqa: PLC0415  who only looks

        pane = PodPane(name, pod)
        tmux = PodTmux(lambda *_: pod, self.hands)
        tmux.find(name, deadline)
        try:
            return look_at(tmux, [pane], deadline).get(name)
        except ProviderUnavailable:
            return None

    def log(self, pod: Pod, deadline: float) -> str:
        """Return all that the agent of a pod which ended had shown; its last words at least.

        Its node may be no more: it is given little time to answer, and need not.
        """
        path = self.api.pod_path(str(pod["metadata"]["name"])) + "/log"
        try:
            said = self.api.request_text(
                "GET",
                path,
                query={"container": CONTAINER},
                timeout=max(min(deadline - time.monotonic(), NODE), 0.01),
            )
        except ProviderError:
            said = ""
        lines = screen.trimmed(said.encode().split(b"\n"))
        return "\n".join(lines) if lines else state.last_words(pod)

    def close(self) -> None:
        """Let go of everything; no pod is touched."""
        self.pulse.close()
        self.pods.close()
        self.hands.close()
        self.api.close()

    def _tell(self) -> None:
        for listener in tuple(self.listeners):
            listener()
