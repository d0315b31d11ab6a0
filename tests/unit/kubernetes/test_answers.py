"""What requests and answers are called."""

from __future__ import annotations

import json

import pytest

from gascity_kubernetes.answers import doing, kind, problem
from gascity_kubernetes.problems import Absent, ApiSilent
from gascity_kubernetes.versions import is_newer

PODS = "/api/v1/namespaces/gc/pods"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/gc/leases"


@pytest.mark.parametrize(
    ("method", "path", "words", "counted"),
    [
        ("GET", PODS, "listing pods", "list"),
        ("GET", PODS + "/one", "reading pod one", "get"),
        ("POST", PODS, "creating pods", "write"),
        ("PATCH", PODS + "/one", "changing pod one", "write"),
        ("PATCH", PODS + "/one/status", "changing status of pod one", "write"),
        ("DELETE", PODS + "/one", "deleting pod one", "write"),
        ("GET", PODS + "/one/log", "reading log of pod one", "get"),
        ("GET", PODS + "/one/exec", "running a program in pod one", "get"),
        ("PUT", LEASES + "/city", "replacing lease city", "write"),
        ("GET", "/api/v1/namespaces/gc", "reading namespace gc", "get"),
        ("GET", "/api/v1/nodes", "listing nodes", "list"),
        ("GET", "/version", "reading /version", "probe"),
    ],
)
def test_a_request_has_words_and_a_kind(method: str, path: str, words: str, counted: str) -> None:
    assert doing(method, path) == words
    assert kind(method, path) == counted


def test_the_message_of_the_api_is_one_line() -> None:
    said = json.dumps({"message": "no\n such   pod", "reason": "NotFound"}).encode()

    found = problem("https://here", "reading pod one", 404, said)

    assert isinstance(found, Absent)
    assert found.message == "no such pod (404, while reading pod one)"
    assert found.reason == "NotFound"


def test_a_page_of_html_is_cut() -> None:
    found = problem("https://here", "listing pods", 502, b"<html>" + b"x" * 10_000)

    assert isinstance(found, ApiSilent)
    assert len(found.message) < 500


@pytest.mark.parametrize(
    ("one", "other", "newer"),
    [
        ("10", "9", True),
        ("9", "10", False),
        ("9", "9", False),
        ("9", "", True),
        ("", "9", False),
        ("abc", "abd", True),
        ("abc", "abc", False),
    ],
)
def test_which_version_is_newer(one: str, other: str, newer: bool) -> None:
    assert is_newer(one, other) is newer
