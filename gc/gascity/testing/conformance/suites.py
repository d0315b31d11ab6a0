"""The two suites, put together from their rules."""

from __future__ import annotations

from gascity.testing.conformance.absence import AbsenceRules, UnreachableRules
from gascity.testing.conformance.environment import EnvironmentRules
from gascity.testing.conformance.exits import ExitRules
from gascity.testing.conformance.files import FileRules
from gascity.testing.conformance.finding import FindingRules, WatchRules
from gascity.testing.conformance.life import LifeRules, NameRules
from gascity.testing.conformance.metadata import MetadataRules
from gascity.testing.conformance.output import OutputRules
from gascity.testing.conformance.startup import StartupRules
from gascity.testing.conformance.survival import SurvivalRules
from gascity.testing.conformance.talk import TalkRules
from gascity.testing.conformance.text import TextRules
from gascity.testing.conformance.trees import TreeRules


class ProviderConformance(
    LifeRules,
    NameRules,
    MetadataRules,
    FindingRules,
    WatchRules,
    TalkRules,
    AbsenceRules,
    UnreachableRules,
):
    """What holds for every provider, even one that runs nothing."""


class ProcessConformance(
    ProviderConformance,
    ExitRules,
    TreeRules,
    EnvironmentRules,
    StartupRules,
    FileRules,
    OutputRules,
    TextRules,
    SurvivalRules,
):
    """What holds for every provider whose sessions run real commands on this machine."""
