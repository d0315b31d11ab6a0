"""A rule is worth something only once a provider that breaks it was caught by it."""

from __future__ import annotations

from pathlib import Path

import pytest

OVER_THE_FAKE = {
    "ForgetfulProvider": "a_second_instance_sees_everything",
    "PrefixMatchingProvider": "what_is_said_to_one_name",
    "OptimisticProvider": "an_unreachable_backend and (list_running or observe or is_running)",
    "HoardingProvider": "the_next_incarnation_begins_without",
    "TrimmingProvider": "a_value_comes_back_unchanged and (newline or blank)",
    "NullingProvider": "a_value_comes_back_unchanged and empty",
    "ReplacingProvider": "a_second_start_of_a_living_name",
    "RacingProvider": "of_concurrent_starts_of_one_name",
    "LateMarkingProvider": "a_session_is_never_seen_without",
    "LeavingProvider": "a_stopped_session_is_gone",
    "BlinkingProvider": "a_crashed_session_is_seen_as_ended",
    "SleepyProvider": "watch_wakes",
    "TirelessProvider": "a_closed_watch_is_silent",
    "ShufflingProvider": "the_list_holds_every",
    "BoastfulProvider": "asking_about_an_unknown_session",
    "PoliteProvider": "asking_about_an_unknown_session",
    "JealousProvider": "closing_an_instance",
    "ComplainingProvider": "acting_on_an_unknown_session or stopping_twice",
}

OVER_PROCESSES = {
    "LeakyProvider": "the_environment_is_exactly",
    "HastyProvider": "start_returns_when or the_steps_run or a_failing_pre_start",
    "ShallowProvider": "stop_ends_the_whole_tree and daemon",
    "BrutalProvider": "stop_asks_first",
    "SlowProvider": "stop_returns_as_soon",
    "MumblingProvider": "a_nudge_arrives_unchanged and quotes",
    "InterleavingProvider": "concurrent_nudges",
    "CarelessProvider": "nothing_is_written_outside",
    "CountlessProvider": "peek_returns_as_many",
    "ApproximateProvider": "a_program_anywhere",
}

FAKE_SUITE = """
from functools import cached_property
from broken import {name}
from gascity.testing.conformance import ProviderConformance
from gascity.testing.fake import FakeProvider, FakeWorld
from gascity.testing.witness import FakeWitness

class {name}Rules(ProviderConformance):
    @cached_property
    def world(self):
        return FakeWorld()

    def create(self, context):
        return {name}(context, self.world)

    def look(self):
        return FakeWitness(self.world)

    def make_unreachable(self, provider, name):
        from contextlib import contextmanager

        @contextmanager
        def outage():
            self.world.unreachable = "the test says so"
            try:
                yield
            finally:
                self.world.unreachable = ""

        return outage()
"""

PROCESS_SUITE = """
from broken import {name}
from gascity.testing.conformance import ProcessConformance

class {name}Rules(ProcessConformance):
    provider_class = {name}
    adds_env = frozenset({{"GC_SESSION_MARK"}})
"""


@pytest.fixture
def outcomes(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a place where suites over broken providers are run."""
    pytester.makepyfile(broken=Path(__file__).with_name("broken.py").read_text())
    pytester.makeini("[pytest]\naddopts = -p no:kmock\npython_classes = *Rules")
    return pytester


def run(place: pytest.Pytester, source: str, rules: str) -> dict[str, int]:
    place.makepyfile(test_broken=source)
    result = place.runpytest_inprocess("-q", "-k", rules, "-p", "no:cacheprovider")
    return result.parseoutcomes()


@pytest.mark.parametrize(("name", "rules"), OVER_THE_FAKE.items(), ids=OVER_THE_FAKE)
def test_a_broken_fake_is_caught(outcomes: pytest.Pytester, name: str, rules: str) -> None:
    result = run(outcomes, FAKE_SUITE.format(name=name), rules)

    assert result.get("failed", 0) >= 1


@pytest.mark.parametrize(("name", "rules"), OVER_PROCESSES.items(), ids=OVER_PROCESSES)
def test_a_broken_provider_of_processes_is_caught(
    outcomes: pytest.Pytester, name: str, rules: str
) -> None:
    result = run(outcomes, PROCESS_SUITE.format(name=name), rules)

    assert result.get("failed", 0) >= 1


@pytest.mark.parametrize(
    ("suite", "name", "rules"),
    [
        (FAKE_SUITE, "FakeProvider", " or ".join(OVER_THE_FAKE.values())),
        (PROCESS_SUITE, "Provider", "concurrent_nudges or stop_asks_first"),
    ],
    ids=["fake", "processes"],
)
def test_a_sound_provider_is_not(
    outcomes: pytest.Pytester, suite: str, name: str, rules: str
) -> None:
    result = run(outcomes, suite.format(name=name), rules)

    assert set(result) <= {"passed", "deselected"}
    assert result["passed"] >= 2
