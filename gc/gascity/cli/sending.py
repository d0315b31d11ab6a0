"""Sending a message on its way, and saying what became of it.

Whatever is not proven ends in one sentence that says what to do next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from gascity.cli.city import Here, find_agent, reach
from gascity.cli.concealed import secrets_now
from gascity.config.problems import visible
from gascity.core.fingerprint import conceal
from gascity.errors import Exit, NotRunning

SLACK = 10.0  # seconds that the controller may need besides those for the message
LONGEST_SHOWN = 200

_ADVICE = (
    ("somebody's unsent words", "`gc attach {agent}` to send or clear them"),
    ("somebody is typing", "try again when they are done, or keep it with `--queue`"),
    ("a dialog is open", "`gc explain {agent}` shows it and what would answer it"),
    ("it waits for a person", "`gc attach {agent}` to answer it"),
    ("its limit is used up", "`--queue` keeps the message until the limit is over"),
    ("it is not logged in", "`gc attach {agent}` to log in"),
    ("it is working", "`--queue` keeps the message until it is free"),
    ("its input box is not on the screen", "`gc explain {agent}` shows what is"),
    ("there was no time left", "try again with a longer `--timeout`"),
    ("session ", "try again with a longer `--timeout`"),
    ("its program shows an input box and does not", "try again with a longer `--timeout`"),
    ("an empty input box shows these very words", "say it in other words"),
    ("it is still starting", "try again with a longer `--timeout`, or keep it with `--queue`"),
    ("it takes no message", "put it into a file and send its name"),
    ("there was no room", "try again when it has read what waits for it"),
    ("it reads lines", "send it in shorter lines"),
)


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a message; printed as JSON with exactly these keys."""

    agent: str
    delivery: str
    evidence: str
    text: str
    attempts: int
    elapsed: float

    @property
    def exit_code(self) -> Exit:
        """0 only where it is proven that the agent took it."""
        codes = {"submitted": Exit.OK, "absent": Exit.NOT_RUNNING}
        return codes.get(self.delivery, Exit.NOT_DELIVERED)


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that is kept; printed as JSON with exactly these keys."""

    agent: str
    delivery: str
    evidence: str
    text: str
    attempts: int
    elapsed: float
    number: int
    expires_at: float


def send(here: Here, name: str, text: str, *, wait: bool, raw: bool, timeout: float) -> Sent:
    """Have a message delivered, by the controller or, where there is none, from here."""
    params = {"agents": [name], "text": text, "wait": wait, "raw": raw, "timeout": timeout}
    try:
        answered = here.ask("nudge", params, timeout=timeout + SLACK)
    except NotRunning:
        spec, provider = reach(here, name)
        secrets = secrets_now(spec, provider, timeout=timeout)
        given = provider.nudge(spec.session, text, timeout=timeout, wait=wait, raw=raw)
        elapsed = round(given.elapsed, 3)
        said_so = conceal(given.evidence, secrets)
        return Sent(spec.name, str(given.delivery), said_so, given.text, given.attempts, elapsed)
    said = answered if isinstance(answered, dict) else {}
    return Sent(
        agent=name,
        delivery=str(said.get("delivery", "unverified")),
        evidence=str(said.get("evidence", "")),
        text=str(said.get("text", "")),
        attempts=int(said.get("attempts", 0)),
        elapsed=round(float(said.get("elapsed", 0.0)), 3),
    )


def queue(here: Here, name: str, text: str, *, raw: bool, expires: float) -> Queued:
    """Have a message kept until the agent can take it, at most for `expires` seconds."""
    params = {"agents": [name], "text": text, "raw": raw, "expires": expires}
    try:
        answered = here.ask("queue_nudge", params, timeout=SLACK)
    except NotRunning:
        number, until = _queue_alone(here, name, text, raw=raw, expires=expires)
        why = "no controller runs; the next one delivers it"
    else:
        said = answered if isinstance(answered, dict) else {}
        number = int(said.get("number", 0))
        until = float(said.get("expires_at", 0.0))
        why = str(said.get("evidence", ""))
    return Queued(name, "queued", why, text, 0, 0.0, number, until)


def _queue_alone(
    here: Here, name: str, text: str, *, raw: bool, expires: float
) -> tuple[int, float]:
    from gascity.controller.place import Place
    from gascity.journal.store import Journal

    city = here.load()
    spec = find_agent(city, name)
    place = Place(city.root)
    place.prepare()
    journal = Journal(place.journal)
    try:
        now = time.time()
        kept = journal.nudges.add(
            spec.name, spec.session, text, at=now, expires_at=now + expires, raw=raw
        )
    finally:
        journal.close()
    return kept.number, kept.expires_at


def sentence(sent: Sent) -> str:
    """Return one line: what became of a message and, unless all is well, what to do."""
    why = visible(" ".join(sent.evidence.split()))
    match sent.delivery:
        case "submitted":
            return f"{sent.agent}: submitted" + (f" ({why})" if why else "")
        case "absent":
            reason = f" ({why})" if why else ""
            return f"{sent.agent}: not running{reason}, nothing was sent; `gc status` tells more"
        case "refused":
            reason = why or "the agent does not read its input now"
            return f"{sent.agent}: not sent: {reason}; {advice(sent.agent, sent.evidence)}"
        case _:
            reason = why or "nothing shows that the agent took it"
            look = f"look with `gc peek {sent.agent}`, and do not send it again before you know"
            return f"{sent.agent}: not proven: {reason}; {look}"


def advice(agent: str, evidence: str) -> str:
    """Return what to do about a message that was refused for this reason."""
    for reason, advised in _ADVICE:
        if evidence.startswith(reason):
            return advised.format(agent=agent)
    return f"`gc peek {agent}` shows what it does"


def change(given: str, sent: Sent) -> str:
    """Return a line that says what was sent in the place of what was given; "" when the same."""
    same = given.replace("\r\n", "\n").rstrip("\n")
    if sent.delivery not in ("submitted", "unverified") or sent.text in ("", same):
        return ""
    shown = sent.text
    if len(shown) > LONGEST_SHOWN:
        half = LONGEST_SHOWN // 2
        shown = f"{shown[:half]} ... {shown[-half:]}"
    return f'it was changed to be harmless; sent was: "{visible(shown)}"'
