"""What is deployed fits the code: the rights are those it uses, and the city can be read."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gascity.controller.opening import read_city

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PROVIDER = ROOT / "providers" / "gascity_kubernetes"
VERBS = {"GET": {"get"}, "POST": {"create"}, "PUT": {"update"}, "PATCH": {"patch"}}
VERBS["DELETE"] = {"delete"}
ASKED = {"request", "request_text", "open_watch", "open_stream"}
NOT_OURS = {"api.py", "exchange.py"}  # they pass on what others ask

Json = Any  # what YAML gives out


def documents(name: str) -> list[Json]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text("utf-8")))


def granted() -> set[tuple[str, str]]:
    """Return what the role grants, as pairs of resource and verb."""
    role = next(one for one in documents("rights.yaml") if one["kind"] == "Role")
    return {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def calls() -> list[tuple[str, ast.Call, str]]:
    """Return every place where the provider asks the API: file, call, and its text."""
    found: list[tuple[str, ast.Call, str]] = []
    for path in sorted(set(PROVIDER.glob("*.py")) - {PROVIDER / name for name in NOT_OURS}):
        text = path.read_text("utf-8")
        found += (
            (path.name, node, ast.get_source_segment(text, node) or "")
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ASKED
        )
    return found


def used() -> set[tuple[str, str]]:
    """Return what the code asks for, as pairs of resource and verb."""
    pairs: set[tuple[str, str]] = set()
    for file, call, text in calls():
        assert isinstance(call.func, ast.Attribute)
        match call.func.attr:
            case "open_watch":
                pairs.add(("pods", "watch"))
            case "open_stream":  # by a websocket, which newer servers take for a creation
                pairs |= {("pods/exec", "get"), ("pods/exec", "create")}
            case "request_text":
                pairs.add(("pods/log", "get"))
            case _ if '"/version"' in text:
                continue  # everybody may ask that
            case _:
                method = call.args[0]
                assert isinstance(method, ast.Constant), f"{file}: {text}"
                resource = "leases" if file == "lease.py" else "pods"
                is_list = file == "listing.py"
                verbs = {"list"} if is_list else VERBS[str(method.value)]
                pairs |= {(resource, verb) for verb in verbs}
    return pairs


def test_the_rights_are_exactly_those_that_the_code_uses() -> None:
    assert granted() == used()


def test_the_rights_end_at_the_namespace() -> None:
    kinds = {document["kind"] for document in documents("rights.yaml")}

    assert kinds == {"ServiceAccount", "Role", "RoleBinding"}
    assert not any("*" in pair for pair in granted())


def test_everything_is_applied_together() -> None:
    (whole,) = documents("kustomization.yaml")
    known = {*whole["resources"], *whole["configMapGenerator"][0]["files"], "kustomization.yaml"}

    assert {path.name for path in DEPLOY.iterdir()} == known | {
        "Dockerfile",
        "Dockerfile.dockerignore",
        "README.md",
    }


def test_the_controllers_are_two_and_may_do_little() -> None:
    (deployment,) = documents("controller.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert deployment["spec"]["replicas"] == 2
    assert "--leader-elect" in container["command"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert not container["securityContext"]["allowPrivilegeEscalation"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounts["state"] == f"{mounts['city']}/.gc"


def test_the_city_that_is_deployed_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GC_SESSION", raising=False)
    city = read_city(DEPLOY / "city.toml")

    assert city.default_provider == "kubernetes"
    assert city.desired.agents


def test_the_image_installs_what_there_is() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (deployment,) = documents("controller.yaml")

    extras = {one for group in re.findall(r"\[([a-z,]+)\]'", text) for one in group.split(",")}
    assert extras <= set(project["optional-dependencies"])
    user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"]
    assert f"--uid {user} " in text
    assert " git " in text  # without it the doctor finds something missing
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    for name in (project["readme"], *project["license-files"], "pyproject.toml"):
        assert f"!{name}" in kept
