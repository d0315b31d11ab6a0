"""xAI: Grok."""

from __future__ import annotations

from typing import ClassVar

from gascity.runs.rest.chat import PATH, ChatBackend, Service


class Xai(ChatBackend):
    """Asks xAI."""

    service: ClassVar[Service] = Service(
        name="xai",
        base_url="https://api.x.ai/v1",
        model="grok-4",
        token_env="XAI_API_KEY",  # noqa: S106  the name of a variable
        base_env=("XAI_API_ENDPOINT", "XAI_BASE_URL", "XAI_API_BASE"),
        model_env=("XAI_MODEL",),
    )

    def endpoint(self, base: str) -> str:
        """Return the address to ask; its version may be left out."""
        base = base.rstrip("/")
        return super().endpoint(base if base.endswith(("/v1", PATH)) else f"{base}/v1")
