"""What `gc metrics` prints: a text that Prometheus reads, by the rules of promtool."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gascity.controller.status import status_document
from gascity.core.actions import EventType
from gascity.core.nudges import NudgeState
from gascity.core.views import AgentView, State
from gascity.patrol.exposition import Family, Kind, text_of
from gascity.patrol.metrics import Counted, metrics

ODD = 'a "quoted" \\ back\nline ü \ud800'
ABBREVIATED = re.compile(r"_(s|ms|us|ns|sec|kb|mb|gb|b|ns|m|h|d)(_|$)")
OTHER_UNITS = re.compile(
    r"_(milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|kilobytes|kibibytes"
    r"|megabytes|gigabytes|bits|percent)(_|$)"
)
AGENTS = (
    AgentView("a", "gc-town-a", "tmux", State.WORKING, pid=1, since=1000.5, restarts=2, attached=1),
    AgentView("rigs/b", "gc-town-rigs--b", "tmux", State.BACKOFF, failures=3, next_at=2000.0),
)


def lint(text: str) -> dict[str, Metric]:
    """Read a text as Prometheus does and hold it to the rules of `promtool check metrics`."""
    assert text.endswith("\n")
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(set(names)) == len(names), "a name comes twice"
    lines = text.splitlines()
    helped = re.findall(r"^# HELP (\S+) \S", text, re.MULTILINE)
    typed = re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", text, re.MULTILINE)
    assert helped == typed
    assert len(helped) == len(families)
    for family in families:
        full = family.name + ("_total" if family.type == "counter" else "")
        assert full in typed, f"{family.name} is a counter whose name does not end with _total"
        assert re.fullmatch(r"[a-z_][a-z0-9_]*", full), f"{full} has other letters"
        assert family.type == "counter" or not full.endswith(("_total", "_count", "_sum"))
        assert not full.endswith(("_bucket", "_gauge", "_counter", "_metric"))
        assert not ABBREVIATED.search(full.removeprefix("gc_"))
        assert not OTHER_UNITS.search(full)
        assert family.documentation.endswith(".")
        seen = [tuple(sorted(sample.labels.items())) for sample in family.samples]
        assert len(set(seen)) == len(seen), f"{full} has the same sample twice"
        assert all(sample.name == full for sample in family.samples)
        assert all(sample.labels["city"] for sample in family.samples)
        assert family.type != "counter" or all(sample.value >= 0 for sample in family.samples)
        at = [n for n, line in enumerate(lines) if line.startswith((full + "{", f"# HELP {full} "))]
        assert at[-1] - at[0] == len(seen) + 1, f"{full} does not stand together"
    return {family.name: family for family in families}


def value(found: dict[str, Metric], name: str, **labels: str) -> float | None:
    wanted = {"city": "town", **labels}
    values = [one.value for one in found[name].samples if one.labels == wanted]
    return values[0] if values else None


def printed(*views: AgentView, pid: int | None = 1, alerts: Iterable[object] = ()) -> str:
    document = {**status_document("town", pid, views), "alerts": list(alerts)}
    counted = Counted({"session.started": 7, "new.kind": 1}, {"pending": 2}, 1500.25, 4096)
    return metrics(document, counted, answers=pid is not None, version="1.2.3")


def test_a_city_as_prometheus_reads_it() -> None:
    alerts = [
        {"severity": "critical", "muted": False},
        {"severity": "critical", "muted": True},
        {"severity": "odd", "muted": False},
    ]
    found = lint(printed(*AGENTS, alerts=alerts))

    assert value(found, "gc_up") == 1
    assert value(found, "gc_build_info", version="1.2.3") == 1
    assert value(found, "gc_config_accepted") == 1
    assert value(found, "gc_agents", state="working") == 1
    assert value(found, "gc_agents", state="quarantined") == 0
    assert value(found, "gc_agent_up", agent="a") == 1
    assert value(found, "gc_agent_up", agent="rigs/b") == 0
    assert value(found, "gc_agent_state", agent="rigs/b", state="backoff") == 1
    assert value(found, "gc_agent_restarts", agent="a") == 2
    assert value(found, "gc_agent_start_failures", agent="rigs/b") == 3
    assert value(found, "gc_agent_requested_restarts", agent="a") == 0
    assert value(found, "gc_agent_attached", agent="a") == 1
    assert value(found, "gc_agent_started_timestamp_seconds", agent="a") == 1000.5
    assert value(found, "gc_agent_started_timestamp_seconds", agent="rigs/b") is None
    assert value(found, "gc_agent_next_action_timestamp_seconds", agent="rigs/b") == 2000
    assert value(found, "gc_alerts_open", severity="critical") == 2
    assert value(found, "gc_alerts_muted", severity="critical") == 1
    assert value(found, "gc_alerts_open", severity="warning") == 0
    assert value(found, "gc_alerts_open", severity="odd") == 1
    assert value(found, "gc_events", type="session.started") == 7
    assert value(found, "gc_events", type="new.kind") == 1
    assert value(found, "gc_nudges", state="pending") == 2
    assert value(found, "gc_last_event_timestamp_seconds") == 1500.25
    assert value(found, "gc_journal_bytes") == 4096


def test_an_agent_that_moves_to_another_provider_counts_once_as_what_runs() -> None:
    there = AgentView("a", "gc-town-a", "subprocess", State.UNKNOWN, "its session has to end")
    here = AgentView("a", "gc-town-a", "tmux", State.DRAINING, pid=1, attached=1)

    found = lint(printed(there, here))

    assert value(found, "gc_agent_state", agent="a", state="draining") == 1
    assert value(found, "gc_agent_attached", agent="a") == 1
    assert value(found, "gc_agents", state="unknown") == 0


def test_every_state_and_type_has_a_sample() -> None:
    found = lint(printed(*AGENTS))

    assert {one.labels["state"] for one in found["gc_agents"].samples} == set(map(str, State))
    assert {one.labels["type"] for one in found["gc_events"].samples} >= set(map(str, EventType))
    assert {one.labels["state"] for one in found["gc_nudges"].samples} == set(map(str, NudgeState))


def test_without_a_controller_the_rest_is_still_there() -> None:
    found = lint(printed(*AGENTS, pid=None))

    assert value(found, "gc_up") == 0
    assert "gc_config_accepted" not in found
    assert value(found, "gc_agent_up", agent="a") == 1


def test_without_a_journal_the_rest_is_still_there() -> None:
    document = status_document("town", 1, AGENTS)
    found = lint(metrics(document, None, answers=True, version="1"))

    assert "gc_events" not in found
    assert value(found, "gc_alerts_open", severity="critical") == 0


def test_a_city_without_agents_has_a_text_too() -> None:
    assert "gc_agent_up" not in lint(printed())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gc_restarts", Kind.COUNTER),
        ("gc_agents_total", Kind.GAUGE),
        ("gc_wait_ms", Kind.GAUGE),
        ("gc_wait_minutes", Kind.GAUGE),
        ("gc_openAlerts", Kind.GAUGE),
    ],
)
def test_a_name_against_the_rules_is_noticed(name: str, kind: Kind) -> None:
    family = Family(name, kind, "It has a name.")
    family.add(1)

    with pytest.raises(AssertionError):
        lint(text_of([family], {"city": "town"}))


def test_a_sample_that_comes_twice_is_noticed() -> None:
    family = Family("gc_x", Kind.GAUGE, "It comes twice.")
    family.add(1, agent="a")
    family.add(2, agent="a")

    with pytest.raises(AssertionError, match="twice"):
        lint(text_of([family], {"city": "town"}))


def test_any_name_can_be_a_label() -> None:
    family = Family("gc_odd", Kind.GAUGE, "With a \\ and\na line.")
    family.add(float("inf"), agent=ODD)
    family.add(float("nan"), agent="")
    family.add(0.1, agent="x")
    found = lint(text_of([family], {"city": "town"}))["gc_odd"]

    assert found.documentation == "With a \\ and\na line."
    assert found.samples[0].labels["agent"] == ODD.replace("\ud800", "?")
    assert found.samples[0].value == float("inf")
    assert [one.value for one in found.samples][2] == 0.1
