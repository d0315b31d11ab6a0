"""Sessions in tmux, on a server of the city's own, spoken to through one control connection."""

from __future__ import annotations

from gascity_tmux.provider import Provider as Provider
