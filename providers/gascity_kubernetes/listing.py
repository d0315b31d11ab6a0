"""All pods of a selector, in as many pages as the API makes of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from gascity_kubernetes.api import Api
from gascity_kubernetes.problems import ApiSilent, Expired

_PAGE = 500
_TRIES = 3


def list_pods(
    api: Api, query: Mapping[str, str], deadline: float
) -> tuple[dict[str, Mapping[str, Any]], str]:  # Any: it is JSON
    """Return the pods by name, and the version at which they were so.

    It is what holds now, not what some server remembers. Raises as `Api.request` does.
    """
    for _ in range(_TRIES):
        try:
            return _pages(api, query, deadline)
        except Expired:
            continue  # the pages were older than the API remembers: from the start
    raise ApiSilent(f"the Kubernetes API forgets its pages before they are read ({api.about()})")


def _pages(
    api: Api, query: Mapping[str, str], deadline: float
) -> tuple[dict[str, Mapping[str, Any]], str]:
    found: dict[str, Mapping[str, Any]] = {}
    more = ""
    while True:
        asked = {**query, "limit": str(_PAGE), **({"continue": more} if more else {})}
        left = max(deadline - time.monotonic(), 0.001)
        page = api.request("GET", api.pod_path(), query=asked, timeout=left)
        about = page.get("metadata") or {}
        for pod in page.get("items") or []:
            pod["metadata"].pop("managedFields", None)  # half of a pod, and nobody reads it
            found[pod["metadata"]["name"]] = pod
        more = about.get("continue") or ""
        if not more:
            return found, str(about.get("resourceVersion") or "")
