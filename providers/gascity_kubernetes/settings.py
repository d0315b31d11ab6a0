"""The table `[session.kubernetes]`, and the environment variables that stand above it.

Frozen and made of plain values, so that two of them can be compared: what a reload changed is
what differs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

from gascity.errors import ConfigError
from gascity_kubernetes.quantities import read_quantity
from gascity_kubernetes.references import EnvFrom, SecretEnv, Toleration, Volume
from gascity_kubernetes.tables import Table, is_label, is_object_name

TABLE = "[session.kubernetes]"
VARIABLES = {
    "namespace": "GC_K8S_NAMESPACE",
    "image": "GC_K8S_IMAGE",
    "context": "GC_K8S_CONTEXT",
    "cpu_request": "GC_K8S_CPU_REQUEST",
    "memory_request": "GC_K8S_MEM_REQUEST",
    "cpu_limit": "GC_K8S_CPU_LIMIT",
    "memory_limit": "GC_K8S_MEM_LIMIT",
    "service_account": "GC_K8S_SERVICE_ACCOUNT",
}
# Where pods are made, and how they are looked at: none of it makes another pod.
_ELSEWHERE = frozenset({"namespace", "context", "kubeconfig", "pod_template"})
_POLICIES = ("Always", "IfNotPresent", "Never")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where pods are made, of what, and with what around them.

    `workspace` is where the city's folder stands in a pod; `width`, `height` and `history` are
    the terminal's, as on one machine. `template` is what the file `pod_template` holds, as JSON.
    """

    namespace: str = "gc"
    image: str = ""
    context: str = ""
    kubeconfig: str = ""
    cpu_request: str = "500m"
    memory_request: str = "1Gi"
    cpu_limit: str = "2"
    memory_limit: str = "4Gi"
    service_account: str = ""
    image_pull_policy: str = "IfNotPresent"
    image_pull_secrets: tuple[str, ...] = ()
    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    secret_env: tuple[SecretEnv, ...] = ()
    volumes: tuple[Volume, ...] = ()
    pod_template: str = ""
    template: str = "{}"
    workspace: str = "/workspace"
    width: int = 220
    height: int = 50
    history: int = 20_000

    @classmethod
    def read(
        cls, table: Mapping[str, object], environ: Mapping[str, str], *, folder: str = ""
    ) -> Settings:
        """Return the settings of a table and an environment, whose variables win.

        `folder` is the city's, which paths are relative to: a pod template is only read when it
        can be found. Raises ConfigError, in one sentence, for what makes no sense. That there is
        no image is no mistake yet.
        """
        said = {key: environ[name] for key, name in VARIABLES.items() if environ.get(name)}
        found = Table({**table, **said}, TABLE, {key: VARIABLES[key] for key in said})
        found.only([key for key in cls.__dataclass_fields__ if key != "template"])
        path = _place(folder, found.text("pod_template"))
        settings = cls(
            namespace=found.label("namespace", "gc"),
            image=_image(found),
            context=found.text("context"),
            kubeconfig=_place(folder, found.text("kubeconfig")),
            cpu_request=_amount(found, "cpu_request", "500m"),
            memory_request=_amount(found, "memory_request", "1Gi"),
            cpu_limit=_amount(found, "cpu_limit", "2"),
            memory_limit=_amount(found, "memory_limit", "4Gi"),
            service_account=found.object_name("service_account"),
            image_pull_policy=found.choice("image_pull_policy", _POLICIES, "IfNotPresent"),
            image_pull_secrets=_names(found, "image_pull_secrets"),
            node_selector=_labels(found, "node_selector"),
            tolerations=found.each("tolerations", Toleration.read),
            env_from=found.each("env_from", EnvFrom.read),
            secret_env=SecretEnv.read_all(found, "secret_env"),
            volumes=_volumes(found),
            pod_template=path,
            template=_template(found, path) if path and (folder or os.path.isabs(path)) else "{}",
            workspace=_workspace(found),
            width=found.number("width", 220, 20, 10_000),
            height=found.number("height", 50, 5, 10_000),
            history=found.number("history", 20_000, 0, 10**6),
        )
        _check_order(found, settings)
        return settings

    def pod_base(self) -> dict[str, Any]:  # Any: it is YAML
        """Return a fresh copy of what the pod template holds."""
        base: dict[str, Any] = json.loads(self.template)
        return base

    def shape(self) -> dict[str, str]:
        """Return what is said of the pods themselves, each under its name, as a person reads it.

        Left out is where they are made, and what is as nobody set it.
        """
        said = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name not in _ELSEWHERE and value != one.default:
                plain = value if isinstance(value, str) else json.dumps(_plain(value))
                said[f"kubernetes.{one.name}"] = plain
        return said

    def check_image(self) -> None:
        """Raise ConfigError when no image is named: no pod can be made."""
        if not self.image:
            raise ConfigError(
                f"{TABLE} image is missing: pods need one",
                hint=f'image = "..." there, or {VARIABLES["image"]} in the environment',
            )


