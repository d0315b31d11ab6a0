"""The page about Kubernetes, followed on a real cluster."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster import where
from tests.docs.conftest import ROOT, Reader, Step, blocks, steps

from gascity.config.load import load_city

PAGE = ROOT / "docs" / "howto" / "kubernetes.md"
NAMESPACE, IMAGE = "agents", "registry.example.com/agent:1"


@pytest.fixture
def mine() -> Iterator[str]:
    """Return a namespace for the page; it is gone with the test, whatever the page did."""
    name = f"agents-{uuid.uuid4().hex[:8]}"
    yield name
    where.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


def here(step: Step, namespace: str) -> Step:
    """Return a step with the names that are the reader's own."""

    def put(text: str) -> str:
        for before in ('"', "namespace ", "namespace/", "-n ", "in "):
            text = text.replace(f"{before}{NAMESPACE}", f"{before}{namespace}")
        return text.replace(IMAGE, where.IMAGE)

    expected = None if step.expected is None else put(step.expected)
    return replace(step, command=put(step.command), expected=expected)


@pytest.mark.git
@pytest.mark.kubernetes
@pytest.mark.timeout(300)
def test_a_reader_who_follows_the_page_has_a_city_in_the_cluster(reader: Reader, mine: str) -> None:
    reader.env["KUBECONFIG"] = where.kubeconfig()

    for step in steps(PAGE):
        reader.follow(here(step, mine))

    assert not list(reader.folder.rglob("controller.sock"))


def test_every_piece_of_a_city_file_on_the_page_is_taken(tmp_path: Path) -> None:
    head = '[workspace]\nname = "harbour"\n[session]\nprovider = "kubernetes"\n'
    agent = '[[agents]]\nname = "mayor"\nstart_command = "bash"\n'
    (tmp_path / "pod.yaml").write_text("spec: {}\n")
    pieces = blocks(PAGE, "toml")
    for text in pieces:
        whole = text if "[workspace]" in text else head + text + f'image = "{IMAGE}"\n' + agent
        (tmp_path / "city.toml").write_text(whole)
        city = load_city(
            tmp_path / "city.toml",
            known_providers=("subprocess", "tmux", "kubernetes"),
            auto_provider="subprocess",
        )

        assert city.desired.agents

    assert len(pieces) >= 4
