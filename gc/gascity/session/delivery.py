"""Getting words into an agent's input box, and proof that they were submitted.

Look, act, look. The words are pasted only where the box is on the screen, empty, for more than a
moment, and nothing else is open; they are submitted only when they are seen in the box; and only
a box that is empty again, or the agent at work on them, is proof. They are never pasted twice; a
second Enter is pressed only while they are seen unsent.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator

from gascity import awake
from gascity.errors import ProviderUnavailable
from gascity.screens.box import Found, find_box
from gascity.screens.classify import classify, has_ended
from gascity.screens.reading import Kind, Reading
from gascity.screens.rules import Rules
from gascity.screens.screen import Screen
from gascity.session.locks import SessionBusy
from gascity.session.receipts import Delivery, Receipt
from gascity.session.terminal import Terminal
from gascity.session.text import spoken

STEADY = 0.1  # seconds for which a box must be seen free
QUIET = 2.0  # seconds without a key of a person who is attached
GLANCE = 0.015  # seconds between two looks
AGAIN = 0.2  # seconds until it is tried again to find the box free
SHOWN = 8.0  # seconds for a paste to show, and more for a long one:
SLOWEST = 20_000.0  # characters a second
STILL = 1.5  # seconds for which a box must not change that shows the words in another way
DULL = 1.5  # seconds without a sign, after which the program is made to look at its terminal
UNSENT = 2.0  # seconds for which words are seen unsent before Enter is pressed again
BARE = 0.3  # seconds for which an empty box must be seen that is the only proof, and more ...
LAGS = 3.0  # ... for a program that is slow: so many times what it took to show the words
PROOF = 4.0  # seconds for the proof to show
MOST_ENTERS = 3
NEEDED = 1.0  # seconds without which nothing is begun: it could be pasted and never submitted
_CALL = 5.0

Hold = Callable[[float], contextlib.AbstractContextManager[None]]


def deliver_to_box(
    terminal: Terminal,
    rules: Rules,
    text: str,
    *,
    hold: Hold,
    deadline: float,
    wait: bool = False,
    raw: bool = False,
) -> Receipt:
    """Hand a message over through the input box that `rules` describe.

    `hold` is the session's lock, taken with a time limit. It is not held while an agent that cannot
    take the message now is waited for. `deadline` is monotonic, and as much later as the machine
    stands still meanwhile: words that were pasted by then would stay in the box, unsent.
    """
    deadline += awake.seconds() - time.monotonic()
    delivery = _Delivery(terminal, rules, spoken(text, rules.talk, raw=raw), deadline)
    if why := delivery.unspeakable():
        return delivery.refused(why)
    while True:
        try:
            with hold(max(deadline - awake.seconds() - NEEDED, 0.0)):
                if deadline - awake.seconds() < NEEDED:
                    return delivery.refused("there was no time left to prove it")
                receipt = delivery.attempt()
        except SessionBusy as problem:
            return delivery.refused(problem.message)
        over = awake.seconds() + AGAIN + NEEDED >= deadline
        if receipt.delivery is not Delivery.REFUSED or not wait or over:
            return receipt
        time.sleep(AGAIN)  # nothing tells when an agent becomes free


_changed = threading.Condition()
_under_way = 0  # messages of this process that were pasted, and are not over


def let_typing_end(timeout: float) -> None:
    """Wait until no message of this process stands in an input box, unsent.

    A process that ended meanwhile would leave its words in the way of all that come later.
    """
    with _changed:
        _changed.wait_for(lambda: not _under_way, timeout)


@contextlib.contextmanager
def _typing() -> Iterator[None]:
    global _under_way  # noqa: PLW0603  it is about the process
    with _changed:
        _under_way += 1
    try:
        yield
    finally:
        with _changed:
            _under_way -= 1
            _changed.notify_all()


class _Delivery:
    """One message on its way."""

    def __init__(self, terminal: Terminal, rules: Rules, words: str, deadline: float) -> None:
        self._terminal = terminal
        self._rules = rules
        self._words = words
        self._seen = _squash(words)  # once: it can be long, and every look compares with it
        self._deadline = deadline
        self._was_working = self._works = self._roused = False
        self._told = 0  # how often the transcript showed the words before they were submitted
        self._lag = 0.0  # what the program took to show the words

    def attempt(self) -> Receipt:
        """Deliver it now, or say why that cannot be."""
        for pause in (STEADY, 0.0):
            screen = self._look()
            if has_ended(screen):
                return Receipt(Delivery.ABSENT, "its program has ended")
            reading = classify(screen, self._rules, screen.drawn_at or time.time())
            if why := obstacle(screen, reading, self._rules):
                self._rouse(screen, reading)
                return self.refused(why)
            time.sleep(pause)  # a box may be drawn before a dialog that covers it
        self._was_working = reading.kind is Kind.WORKING
        with _typing():
            try:
                self._terminal.paste(self._words, timeout=self._left(_CALL))
                if why := self._not_in_the_box():
                    return Receipt(Delivery.UNVERIFIED, why, self._words)
                return self._submit()
            except ProviderUnavailable as problem:  # from here on it may have arrived
                return Receipt(Delivery.UNVERIFIED, problem.message, self._words)

    def _rouse(self, screen: Screen, reading: Reading) -> None:
        """Have a screen drawn again, once, that shows nothing known: it may be in disorder."""
        if reading.is_unknown and not screen.attached and not self._roused:
            self._roused = True
            self._terminal.wake(timeout=self._left(_CALL))

    def unspeakable(self) -> str:
        """Say why these words could never arrive as they are, or never be seen to."""
        words = self._words.strip()
        if not words:
            return "there are no words in it"
        longest = self._rules.talk.longest
        if longest and len(self._words) > longest:
            return f"it takes no message of more than {longest} characters"
        hints = self._rules.box.empty if self._rules.box is not None else ()
        if any(hint.search(words) for hint in hints):
            return "an empty input box shows these very words"
        return ""

    def refused(self, why: str) -> Receipt:
        """Say that nothing was typed."""
        return Receipt(Delivery.REFUSED, why, self._words)

    # --- the words show

    def _not_in_the_box(self) -> str:
        """Wait until the words, and nothing else, stand still in the box; say what is wrong."""
        began = awake.seconds()
        until = began + SHOWN + len(self._words) / SLOWEST
        until = min(until, self._deadline - NEEDED / 2)
        still_since, shown, woken = began, "", False
        covered_since: float | None = None
        while True:
            screen = self._look()
            now = awake.seconds()
            if has_ended(screen):
                return "its program ended while it was typed"
            found = find_box(screen, self._rules.box)
            text = found.text if found is not None and not found.is_empty else ""
            if text != shown:
                self._lag = self._lag or now - began
                shown, still_since = text, now
            elif found is not None and text and not screen.unread:
                still = now - still_since
                if still >= (self._rules.talk.settle if self._are_words(found) else STILL):
                    self._told = self._count_told(screen, found)
                    self._works = classify(screen, self._rules).kind is Kind.WORKING
                    return self._merged(screen, found)
            covered = found is None and self._is_covered(screen)
            covered_since = (covered_since or now) if covered else None
            if now >= until or (covered_since is not None and now - covered_since >= STILL):
                break
            if not shown and not woken and now - began >= DULL:
                self._terminal.wake(timeout=self._left(_CALL))
                woken = True
            time.sleep(GLANCE)  # nothing tells of a program that draws
        if found is None:
            return "its input box went away while it was typed; it was not submitted"
        return "it was pasted and never showed in the input box; it was not submitted"

    def _is_covered(self, screen: Screen) -> bool:
        """Tell whether something asks for a person in the place of the box."""
        kind = classify(screen, self._rules).kind
        return kind in (Kind.DIALOG, Kind.WAITING, Kind.AUTH, Kind.LIMITED)

    def _merged(self, screen: Screen, found: Found) -> str:
        if self._are_words(found):
            return ""
        if not screen.attached and _squash(found.text).startswith(self._seen[:20]):
            return ""  # shown in another way than it was written
        return "other words stand in the input box with it; it was not submitted"

    def _are_words(self, found: Found) -> bool:
        """Tell whether a box shows the words: all, the last rows of many, or a sign for them."""
        signs = self._rules.talk.pasted
        if any(not sign.sub("", found.text, count=1).strip() for sign in signs):
            return True
        shown, words = _squash(found.text), self._seen
        last = _squash("".join(found.text.split("\n")[-3:]))
        rows = found.end - found.begin
        return words.endswith(shown if rows <= 4 else last) if rows > 2 else shown == words

    # --- the words are gone

    def _submit(self) -> Receipt:
        evidence = ""
        attempts = 0
        while attempts < MOST_ENTERS and awake.seconds() < self._deadline:
            talk = self._rules.talk
            keys = talk.queue if self._works and talk.queue else talk.submit
            self._terminal.press(keys, timeout=self._left(_CALL))
            attempts += 1
            until = min(awake.seconds() + PROOF, self._deadline)
            evidence, proven = self._proof(until)
            if proven:
                return Receipt(Delivery.SUBMITTED, evidence, self._words, attempts)
            if evidence != _UNSENT:
                break
        return Receipt(Delivery.UNVERIFIED, evidence, self._words, attempts)

    def _proof(self, until: float) -> tuple[str, bool]:
        """Look until something is proven, or until the words are seen unsent for a while."""
        unsent_since: float | None = None
        empty_since: float | None = None
        while True:
            screen = self._look()
            now = awake.seconds()
            if has_ended(screen):
                return "its program ended when it was submitted", False
            found = find_box(screen, self._rules.box)
            empty = found is not None and found.is_empty
            empty_since = (empty_since or now) if empty else None
            if empty_since is not None and now - empty_since >= self._bare():
                return self._how_it_was_taken(screen), True
            if taken := self._at_work_on_it(screen, found):
                return taken, True
            unsent = found is not None and not found.is_empty and self._are_words(found)
            # While it stands still, another Enter would wait there for whatever it asks next.
            unsent_since = (unsent_since or now) if unsent and not screen.unread else None
            if unsent_since is not None and now - unsent_since >= UNSENT:
                return _UNSENT, False
            if now >= until:
                return (_UNSENT if unsent_since is not None else _UNPROVEN), False
            time.sleep(GLANCE)  # nothing tells of a program that draws

    def _bare(self) -> float:
        """Return how long an empty box must be seen: it may be empty between two pictures."""
        return min(BARE + LAGS * self._lag, PROOF / 2)

    def _how_it_was_taken(self, screen: Screen) -> str:
        reading = classify(screen, self._rules, time.time())
        if reading.kind is Kind.WORKING:
            return "it keeps it for its next turn" if self._was_working else "it works on it"
        return "the input box is empty again"

    def _at_work_on_it(self, screen: Screen, found: Found | None) -> str:
        """Say what proves it on a screen that shows no box, or a box with other words."""
        if found is not None and self._are_words(found):
            return ""
        reading = classify(screen, self._rules, time.time())
        if found is None and reading.kind is Kind.WORKING and not self._was_working:
            return "it works on it"
        if self._count_told(screen, found) > self._told:
            return f"it shows the message{_and_asks(reading)}"
        return ""

    def _count_told(self, screen: Screen, found: Found | None) -> int:
        """Count the rows outside of the input box that show how the words begin."""
        beginning = _squash(self._words.split("\n")[0])[:60]
        if len(beginning) <= 3 or self._rules.box is None:
            return 0
        above = screen.rows if found is None else screen.rows[: found.begin]
        rows = list(above)
        if found is None and classify(screen, self._rules).kind is None:
            # A box may be there that is not known for one: what looks like it does not count.
            rows = [row for row in above if self._rules.box.first.match(row) is None]
        return sum(beginning in _squash(row) for row in rows)

    def _look(self) -> Screen:
        look = self._terminal.look
        return awake.again(lambda: look(timeout=self._left(_CALL)), ProviderUnavailable)

    def _left(self, most: float) -> float:
        return max(min(most, self._deadline - awake.seconds()), 0.2)


_UNSENT = "the words stand in its input box, unsent"
_UNPROVEN = "nothing on its screen proves that it took it"
# Characters without a cell of their own, which terminals keep or drop as they like.
_UNSEEN = re.compile(r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")


def obstacle(screen: Screen, reading: Reading, rules: Rules) -> str:
    """Say why nothing may be typed at this screen; the empty string when it may be."""
    match reading.kind:
        case Kind.DIALOG:
            return f'a dialog is open ("{reading.rule}")'
        case Kind.WAITING:
            return f"it waits for a person: {reading.evidence}"
        case Kind.LIMITED if reading.until is None or reading.until > time.time():
            return f"its limit is used up: {reading.evidence}"
        case Kind.AUTH:
            return f"it is not logged in: {reading.evidence}"
        case _:
            pass
    if not reading.has_box:
        working = reading.kind is Kind.WORKING
        return "it is working" if working else "its input box is not on the screen"
    if reading.kind is Kind.WORKING and not rules.talk.while_working:
        return "it is working"
    if (rules.backend and screen.reads_lines) or screen.unread:
        return "its program shows an input box and does not read it"
    found = find_box(screen, rules.box)
    if found is not None and not found.is_empty:
        return "somebody's unsent words are in its input box"
    if screen.attached and screen.quiet < QUIET:
        return "somebody is typing there"
    return ""


def _and_asks(reading: Reading) -> str:
    return f" and asks: {reading.evidence}" if reading.kind in (Kind.DIALOG, Kind.WAITING) else ""


def _squash(text: str) -> str:
    """Return what is seen of a text, without blanks, with accents written in one of their ways."""
    return "".join(unicodedata.normalize("NFC", _UNSEEN.sub("", text)).split())
