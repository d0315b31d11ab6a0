"""The table [session.kubernetes] and the environment above it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from gascity.errors import ConfigError
from gascity_kubernetes.quantities import read_quantity
from gascity_kubernetes.references import EnvFrom, SecretEnv, Toleration, Volume
from gascity_kubernetes.settings import VARIABLES, Settings

MUCH = {
    "namespace": "agents",
    "image": "localhost/agent:1",
    "context": "dev",
    "cpu_request": "",
    "service_account": "agent",
    "image_pull_policy": "Never",
    "image_pull_secrets": ["one", "two"],
    "node_selector": {"kubernetes.io/arch": "amd64", "disk": "fast"},
    "tolerations": [
        {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "toleration_seconds": 30}
    ],
    "env_from": [{"secret": "keys", "optional": True}, {"config_map": "more", "prefix": "X_"}],
    "secret_env": {"API_KEY": "keys/api"},
    "volumes": [
        {"name": "cache", "mount": "/cache/", "claim": "cache", "sub_path": "a/b"},
        {"name": "scratch", "mount": "/scratch", "empty_dir": True},
    ],
    "workspace": "/work",
    "width": 100,
}


def test_nothing_said_is_what_the_seed_says() -> None:
    settings = Settings.read({}, {})

    assert settings == Settings()
    assert (settings.namespace, settings.workspace) == ("gc", "/workspace")
    assert (settings.cpu_request, settings.cpu_limit) == ("500m", "2")
    assert (settings.memory_request, settings.memory_limit) == ("1Gi", "4Gi")


def test_all_that_is_said_is_there() -> None:
    settings = Settings.read(MUCH, {})

    assert settings.node_selector == (("disk", "fast"), ("kubernetes.io/arch", "amd64"))
    assert settings.tolerations == (Toleration("gpu", "Exists", "", "NoExecute", 30),)
    assert settings.env_from == (
        EnvFrom(secret="keys", optional=True),
        EnvFrom(config_map="more", prefix="X_"),
    )
    assert settings.secret_env == (SecretEnv("API_KEY", "keys", "api"),)
    assert settings.volumes == (
        Volume("cache", "/cache", claim="cache", sub_path="a/b"),
        Volume("scratch", "/scratch", empty_dir=True),
    )
    assert settings.image_pull_secrets == ("one", "two")
    assert settings.cpu_request == ""


def test_what_did_not_change_is_equal_and_what_did_is_not() -> None:
    assert Settings.read(MUCH, {}) == Settings.read(dict(MUCH), {})
    assert hash(Settings.read(MUCH, {})) == hash(Settings.read(MUCH, {}))
    assert Settings.read(MUCH, {}) != Settings.read({**MUCH, "width": 101}, {})


def test_the_environment_wins() -> None:
    environ = {
        "GC_K8S_NAMESPACE": "other",
        "GC_K8S_IMAGE": "image:2",
        "GC_K8S_CONTEXT": "prod",
        "GC_K8S_CPU_REQUEST": "1",
        "GC_K8S_MEM_REQUEST": "2Gi",
        "GC_K8S_CPU_LIMIT": "3",
        "GC_K8S_MEM_LIMIT": "5Gi",
        "GC_K8S_SERVICE_ACCOUNT": "who",
    }

    settings = Settings.read(MUCH, environ)

    assert (settings.namespace, settings.image, settings.context) == ("other", "image:2", "prod")
    assert (settings.cpu_request, settings.memory_request) == ("1", "2Gi")
    assert (settings.cpu_limit, settings.memory_limit) == ("3", "5Gi")
    assert settings.service_account == "who"


def test_an_empty_variable_says_nothing() -> None:
    assert Settings.read(MUCH, {"GC_K8S_NAMESPACE": ""}).namespace == "agents"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"namespace": "No"}, "namespace must be made of a-z"),
        ({"namespace": 1}, "namespace must be a text"),
        ({"image": "a b"}, "image cannot hold blanks"),
        ({"image": "a\nb"}, "image must be a text of one line"),
        ({"cpu_request": "a lot"}, 'cpu_request must be an amount, not "a lot"'),
        ({"cpu_request": "-1"}, "cpu_request must be an amount"),
        ({"memory_limit": "1GB"}, "memory_limit must be an amount"),
        ({"cpu_limit": 2}, "cpu_limit must be a text"),
        ({"cpu_request": "3"}, "is more than"),
        ({"memory_request": "8000M", "memory_limit": "4Gi"}, "is more than"),
        ({"service_account": "A_b"}, "service_account must be made of"),
        ({"image_pull_policy": "Sometimes"}, 'image_pull_policy cannot be "Sometimes"'),
        ({"image_pull_secrets": "one"}, "image_pull_secrets must be a list of texts"),
        ({"image_pull_secrets": ["No!"]}, 'image_pull_secrets has "No!"'),
        ({"node_selector": ["x"]}, "node_selector must be a table of texts"),
        ({"node_selector": {"a": 1}}, 'node_selector must hold texts only, and "a" is none'),
        ({"node_selector": {"a b": "1"}}, 'node_selector has a b = "1", which cannot be a label'),
        ({"tolerations": {}}, "tolerations must be a list of tables"),
        ({"tolerations": [{"kee": "a"}]}, r'tolerations[0] has no setting "kee"'),
        ({"tolerations": [{}]}, r"tolerations[0] key may only be left out"),
        ({"tolerations": [{"key": "a", "operator": "In"}]}, 'operator cannot be "In"'),
        ({"tolerations": [{"key": "a", "effect": "Never"}]}, 'effect cannot be "Never"'),
        (
            {"tolerations": [{"key": "a", "toleration_seconds": 1}]},
            'toleration_seconds needs effect = "NoExecute"',
        ),
        (
            {"tolerations": [{"operator": "Exists", "value": "x"}]},
            "value makes no sense where operator",
        ),
        ({"env_from": [{}]}, r"env_from[0] needs exactly one of secret, config_map"),
        ({"env_from": [{"secret": "a", "config_map": "b"}]}, "needs exactly one of"),
        ({"env_from": [{"secret": "a", "optional": 1}]}, "optional must be true or false"),
        ({"env_from": [{"secret": "a", "prefix": "1"}]}, "prefix cannot begin a variable"),
        ({"secret_env": {"A": "keys"}}, 'secret_env must say A = "secret/key", not "keys"'),
        ({"secret_env": {"A B": "keys/a"}}, 'secret_env has "A B", which cannot be a variable'),
        ({"volumes": [{"mount": "/a", "empty_dir": True}]}, r"volumes[0] name is missing"),
        ({"volumes": [{"name": "a", "mount": "/a"}]}, "needs exactly one of secret, config_map"),
        (
            {"volumes": [{"name": "a", "mount": "a", "empty_dir": True}]},
            'mount must be an absolute path, not "a"',
        ),
        (
            {"volumes": [{"name": "a", "mount": "/a", "host_path": "x"}]},
            'host_path must be an absolute path, not "x"',
        ),
        (
            {"volumes": [{"name": "a", "mount": "/a", "claim": "x", "sub_path": "../b"}]},
            "sub_path must lie within the volume",
        ),
        (
            {"volumes": [{"name": name, "mount": "/a", "empty_dir": True} for name in "ab"]},
            'volumes has two with mount "/a"',
        ),
        (
            {"volumes": [{"name": "a", "mount": f"/{one}", "secret": one} for one in "ab"]},
            'volumes has two with name "a"',
        ),
        ({"workspace": "here"}, "workspace must be an absolute path"),
        ({"workspace": "/"}, "workspace cannot be the root of a pod"),
        ({"width": 5}, "width must be between 20 and 10000"),
        ({"height": "50"}, "height must be a whole number"),
        ({"history": True}, "history must be a whole number"),
        ({"template": "{}"}, 'has no setting "template"'),
    ],
)
def test_what_makes_no_sense_is_one_sentence(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as problem:
        Settings.read(table, {})

    assert said in problem.value.message
    assert problem.value.message.startswith("[session.kubernetes] ")
    assert "\n" not in problem.value.message


def test_a_wrong_variable_is_named_as_such() -> None:
    with pytest.raises(ConfigError, match=r"^GC_K8S_CPU_REQUEST must be an amount"):
        Settings.read({}, {"GC_K8S_CPU_REQUEST": "much"})


def test_an_empty_text_says_nothing_but_of_an_amount_that_there_is_none() -> None:
    said = dict.fromkeys(("namespace", "workspace", "image_pull_policy", "service_account"), "")
    amounts = dict.fromkeys(("cpu_request", "cpu_limit", "memory_request", "memory_limit"), "")

    settings = Settings.read({**said, **amounts}, {})

    assert settings == Settings(cpu_request="", cpu_limit="", memory_request="", memory_limit="")


def test_paths_are_relative_to_the_city(tmp_path: Path) -> None:
    settings = Settings.read({"kubeconfig": "kube/config"}, {}, folder=str(tmp_path))

    assert settings.kubeconfig == str(tmp_path / "kube/config")
    assert Settings.read({"kubeconfig": "/etc/kube"}, {}, folder="/city").kubeconfig == "/etc/kube"


def test_every_setting_is_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/city-toml.md").read_text("utf-8")
    section = page.split("## `[session.kubernetes]`")[1].split("\n## ")[0]

    told = set(re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE))
    variables = set(re.findall(r"`(GC_K8S_[A-Z_]+)`", section))

    assert told == {one.name for one in fields(Settings)} - {"template"}
    assert variables == set(VARIABLES.values())


def test_an_unknown_setting_is_told_with_what_was_meant() -> None:
    with pytest.raises(ConfigError) as problem:
        Settings.read({"name_space": "x"}, {})

    assert problem.value.hint == 'did you mean "namespace"?'


def test_no_image_is_a_mistake_only_when_a_pod_is_made() -> None:
    with pytest.raises(ConfigError, match=r"\[session.kubernetes\] image is missing") as problem:
        Settings.read({}, {}).check_image()

    assert "GC_K8S_IMAGE" in problem.value.hint
    Settings.read({"image": "x"}, {}).check_image()


def test_one_volume_may_be_mounted_twice() -> None:
    twice = [{"name": "a", "mount": f"/{one}", "claim": "c", "sub_path": one} for one in "xy"]

    assert len(Settings.read({"volumes": twice}, {}).volumes) == 2


def test_a_template_is_read_from_the_city(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("metadata: {labels: {team: red}}\nspec: {hostNetwork: true}")

    settings = Settings.read({"pod_template": "pod.yaml"}, {}, folder=str(tmp_path))

    assert settings.pod_base() == {
        "metadata": {"labels": {"team": "red"}},
        "spec": {"hostNetwork": True},
    }


def test_a_template_that_changed_is_a_change(tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text("spec: {hostNetwork: true}")
    before = Settings.read({"pod_template": "pod.yaml"}, {}, folder=str(tmp_path))
    path.write_text("spec: {hostNetwork: false}")

    assert Settings.read({"pod_template": "pod.yaml"}, {}, folder=str(tmp_path)) != before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must be a mapping"),
        ("- 1", "must be a mapping"),
        ("spec: 3", "must be a mapping with metadata and spec"),
        ("a: [", "is not YAML (line 1)"),
        ("status: {}", 'has "status": only metadata and spec may be'),
        ("spec: {a: 2020-01-01}", "holds what JSON cannot"),
    ],
)
def test_a_template_that_is_none_is_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pod.yaml").write_text(text)

    with pytest.raises(ConfigError) as problem:
        Settings.read({"pod_template": "pod.yaml"}, {}, folder=str(tmp_path))

    assert said in problem.value.message
    assert problem.value.message.startswith("[session.kubernetes] pod_template ")


def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"pod_template .*nowhere.yaml cannot be read: no such"):
        Settings.read({"pod_template": "nowhere.yaml"}, {}, folder=str(tmp_path))


@pytest.mark.parametrize(
    ("less", "more"),
    [("500m", "1"), ("1000m", "1.5"), ("1k", "1Ki"), ("999M", "1Gi"), ("1e3", "2k"), ("1n", "1u")],
)
def test_amounts_are_compared_as_amounts(less: str, more: str) -> None:
    assert read_quantity(less) < read_quantity(more)


def test_the_same_amount_in_two_ways() -> None:
    assert read_quantity("1024Mi") == read_quantity("1Gi")
    assert read_quantity("2000m") == read_quantity("2")
    assert read_quantity("1E") == read_quantity("1e18")


def test_nothing_heavy_is_loaded_before_a_cluster_is_asked() -> None:
    program = (
        "import sys, gascity_kubernetes.pods, gascity_kubernetes.streams;"
        "print({'kubernetes', 'urllib3', 'websocket', 'yaml', 'requests'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout == b"set()\n"
