"""Looks at the world: each provider is asked on its own, so a slow one delays nobody else.

What was seen last stands until the next answer, or until the time for that is up: then the
provider is `Unseen`. A provider is never asked again while a question to it is open, so one that is
stuck costs one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from gascity.controller.messages import Looked, Message
from gascity.controller.observe import TIMEOUT, look
from gascity.controller.workers import Workers
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import Observation, Seen, Unseen
from gascity.session.provider import SessionProvider

PACE = 0.025  # looks this far apart keep a burst of news from becoming a burst of looks
HASTE = 0.002  # while the city ends, somebody waits for the last news
LIMIT = TIMEOUT + 1.0


@dataclass(slots=True)
class _Question:
    """The state of one provider: `began` is when the last look at it began."""

    due: bool = True
    began: float = 0.0
    is_open: bool = False
    given_up: bool = False


class Looks:
    """The looks of one controller. Used by the loop's thread alone."""

    def __init__(
        self,
        providers: Mapping[str, SessionProvider],
        specs: Iterable[AgentSpec],
        post: Callable[[Message], None],
    ) -> None:
        self.seen: dict[str, Observation] = {}
        self.pace = PACE
        self._began: dict[str, float] = {}
        self._providers = providers
        self._post = post
        self._questions: dict[str, _Question] = {}
        self.expect(specs)
        self._workers = Workers(few=len(providers))  # a look never queues behind a slow start

    def expect(self, specs: Iterable[AgentSpec]) -> None:
        """Look for these agents from now on, and at the providers as they are now."""
        specs = list(specs)
        self._specs = {
            name: [spec for spec in specs if spec.provider == name] for name in self._providers
        }
        self._questions = {
            name: self._questions.get(name) or _Question() for name in self._providers
        }
        self.seen = {name: seen for name, seen in self.seen.items() if name in self._providers}

    def want(self) -> None:
        """Have every provider looked at again, as soon as its pace and its last answer allow."""
        for question in self._questions.values():
            question.due = True

    def begin(self) -> None:
        """Ask every provider that is due and may be asked."""
        now = time.monotonic()
        for name, question in self._questions.items():
            if question.due and not question.is_open and now >= question.began + self.pace:
                question.due, question.is_open, question.given_up = False, True, False
                question.began = now
                self._workers.submit(partial(self._ask, name))

    def patience(self) -> float | None:
        """Return how long until something has to be done about a look; None: only when asked."""
        now = time.monotonic()
        moments = [
            question.began + (LIMIT if question.is_open else self.pace) - now
            for question in self._questions.values()
            if (question.is_open and not question.given_up)
            or (question.due and not question.is_open)
        ]
        return max(min(moments), 0.0) if moments else None

    def silent(self) -> list[Looked]:
        """Return what has to be said for providers whose time is up."""
        now = time.monotonic()
        late = []
        for name, question in self._questions.items():
            if question.is_open and not question.given_up and now >= question.began + LIMIT:
                question.given_up = True
                reason = Unseen(f"it did not answer within {LIMIT:g} s")
                late.append(Looked(name, reason, still_open=True))
        return late

    def take(self, looked: Looked) -> bool:
        """Take an answer, or the lack of one, as what was seen last; tell whether it is.

        An answer to a look that began before the provider spoke unasked may be the older of the
        two: it is looked at again instead. So is a provider that spoke before it became known that
        its words are not enough.
        """
        question = self._questions.get(looked.provider)
        if question is None:
            return False
        began = looked.told_at
        if began is not None and not self.takes_words(looked.provider):
            question.due = True
            return False
        if began is None:
            question.is_open = looked.still_open
            began = question.began
        last = self._began.get(looked.provider, 0.0)
        if began < last and not isinstance(looked.observation, Unseen):
            question.due = question.due or looked.told_at is None
            return False
        self.seen[looked.provider] = looked.observation
        self._began[looked.provider] = max(began, last)
        return True

    def takes_words(self, provider: str) -> bool:
        """Tell whether what a provider says unasked is all there is to know of its sessions."""
        return not any(spec.hints.process_names for spec in self._specs[provider])

    def began(self, provider: str) -> float:
        """Return when the look that gave the present answer of a provider began."""
        return self._began.get(provider, 0.0)

    def silence(self) -> dict[str, str]:
        """Return the providers that did not answer, with the reason."""
        silent = {name: one.reason for name, one in self.seen.items() if isinstance(one, Unseen)}
        new = [name for name in self._providers if name not in self.seen]
        return silent | dict.fromkeys(new, "it has not answered yet")

    def _ask(self, name: str) -> None:
        provider, specs = self._providers.get(name), self._specs.get(name)
        if provider is not None and specs is not None:
            self._post(Looked(name, look(provider, specs)))


def news_of(looked: Looked, *, was_lost: bool) -> list[Event]:
    """Return what has to be said when a provider falls silent, or answers again."""
    match looked.observation:
        case Unseen(reason) if not was_lost:
            return [Event(EventType.PROVIDER_LOST, message=f"{looked.provider}: {reason}")]
        case Seen() if was_lost:
            return [Event(EventType.PROVIDER_BACK, message=f"{looked.provider} answers again")]
        case _:
            return []