def _place(folder: str, path: str) -> str:
    path = os.path.expanduser(path)
    return os.path.join(folder, path) if folder and path else path


def _plain(value: object) -> object:
    """Return a setting as JSON can hold it."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _image(table: Table) -> str:
    image = table.text("image")
    if image and (image != image.strip() or any(sign.isspace() for sign in image)):
        raise table.wrong("image", f'cannot hold blanks: "{image}"')
    return image


def _amount(table: Table, key: str, default: str) -> str:
    text = table.text(key) if key in table.values else default
    try:
        if text:
            read_quantity(text)
    except ValueError:
        raise table.wrong(
            key, f'must be an amount, not "{text}"', hint='as in "500m", "2", "1Gi"; "" for none'
        ) from None
    return text


def _check_order(table: Table, settings: Settings) -> None:
    for what in ("cpu", "memory"):
        request: str = getattr(settings, f"{what}_request")
        limit: str = getattr(settings, f"{what}_limit")
        if request and limit and _number(request) > _number(limit):
            where = table.where(f"{what}_request")
            raise ConfigError(
                f"{where} ({request}) is more than {table.where(f'{what}_limit')} ({limit})"
            )


def _number(text: str) -> Fraction:
    return read_quantity(text)


def _names(table: Table, key: str) -> tuple[str, ...]:
    names = table.texts(key)
    for name in names:
        if not is_object_name(name):
            raise table.wrong(key, f'has "{name}", which cannot be a name')
    return names


def _labels(table: Table, key: str) -> tuple[tuple[str, str], ...]:
    pairs = table.pairs(key)
    for name, value in pairs:
        if not is_label(name, value):
            raise table.wrong(key, f'has {name} = "{value}", which cannot be a label')
    return pairs


def _volumes(table: Table) -> tuple[Volume, ...]:
    volumes = table.each("volumes", Volume.read)
    for what in ("mount", "name"):
        seen: dict[str, Volume] = {}
        for volume in volumes:
            other = seen.setdefault(getattr(volume, what), volume)
            if other is not volume and (what == "mount" or not _is_same_source(other, volume)):
                raise table.wrong("volumes", f'has two with {what} "{getattr(volume, what)}"')
    return volumes


def _is_same_source(one: Volume, other: Volume) -> bool:
    """Whether two are one volume, mounted twice."""
    keys = ("secret", "config_map", "claim", "empty_dir", "host_path")
    return all(getattr(one, key) == getattr(other, key) for key in keys)


def _workspace(table: Table) -> str:
    path = table.path("workspace", "/workspace")
    if path == "/":
        raise table.wrong("workspace", "cannot be the root of a pod")
    return path


def _template(table: Table, path: str) -> str:
    import yaml  # noqa: PLC0415  20 ms that few cities need

    try:
        with open(path, encoding="utf-8") as file:
            found = yaml.safe_load(file)
    except (OSError, UnicodeError) as problem:
        why = getattr(problem, "strerror", "") or "it is not UTF-8"
        raise table.wrong("pod_template", f"{path} cannot be read: {why.lower()}") from problem
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise table.wrong("pod_template", f"{path} is not YAML{line}") from problem
    if not isinstance(found, dict) or not all(
        isinstance(found.get(key, {}), dict) for key in ("metadata", "spec")
    ):
        raise table.wrong("pod_template", f"{path} must be a mapping with metadata and spec")
    for key in found:
        if key not in ("apiVersion", "kind", "metadata", "spec"):
            raise table.wrong("pod_template", f'{path} has "{key}": only metadata and spec may be')
    try:
        return json.dumps(found, sort_keys=True)
    except (TypeError, ValueError) as problem:
        raise table.wrong("pod_template", f"{path} holds what JSON cannot: {problem}") from problem
