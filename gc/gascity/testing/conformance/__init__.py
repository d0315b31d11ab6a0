"""The contract of a session provider, as tests.

Subclass `ProcessConformance` (or, for a provider without real processes, `ProviderConformance`) in
a test module, say which provider it is about, and pytest runs every rule against it:

    class TestMine(ProcessConformance):
        provider_class = MyProvider

What a subclass may change stands in `contract.Contract`. No rule asks the provider whether the
provider is right: what really runs is seen by a witness that knows nothing of it.
"""

from __future__ import annotations

import pytest

for _module in ("absence", "contract", "environment", "exits", "files", "finding", "life"):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")
for _module in ("metadata", "output", "startup", "survival", "talk", "text", "trees"):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")

from gascity.testing.conformance.suites import (  # noqa: E402  after the rewriting is arranged
    ProcessConformance,
    ProviderConformance,
)

__all__ = ["ProcessConformance", "ProviderConformance"]
