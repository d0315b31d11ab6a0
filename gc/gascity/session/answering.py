"""Answering the dialog of a session, with nobody else's hand on its keyboard meanwhile."""

from __future__ import annotations

import time

from gascity.errors import NotSupported, SessionNotFound
from gascity.screens.reading import Policy
from gascity.screens.rules import Rules
from gascity.session.dialogs import Answer, answer
from gascity.session.locks import session_lock
from gascity.session.provider import SessionProvider


def answer_dialog(
    provider: SessionProvider,
    name: str,
    rules: Rules,
    rule: str,
    policy: Policy,
    *,
    timeout: float,
) -> Answer:
    """Answer the dialog that the rule of that name knows. Raises SessionNotFound, SessionBusy."""
    deadline = time.monotonic() + timeout
    known = rules.rule(rule)
    if known is None:
        raise NotSupported(f'there is no rule for a dialog "{rule}"')
    terminal = provider.terminal(name)
    if terminal is None:
        raise SessionNotFound(f"there is no session {name} with a terminal")
    with session_lock(provider.context.state_dir, name, timeout):
        return answer(terminal, rules, known, policy, deadline=deadline)
