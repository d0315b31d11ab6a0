"""From a session to its pod: every setting lands where Kubernetes wants it, and no secret does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gascity.core.model import SessionConfig, StartupHints
from gascity.errors import ConfigError, ProviderError, StartFailed
from gascity_kubernetes import manifest
from gascity_kubernetes.manifest import City
from gascity_kubernetes.settings import Settings

CITY = City("Bright Lights", "0f3a", "/home/me/bright")
CONFIG = SessionConfig("run-agent", "/home/me/bright/rigs/a")
META = {"GC_AGENT": "rigs/mayor", "GC_RUN": "r1", "NOTE": "a\nb = c"}

Made = dict[str, Any]


def settings(table: Mapping[str, object] | None = None, folder: str = "") -> Settings:
    return Settings.read({"image": "agent:1", **(table or {})}, {}, folder=folder)


def pod(
    table: Mapping[str, object] | None = None,
    config: SessionConfig = CONFIG,
    city: City = CITY,
    folder: str = "",
    token: str = "t0",
) -> Made:
    return manifest.pod("gc-bright-mayor", config, city, settings(table, folder), token)


def agent(made: Made) -> Made:
    return next(one for one in made["spec"]["containers"] if one["name"] == "agent")


def template(folder: Path, **spec: object) -> Made:
    return templated(folder, {"spec": spec})


def templated(folder: Path, content: Mapping[str, object]) -> Made:
    (folder / "pod.yaml").write_text(yaml.safe_dump(dict(content)))
    return pod({"pod_template": "pod.yaml"}, folder=str(folder))


# --- what it is


def test_it_is_a_pod_in_the_namespace_that_never_starts_again() -> None:
    made = pod({"namespace": "town"})

    assert (made["apiVersion"], made["kind"]) == ("v1", "Pod")
    assert made["metadata"]["namespace"] == "town"
    assert made["spec"]["restartPolicy"] == "Never"


def test_its_labels_are_ours_and_those_that_tools_for_gas_city_look_for() -> None:
    made = pod(config=SessionConfig("x", "/", meta=META))

    assert made["metadata"]["labels"] == {
        "gascity.dev/city": "Bright-Lights",
        "gascity.dev/city-id": "0f3a",
        "gascity.dev/agent": "rigs-mayor",
        "app": "gc-agent",
        "gc-session": "gc-bright-mayor",
        "gc-agent": "rigs-mayor",
    }


def test_true_names_and_metadata_are_annotations() -> None:
    annotations = pod(config=SessionConfig("x", "/", meta=META))["metadata"]["annotations"]

    assert annotations["gascity.dev/session"] == "gc-bright-mayor"
    assert annotations["gc-session-name"] == "gc-bright-mayor"
    assert annotations["gascity.dev/agent"] == "rigs/mayor"
    assert annotations["gascity.dev/city-id"] == "0f3a"
    assert annotations["meta.gascity.dev/NOTE"] == "a\nb = c"
    assert annotations["meta.gascity.dev/GC_RUN"] == "r1"
    assert "gascity.dev/staged" not in annotations


def test_nothing_that_is_meant_for_the_agent_alone_stands_in_it() -> None:
    hints = StartupHints(pre_start=("secret-pre",), nudge="secret-nudge")
    config = SessionConfig("secret-command --key", "/w", {"KEY": "secret-value"}, hints, META)

    assert "secret" not in json.dumps(pod(config=config))
    assert "KEY" not in json.dumps(pod(config=config))


def test_a_pod_without_an_image_is_refused() -> None:
    with pytest.raises(ConfigError, match="image is missing"):
        manifest.pod("s", CONFIG, CITY, Settings(), "t")


def test_more_metadata_than_a_pod_can_hold_is_refused() -> None:
    with pytest.raises(StartFailed, match="more than a pod can hold"):
        pod(config=SessionConfig("x", "/", meta={"A": "é" * 130_000}))


def test_a_key_that_no_annotation_can_have_is_refused() -> None:
    with pytest.raises(ProviderError, match="cannot be a key"):
        pod(config=SessionConfig("x", "/", meta={"a b": "c"}))


# --- every setting


def test_the_image_is_pulled_as_the_settings_say() -> None:
    made = pod(
        {"image": "own:2", "image_pull_policy": "Always", "image_pull_secrets": ["one", "two"]}
    )

    assert agent(made)["image"] == "own:2"
    assert agent(made)["imagePullPolicy"] == "Always"
    assert made["spec"]["imagePullSecrets"] == [{"name": "one"}, {"name": "two"}]


def test_resources_are_asked_for_and_limited() -> None:
    table = {"cpu_request": "1", "memory_request": "2Gi", "cpu_limit": "3", "memory_limit": "4Gi"}

    assert agent(pod(table))["resources"] == {
        "requests": {"cpu": "1", "memory": "2Gi"},
        "limits": {"cpu": "3", "memory": "4Gi"},
    }


def test_resources_that_are_empty_are_left_out() -> None:
    amounts = ("cpu_request", "memory_request", "cpu_limit", "memory_limit")

    assert "resources" not in agent(pod(dict.fromkeys(amounts, "")))
    assert agent(pod({**dict.fromkeys(amounts, ""), "memory_limit": "1Gi"}))["resources"] == {
        "limits": {"memory": "1Gi"}
    }


def test_without_an_account_of_its_own_an_agent_has_no_way_into_the_cluster() -> None:
    made = pod()

    assert made["spec"]["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in made["spec"]


def test_an_account_is_given_with_its_token() -> None:
    made = pod({"service_account": "agent"})

    assert made["spec"]["serviceAccountName"] == "agent"
    assert made["spec"]["automountServiceAccountToken"] is True


def test_nodes_are_chosen() -> None:
    toleration = {
        "key": "gpu",
        "operator": "Exists",
        "effect": "NoExecute",
        "toleration_seconds": 0,
    }
    made = pod({"node_selector": {"disk": "fast"}, "tolerations": [toleration, {"key": "a"}]})

    assert made["spec"]["nodeSelector"] == {"disk": "fast"}
    assert made["spec"]["tolerations"] == [
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
        {"key": "a", "operator": "Equal"},
    ]


def test_secrets_come_by_reference() -> None:
    made = pod(
        {
            "secret_env": {"API_KEY": "keys/api"},
            "env_from": [
                {"secret": "all", "prefix": "S_"},
                {"config_map": "plain", "optional": True},
            ],
        }
    )

    assert agent(made)["env"] == [
        {"name": "API_KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "api"}}}
    ]
    assert agent(made)["envFrom"] == [
        {"secretRef": {"name": "all"}, "prefix": "S_"},
        {"configMapRef": {"name": "plain", "optional": True}},
    ]


def test_volumes_of_every_kind_are_mounted() -> None:
    made = pod(
        {
            "volumes": [
                {"name": "s", "mount": "/s", "secret": "one", "read_only": True},
                {"name": "c", "mount": "/c", "config_map": "two"},
                {"name": "p", "mount": "/p", "claim": "three", "sub_path": "deep"},
                {"name": "p", "mount": "/p2", "claim": "three"},
                {"name": "h", "mount": "/h", "host_path": "/srv"},
                {"name": "e", "mount": "/e", "empty_dir": True},
            ]
        }
    )

    assert made["spec"]["volumes"][2:] == [
        {"name": "s", "secret": {"secretName": "one"}},
        {"name": "c", "configMap": {"name": "two"}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "three"}},
        {"name": "h", "hostPath": {"path": "/srv"}},
        {"name": "e", "emptyDir": {}},
    ]
    assert [one for one in agent(made)["volumeMounts"] if "gascity" not in one["name"]] == [
        {"name": "s", "mountPath": "/s", "readOnly": True},
        {"name": "c", "mountPath": "/c"},
        {"name": "p", "mountPath": "/p", "subPath": "deep"},
        {"name": "p", "mountPath": "/p2"},
        {"name": "h", "mountPath": "/h"},
        {"name": "e", "mountPath": "/e"},
    ]


def test_the_first_process_is_ours_and_ends_with_a_message() -> None:
    made = pod({"history": 77}, token="a-token")
    shell, flag, script = agent(made)["command"]

    assert (shell, flag) == ("/bin/sh", "-c")
    assert "a-token" in script
    assert "history-limit 77" in script
    assert agent(made)["terminationMessagePath"] == "/dev/termination-log"


# --- where the city's folder is


def mounts(made: Made) -> dict[str, str]:
    return {one["mountPath"]: one["name"] for one in agent(made)["volumeMounts"]}


def work_dir(made: Made) -> str:
    return str(made["metadata"]["annotations"]["gascity.dev/work-dir"])


def test_the_citys_folder_becomes_the_workspace() -> None:
    made = pod({"workspace": "/work"})

    assert work_dir(made) == "/work/rigs/a"
    assert mounts(made)["/work"] == "gascity-workspace"


def test_a_volume_that_brings_the_citys_folder_leaves_paths_as_they_are() -> None:
    volume = {"name": "home", "mount": "/home/me", "host_path": "/home/me"}

    assert work_dir(pod({"volumes": [volume]})) == "/home/me/bright/rigs/a"


def test_a_volume_in_place_of_the_workspace_is_the_workspace() -> None:
    volume = {"name": "disk", "mount": "/workspace", "claim": "disk"}
    made = pod({"volumes": [volume]})

    assert work_dir(made) == "/workspace/rigs/a"
    assert mounts(made)["/workspace"] == "disk"
    assert "gascity-workspace" not in json.dumps(made)


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/home/me/bright", "/workspace"),
        ("/home/me/bright/", "/workspace"),
        ("/home/me/bright/a/../b", "/workspace/b"),
        ("/home/me/brighter", "/home/me/brighter"),
        ("/home/me", "/home/me"),
        ("/srv/else", "/srv/else"),
    ],
)
def test_paths_in_the_city_are_moved_and_no_others(path: str, inside: str) -> None:
    assert manifest.inside_path(path, CITY.path, "/workspace") == inside


def test_only_the_paths_that_gc_put_in_are_moved_in_an_environment() -> None:
    env = {"GC_DIR": "/home/me/bright/a", "GC_CITY_PATH": "/home/me/bright", "MINE": CITY.path}

    assert manifest.environment(env, CITY.path, "/workspace") == {
        "GC_DIR": "/workspace/a",
        "GC_CITY_PATH": "/workspace",
        "MINE": "/home/me/bright",
    }


# --- the template


def test_a_template_brings_what_we_do_not_model(tmp_path: Path) -> None:
    side = {"name": "side", "image": "side:1"}
    made = templated(
        tmp_path,
        {
            "metadata": {"labels": {"team": "a"}, "annotations": {"cost": "b"}},
            "spec": {
                "securityContext": {"fsGroup": 7},
                "priorityClassName": "low",
                "containers": [side, {"name": "agent", "securityContext": {"runAsUser": 5}}],
                "volumes": [{"name": "more", "emptyDir": {}}],
                "terminationGracePeriodSeconds": 9,
            },
        },
    )

    assert made["metadata"]["labels"]["team"] == "a"
    assert made["metadata"]["labels"]["app"] == "gc-agent"
    assert made["metadata"]["annotations"]["cost"] == "b"
    assert made["spec"]["securityContext"] == {"fsGroup": 7}
    assert made["spec"]["priorityClassName"] == "low"
    assert made["spec"]["terminationGracePeriodSeconds"] == 9
    assert made["spec"]["containers"][0] == side
    assert agent(made)["securityContext"] == {"runAsUser": 5}
    assert agent(made)["image"] == "agent:1"
    assert [one["name"] for one in made["spec"]["volumes"]] == [
        "more",
        "gascity-run",
        "gascity-workspace",
    ]


def test_a_template_cannot_take_the_session_away(tmp_path: Path) -> None:
    made = templated(
        tmp_path,
        {
            "kind": "Job",
            "metadata": {
                "name": "own",
                "namespace": "own",
                "labels": {"gascity.dev/city-id": "other"},
                "annotations": {"gascity.dev/token": "x", "gascity.dev/spec": "y"},
            },
            "spec": {
                "restartPolicy": "Always",
                "containers": [
                    {"name": "agent", "image": "x", "command": ["sleep"], "args": ["1"]}
                ],
            },
        },
    )

    plain = pod()
    assert made["kind"] == "Pod"
    assert made["metadata"]["name"] == plain["metadata"]["name"]
    assert made["metadata"]["namespace"] == "gc"
    assert made["metadata"]["labels"]["gascity.dev/city-id"] == "0f3a"
    assert made["metadata"]["annotations"]["gascity.dev/token"] == "t0"
    assert made["metadata"]["annotations"]["gascity.dev/spec"] not in ("", "y")
    assert made["spec"]["restartPolicy"] == "Never"
    assert agent(made)["command"] == agent(plain)["command"]
    assert "args" not in agent(made)


def test_a_template_may_give_an_account_and_its_token(tmp_path: Path) -> None:
    made = template(tmp_path, serviceAccountName="own", automountServiceAccountToken=True)

    assert made["spec"]["serviceAccountName"] == "own"
    assert made["spec"]["automountServiceAccountToken"] is True


# --- what it was made like


def test_only_what_makes_another_pod_tells_two_pods_apart(tmp_path: Path) -> None:
    one = manifest.spec_of(pod())

    assert one
    assert manifest.spec_of(pod(token="another")) == one
    assert manifest.spec_of(pod(config=SessionConfig("x", "/", meta=META))) == one
    assert manifest.spec_of(pod({"image": "agent:2"})) != one
    assert manifest.spec_of(template(tmp_path, priorityClassName="low")) != one


def test_a_pod_of_someone_else_was_made_like_nothing() -> None:
    assert manifest.spec_of({"metadata": {"name": "a"}}) == ""
    assert manifest.spec_of({"metadata": {"name": "a", "annotations": None}}) == ""
