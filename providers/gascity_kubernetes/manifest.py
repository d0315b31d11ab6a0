"""From a session to its pod: a pure function, tested without a cluster.

Nothing of an agent's environment or command stands in the pod: those go over exec when it starts,
so no value that is meant for the agent alone can be read from the cluster's database. What the pod
template says is the ground; what we say stands above it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gascity.core.model import SessionConfig
from gascity.core.observed import AGENT
from gascity.errors import StartFailed
from gascity_kubernetes import entry, names
from gascity_kubernetes.merge import merged
from gascity_kubernetes.references import EnvFrom, Toleration, Volume
from gascity_kubernetes.settings import Settings
from gascity_kubernetes.state import CONTAINER, Pod

SPEC = f"{names.DOMAIN}/spec"
RUN_VOLUME = "gascity-run"
WORK_VOLUME = "gascity-workspace"
MOST_META = 250_000  # bytes; Kubernetes takes 256 KiB of annotations


@dataclass(frozen=True, slots=True)
class City:
    """The city a pod belongs to; `path` is its folder on the controller's machine."""

    name: str
    id: str
    path: str


def pod(
    session: str, config: SessionConfig, city: City, settings: Settings, token: str
) -> dict[str, Any]:
    """Return the pod that carries a session. Raises StartFailed for what no pod can be."""
    settings.check_image()
    agent = config.meta.get(AGENT, session)
    meta = {names.annotation(key): value for key, value in config.meta.items()}
    if sum(len(key) + len(value.encode()) for key, value in meta.items()) > MOST_META:
        raise StartFailed(f"session {session}: its metadata is more than a pod can hold")
    ours = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": names.pod_name(city.id, session),
            "namespace": settings.namespace,
            "labels": {
                names.CITY: names.label(city.name),
                names.CITY_ID: names.owner(city.id),
                names.AGENT: names.label(agent),
                names.APP_LABEL: names.APP,
                names.SESSION_LABEL: names.label(session),
                names.AGENT_LABEL: names.label(agent),
            },
            "annotations": {
                names.SESSION: session,
                names.SESSION_ANNOTATION: session,
                names.AGENT: agent,
                names.CITY_ID: city.id,
                names.WORK_DIR: inside_path(config.work_dir, city.path, place_of(city, settings)),
                **meta,
            },
        },
        "spec": _spec(settings),
    }
    whole = merged(settings.pod_base(), ours)
    whole["metadata"]["annotations"][SPEC] = _digest(whole["spec"])
    whole["metadata"]["annotations"][names.TOKEN] = token
    container = next(one for one in whole["spec"]["containers"] if one["name"] == CONTAINER)
    container["command"] = ["/bin/sh", "-c", entry.script(token, settings.history)]
    container.pop("args", None)
    return whole


def spec_of(found: Pod) -> str:
    """Return what a pod was made like: two that are equal were meant to be the same."""
    return str((found["metadata"].get("annotations") or {}).get(SPEC, ""))


def place_of(city: City, settings: Settings) -> str:
    """Return where the city's folder stands in a pod: where it is, if a volume brings it there."""
    is_brought = any(_holds(volume.mount, city.path) for volume in settings.volumes)
    return city.path if is_brought else settings.workspace


def inside_path(path: str, city_path: str, workspace: str) -> str:
    """Return where a path of this machine is in a pod: what lies in the city, in the workspace."""
    whole = os.path.normpath(path)
    if whole == city_path:
        return workspace
    if whole.startswith(city_path.rstrip("/") + "/"):
        return os.path.join(workspace, os.path.relpath(whole, city_path))
    return whole


def environment(env: Mapping[str, str], city_path: str, workspace: str) -> dict[str, str]:
    """Return an agent's environment with the paths that `gc` itself put in as they are in a pod."""
    paths = ("GC_CITY_PATH", "GC_DIR")
    return {
        key: inside_path(value, city_path, workspace) if key in paths else value
        for key, value in env.items()
    }


def _spec(settings: Settings) -> dict[str, Any]:
    mounts = [
        {"name": RUN_VOLUME, "mountPath": entry.HOME},
        *(_mount(volume) for volume in settings.volumes),
    ]
    volumes: dict[str, dict[str, Any]] = {
        # In memory: the socket, the flags, and the command of an agent while it starts.
        RUN_VOLUME: {"name": RUN_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}
    }
    if not any(_holds(volume.mount, settings.workspace) for volume in settings.volumes):
        mounts.append({"name": WORK_VOLUME, "mountPath": settings.workspace})
        volumes[WORK_VOLUME] = {"name": WORK_VOLUME, "emptyDir": {}}
    for volume in settings.volumes:
        volumes.setdefault(volume.name, _volume(volume))
    container = {
        "name": CONTAINER,
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "volumeMounts": mounts,
        "resources": _resources(settings),
        "env": [
            {
                "name": one.name,
                "valueFrom": {"secretKeyRef": {"name": one.secret, "key": one.key}},
            }
            for one in settings.secret_env
        ],
        "envFrom": [_env_from(one) for one in settings.env_from],
        "terminationMessagePath": entry.MESSAGE,
        "terminationMessagePolicy": "File",
    }
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "enableServiceLinks": False,
        # An agent that has no account of its own gets no way into the cluster either.
        "automountServiceAccountToken": bool(settings.service_account),
        "containers": [{key: value for key, value in container.items() if value}],
        "volumes": list(volumes.values()),
        "serviceAccountName": settings.service_account,
        "nodeSelector": dict(settings.node_selector),
        "tolerations": [_toleration(one) for one in settings.tolerations],
        "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
    }
    return {key: value for key, value in spec.items() if value or isinstance(value, bool)}


def _resources(settings: Settings) -> dict[str, dict[str, str]]:
    wanted = {
        "requests": {"cpu": settings.cpu_request, "memory": settings.memory_request},
        "limits": {"cpu": settings.cpu_limit, "memory": settings.memory_limit},
    }
    kept = {kind: {k: v for k, v in amounts.items() if v} for kind, amounts in wanted.items()}
    return {kind: amounts for kind, amounts in kept.items() if amounts}


def _mount(volume: Volume) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": volume.name, "mountPath": volume.mount}
    if volume.read_only:
        mount["readOnly"] = True
    if volume.sub_path:
        mount["subPath"] = volume.sub_path
    return mount


def _volume(volume: Volume) -> dict[str, Any]:
    if volume.secret:
        return {"name": volume.name, "secret": {"secretName": volume.secret}}
    if volume.config_map:
        return {"name": volume.name, "configMap": {"name": volume.config_map}}
    if volume.claim:
        return {"name": volume.name, "persistentVolumeClaim": {"claimName": volume.claim}}
    if volume.host_path:
        return {"name": volume.name, "hostPath": {"path": volume.host_path}}
    return {"name": volume.name, "emptyDir": {}}


def _env_from(one: EnvFrom) -> dict[str, Any]:
    kind = "secretRef" if one.secret else "configMapRef"
    source: dict[str, Any] = {"name": one.secret or one.config_map}
    if one.optional:
        source["optional"] = True
    return {kind: source, **({"prefix": one.prefix} if one.prefix else {})}


def _toleration(one: Toleration) -> dict[str, Any]:
    found = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    kept: dict[str, Any] = {key: value for key, value in found.items() if value}
    if one.toleration_seconds is not None:
        kept["tolerationSeconds"] = one.toleration_seconds
    return kept


def _holds(mount: str, path: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def _digest(spec: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
