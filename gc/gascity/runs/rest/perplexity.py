"""Perplexity: a model that searches, and names its sources."""

from __future__ import annotations

from typing import ClassVar

from gascity.runs.rest.chat import ChatBackend, Service
from gascity.runs.rest.chunks import Answer


class Perplexity(ChatBackend):
    """Asks Perplexity; the sources stand behind the answer, numbered as it refers to them."""

    service: ClassVar[Service] = Service(
        name="perplexity",
        base_url="https://api.perplexity.ai",
        model="sonar-pro",
        token_env="PERPLEXITY_API_KEY",  # noqa: S106  the name of a variable
    )

    repeats: ClassVar[bool] = True

    def closing(self, answer: Answer) -> str:
        """Return the sources of an answer."""
        if not answer.sources:
            return ""
        listed = "".join(f"{number}. {url}\n" for number, url in enumerate(answer.sources, 1))
        return f"\n\nSources:\n{listed}"
