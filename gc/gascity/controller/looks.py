"""Looks at the world: each provider is asked on its own, so a slow one delays nobody else.

What was seen last stands until the next answer, or until the time for that is up: then the
provider is `Unseen`. A provider is never asked again while a question to it is open, so one that is
stuck costs one thread. What a provider tells unasked of some sessions that ended is laid over what
was seen last: it says nothing of the others, and makes no look any newer. A session that leaves
nothing behind is shown as it ended until somebody planned on it: a look that finds it gone may come
before that, and could not say how it went.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from gascity import awake
from gascity.controller.given import Given
from gascity.controller.messages import Looked, Message
from gascity.controller.observe import TIMEOUT, look
from gascity.controller.workers import Workers
from gascity.core.actions import Event, EventType
from gascity.core.model import AgentSpec
from gascity.core.observed import Observation, Seen, SessionState, Unseen
from gascity.session.provider import SessionProvider

PACE = 0.025  # looks this far apart keep a burst of news from becoming a burst of looks ...
SHARE = 4  # ... and so many times as far as the last one took: what looks cost, deeds must wait for
LONGEST = 0.25
HASTE = 0.002  # while the city ends, somebody waits for the last news
LIMIT = TIMEOUT + 1.0


@dataclass(slots=True)
class _Question:
    """The state of one provider: `began` is when the last look at it began.

    `rested` is when it was last asked or told something: the next look keeps its pace from there.
    `took` is how long the last one took. `late_at` is when one that is open is given up; that time
    does not pass while the machine stands still.
    """

    due: bool = True
    due_since: float = 0.0
    began: float = 0.0
    rested: float = 0.0
    took: float = 0.0
    late_at: float = 0.0
    is_open: bool = False
    given_up: bool = False

    def want(self) -> None:
        """Have it asked."""
        if not self.due:
            self.due, self.due_since = True, time.monotonic()


@dataclass(slots=True)
class _End:
    """How a session ended, the monotonic moment at which that was so, and who knows of it."""

    state: SessionState
    at: float
    planned: bool = False


class Looks:
    """The looks of one controller. Used by the loop's thread alone."""

    def __init__(
        self,
        providers: Mapping[str, SessionProvider],
        specs: Iterable[AgentSpec],
        post: Callable[[Message], None],
        taken: Callable[[str, Observation, float], None] = lambda *_: None,
        given: Given | None = None,
    ) -> None:
        """Look at these providers; `taken` is told what counts as seen, and since when.

        `given` reads the secrets of those who are seen for the first time.
        """
        self._taken = taken
        self._given = given
        self.seen: dict[str, Observation] = {}
        self.pace = PACE
        self._began: dict[str, float] = {}
        self._ends: dict[str, dict[str, _End]] = {}
        self._stood: dict[str, Mapping[str, SessionState]] = {}  # as last seen, outages aside
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
        self._ends = {name: ends for name, ends in self._ends.items() if name in self._providers}
        self._stood = {name: one for name, one in self._stood.items() if name in self._providers}

    def want(self) -> None:
        """Have every provider looked at again, as soon as its pace and its last answer allow."""
        for question in self._questions.values():
            question.want()

    def begin(self) -> None:
        """Ask every provider that is due and may be asked."""
        now = time.monotonic()
        for name, question in self._questions.items():
            if question.due and not question.is_open and now >= self._next(question):
                question.due, question.is_open, question.given_up = False, True, False
                question.began = question.rested = now
                question.late_at = awake.seconds() + LIMIT
                self._workers.submit(partial(self._ask, name))

    def patience(self) -> float | None:
        """Return how long until something has to be done about a look; None: only when asked."""
        now = time.monotonic()
        moments = [
            question.late_at - awake.seconds() if question.is_open else self._next(question) - now
            for question in self._questions.values()
            if (question.is_open and not question.given_up)
            or (question.due and not question.is_open)
        ]
        return max(min(moments), 0.0) if moments else None

    def _next(self, question: _Question) -> float:
        """Return when the next look may begin."""
        rest = min(SHARE * question.took, LONGEST) if self.pace >= PACE else 0.0
        return question.rested + max(self.pace, rest)

    def silent(self) -> list[Looked]:
        """Return what has to be said for providers whose time is up."""
        now = awake.seconds()
        late = []
        for name, question in self._questions.items():
            if question.is_open and not question.given_up and now >= question.late_at:
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
        if not looked.whole:
            return self._take_ends(looked)
        began = looked.told_at
        if began is not None and not self.takes_words(looked.provider):
            question.due = True
            return False
        if began is None:
            question.is_open = looked.still_open
            began = question.began
            question.took = time.monotonic() - began
        last = self._began.get(looked.provider, 0.0)
        if began < last and not isinstance(looked.observation, Unseen):
            question.due = question.due or looked.told_at is None
            return False
        self._see(looked.provider, looked.observation, began)
        self._began[looked.provider] = max(began, last)
        self._taken(looked.provider, self.seen[looked.provider], max(began, last))
        return True

    def planned(self, busy: Container[str]) -> None:
        """Take in that a plan was made on what is seen: who is not `busy` was considered.

        Of those that ended it is looked for what they left behind.
        """
        for provider, ends in self._ends.items():
            if not isinstance(self.seen.get(provider), Seen):
                continue
            for name, end in ends.items():
                if not end.planned and name not in busy:
                    end.planned = True
                    self._questions[provider].want()

    def _take_ends(self, looked: Looked) -> bool:
        """Lay ends over what was seen last; without that, look instead."""
        question, seen = self._questions[looked.provider], self.seen.get(looked.provider)
        question.want()
        if not isinstance(looked.observation, Seen):
            return False
        at = looked.told_at or 0.0
        ends = self._ends.setdefault(looked.provider, {})
        ends |= {name: _End(state, at) for name, state in looked.observation.sessions.items()}
        if not isinstance(seen, Seen):
            return False
        now = time.monotonic()
        if now < question.due_since + LONGEST:  # what is done about it comes before the next look
            question.rested = now
        self._see(looked.provider, seen, 0.0)
        self._taken(looked.provider, self.seen[looked.provider], self.began(looked.provider))
        return True

    def _see(self, provider: str, seen: Observation, began: float) -> None:
        """Have this be what was seen last, with the ends that it cannot know of.

        Those are the ones that were told after its look began, and of what it does not find at
        all, those that no plan was made on.
        """
        if not isinstance(seen, Seen):
            self.seen[provider] = seen
            return
        sessions, kept = dict(seen.sessions), {}
        stood = self._stood.get(provider, {})
        for name, end in self._ends.get(provider, {}).items():
            is_gone = name not in sessions
            there = stood.get(name) if is_gone else sessions[name]
            if end.planned if is_gone else end.at < began:
                continue
            kept[name] = end
            if there is not None and _is_same(there, end.state):
                sessions[name] = end.state
        self._ends[provider], self._stood[provider] = kept, sessions
        self.seen[provider] = Seen(sessions)

    def takes_words(self, provider: str) -> bool:
        """Tell whether what a provider says unasked is all there is to know of its sessions.

        Whether an agent's own process lives is not in it. An end is an end whatever else lives.
        """
        return not any(spec.hints.process_names for spec in self._specs[provider])

    def began(self, provider: str) -> float:
        """Return when the look that gave the present answer of a provider began."""
        return self._began.get(provider, 0.0)

    def ages(self, now: float) -> dict[str, float]:
        """Return when the looks began that the present answers come from, on the clock of `now`."""
        passed = time.monotonic()
        return {name: now - (passed - began) for name, began in self._began.items()}

    def silence(self) -> dict[str, str]:
        """Return the providers that did not answer, with the reason."""
        silent = {name: one.reason for name, one in self.seen.items() if isinstance(one, Unseen)}
        new = [name for name in self._providers if name not in self.seen]
        return silent | dict.fromkeys(new, "it has not answered yet")

    def _ask(self, name: str) -> None:
        provider, specs = self._providers.get(name), self._specs.get(name)
        if provider is not None and specs is not None:
            seen = look(provider, specs)
            given = {} if self._given is None else self._given.secrets(seen)
            self._post(Looked(name, seen, given=given))


def _is_same(seen: SessionState, ended: SessionState) -> bool:
    """Tell whether an end is that of the incarnation that was seen."""
    if ended.process is None:  # on another machine
        return seen.process is None and seen.run == ended.run != ""
    return seen.process == ended.process


def news_of(looked: Looked, *, was_lost: bool) -> list[Event]:
    """Return what has to be said when a provider falls silent, or answers again."""
    match looked.observation:
        case Unseen(reason) if not was_lost:
            return [Event(EventType.PROVIDER_LOST, message=f"{looked.provider}: {reason}")]
        case Seen() if was_lost:
            return [Event(EventType.PROVIDER_BACK, message=f"{looked.provider} answers again")]
        case _:
            return []
