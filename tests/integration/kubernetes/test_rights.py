"""What the deployed account may do is enough for all that a controller does, and no more."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.where import kubectl, small
from tests.integration.kubernetes.realm import Realm
from tests.repo.test_deploy import granted

from gascity.core.model import SessionConfig
from gascity.core.observed import Exited
from gascity.errors import GascityError, NotLeading
from gascity.session.fence import put_fence
from gascity.session.leadership import News
from gascity.session.provider import CityContext
from gascity.testing.eventually import eventually
from gascity_kubernetes import Provider, cluster, lease
from gascity_kubernetes.api import Api

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(240)]

SLEEP = SessionConfig("sleep 1000", "/tmp")
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Noting(Api):
    """An API that notes what it is asked for, as the rights name it."""

    noted: set[tuple[str, str]]

    def request(self, method: str, path: str, **how: Any) -> dict[str, Any]:  # noqa: ANN401  passed on
        _, _, what = path.partition(f"/namespaces/{self.namespace}/")
        resource, _, name = what.partition("/")
        if resource:
            verb = VERBS.get(method) or ("get" if name else "list")
            self.noted.add((resource, verb))
        return super().request(method, path, **how)

    def request_text(self, method: str, path: str, **how: Any) -> str:  # noqa: ANN401  passed on
        self.noted.add(("pods/log", "get"))
        return super().request_text(method, path, **how)

    def open_watch(self, path: str, **how: Any) -> Any:  # noqa: ANN401  passed on
        self.noted.add(("pods", "watch"))
        return super().open_watch(path, **how)

    def open_stream(self, *words: Any, **how: Any) -> Any:  # noqa: ANN401  passed on
        self.noted.add(("pods/exec", "get"))
        return super().open_stream(*words, **how)


class Account:
    """The deployed account in a namespace of its own, and a provider that works as it."""

    def __init__(self, folder: Path) -> None:
        self.realm = Realm()
        self.folder = folder
        self.noted: set[tuple[str, str]] = set()

    def make(self) -> None:
        self.realm.allow()
        view = json.loads(kubectl("config", "view", "--minify", "--flatten", "-o", "json"))
        view["users"][0]["user"] = {"token": self.realm.token()}
        (self.folder / "kubeconfig").write_text(json.dumps(view))

    @property
    def context(self) -> CityContext:
        settings = {
            "kubeconfig": str(self.folder / "kubeconfig"),
            "namespace": self.realm.namespace,
            **small(),
        }
        return CityContext("rights", "c0ffee", str(self.folder / ".gc"), settings)

    def drop(self, resource: str, verb: str) -> None:
        """Take one right away."""
        ours = ["-n", self.realm.namespace]
        role = json.loads(kubectl(*ours, "get", "role", "gc", "-o", "json"))
        for rule in role["rules"]:
            if resource in rule["resources"]:
                rule["verbs"].remove(verb)
        kubectl(*ours, "apply", "-f", "-", stdin=json.dumps(role))


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    made = Account(tmp_path)
    (tmp_path / ".gc").mkdir()
    try:
        made.make()
        noting = type("Noting", (Noting,), {"noted": made.noted})
        monkeypatch.setattr(cluster, "Api", noting)
        monkeypatch.setattr(lease, "Api", noting)
        yield made
    finally:
        made.realm.remove()


def live(provider: Provider) -> None:
    """Do with sessions all that a controller does."""
    watch = provider.watch(lambda: None)
    provider.start("gc-rights-a", SessionConfig("sleep 1000", "/tmp"), timeout=60)
    provider.set_meta("gc-rights-a", "KEY", "value", timeout=10)
    provider.send_keys("gc-rights-a", ["x"], timeout=10)
    assert provider.list_running("", timeout=10) == ["gc-rights-a"]
    provider.peek("gc-rights-a", 5, timeout=10)
    provider.start("gc-rights-b", SessionConfig("echo last words; sleep 2", "/tmp"), timeout=60)

    def is_over() -> bool:
        return isinstance(provider.observe(timeout=10)["gc-rights-b"].life, Exited)

    eventually(is_over, within=30, every=0.2)
    assert "last words" in provider.peek("gc-rights-b", 5, timeout=10)
    assert not provider.stop_all(["gc-rights-a", "gc-rights-b"], grace=0, timeout=30)
    watch.close()


def test_the_rights_are_enough_and_each_of_them_is_used(account: Account) -> None:
    provider = Provider(account.context)
    try:
        live(provider)
    finally:
        provider.close()
    claim, told = Provider.leadership(account.context), list[News]()
    claim.begin(told.append)
    eventually(claim.leads)
    claim.resign(give_back=True)

    newer = {("pods/exec", "create")}  # what later versions of Kubernetes ask for instead of get
    assert account.noted == granted() - newer


def test_behind_a_closed_fence_no_request_changes_anything(account: Account) -> None:
    def closed() -> None:
        raise NotLeading("another leads")

    provider = Provider(account.context)
    provider.start("gc-rights-a", SLEEP, timeout=60)
    provider.close()
    fenced = Provider(account.context)
    put_fence(fenced, closed)
    births = fenced._cluster.births
    pod = births.pod_of("gc-rights-a", time.monotonic() + 10)
    assert pod is not None

    with pytest.raises(NotLeading):
        births.patch(pod, {"a": "b"}, timeout=10)
    with pytest.raises(NotLeading):
        births.remove(pod, grace=0, deadline=time.monotonic() + 10)
    with pytest.raises(NotLeading):
        births.prepare("gc-rights-b", SLEEP, deadline=time.monotonic() + 10)

    fenced.close()
    (left,) = account.realm.get("pods")
    assert left["metadata"]["uid"] == pod["metadata"]["uid"]
    assert "a" not in left["metadata"]["annotations"]


@pytest.mark.parametrize(
    ("resource", "verb", "ask"),
    [
        ("pods", "create", lambda provider: provider.start("s", SLEEP, timeout=20)),
        ("pods", "list", lambda provider: provider.list_running("", timeout=10)),
        ("pods", "get", lambda provider: provider.get_meta("s", "KEY", timeout=10)),
    ],
)
def test_without_one_of_them_it_says_so(
    account: Account, resource: str, verb: str, ask: Callable[[Provider], object]
) -> None:
    provider = Provider(account.context)
    account.drop(resource, verb)

    def refused() -> bool:
        try:
            ask(provider)
        except GascityError as problem:
            return "forbidden" in problem.message.lower() or "may not" in problem.message
        return False

    try:
        eventually(refused, within=30, every=0.5)
    finally:
        provider.close()


def test_without_the_right_to_renew_nobody_leads(account: Account) -> None:
    account.drop("leases", "update")
    claim, told = Provider.leadership(account.context), list[News]()
    claim.begin(told.append)
    try:
        eventually(lambda: any("lease" in str(news) for news in told), within=40)
        assert not claim.leads()
    finally:
        claim.resign(give_back=False)
