"""Messages and dialogs of programs in a guest, as hard as on this machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.guests.daemon import Daemon
from tests.zoo.dialog_cases import Case
from tests.zoo.dialogs import Spec
from tests.zoo.keeping import ROOT, session_of
from tests.zoo.ledger import Sent, compare, read_log, taken
from tests.zoo.rules import BOOK

from gascity.core.model import SessionConfig
from gascity.screens.reading import Policy
from gascity.session.dialogs import answer
from gascity.session.provider import CityContext
from gascity.session.receipts import Delivery
from gascity.testing.eventually import eventually
from gascity_guest import Provider

pytestmark = pytest.mark.tmux

LIMIT = 60.0
TEXTS = (
    "x",
    "-n 'one' \"two\" $HOME\n\n  日本語 🎉 e\u0301\r\nand a\ttab;",
    "/word\nlook at @",
)
PROGRAMS = ["plain", "paste-burst", "alternate", "shell", "folding", "sleeper", "first-enter"]


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    (tmp_path / "guest").mkdir()
    (tmp_path / ".gc").mkdir()
    daemon = Daemon(tmp_path / "guest")
    daemon.start()
    table = {"socket": daemon.socket, "width": 120, "height": 40}
    context = CityContext("t", uuid.uuid4().hex, str(tmp_path / ".gc"), table, screens=BOOK)
    made = Provider(context)
    yield made
    for name in made.observe(timeout=LIMIT):
        made.stop(name, grace=0.2, timeout=LIMIT)
    made.close()
    daemon.stop()


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_text_arrives_as_the_receipt_says(
    provider: Provider, tmp_path: Path, program: str
) -> None:
    log = tmp_path / "log"
    provider.start("a", session_of(program, tmp_path, log), timeout=LIMIT)

    receipts = [provider.nudge("a", text, timeout=LIMIT, wait=True) for text in TEXTS]

    sent = [Sent(receipt.delivery, receipt.text) for receipt in receipts]
    assert [receipt.delivery for receipt in receipts] == [Delivery.SUBMITTED] * len(TEXTS)
    assert not compare(sent, read_log(log))
    assert taken(read_log(log)) == [text for _, text in sent]


@pytest.mark.parametrize(
    "spec",
    [
        Spec(("No, exit", "Yes, I accept")),
        Spec(("Ask later", "Yes, I accept", "No, exit"), default=2, numbers="({})", glyph="●"),
        Spec(("No, exit", "Yes, I accept"), burst=True, lag=0.3),
    ],
    ids=["the default is to leave", "renumbered", "acts on the old selection"],
)
def test_a_dialog_is_answered_by_its_label(provider: Provider, tmp_path: Path, spec: Spec) -> None:
    log = tmp_path / "log"
    command = shlex.join([sys.executable, "-S", "-m", "tests.zoo.dialogs", spec.json()])
    env = {"PYTHONPATH": str(ROOT), "ZOO_LOG": str(log), "LANG": "C.UTF-8"}
    env["PATH"] = os.environ["PATH"]
    config = SessionConfig(f"exec {command}", str(tmp_path), env)
    provider.start("a", config, timeout=LIMIT)
    terminal = provider.terminal("a")
    assert terminal is not None
    eventually(lambda: "Quick check" in terminal.look(timeout=LIMIT).text, within=LIMIT)
    case = Case(spec, 0, Policy.ACCEPT, re.compile("Yes, I accept"), 0)

    said = answer(terminal, case.rules, case.rule, Policy.ACCEPT, deadline=time.monotonic() + LIMIT)

    assert said.done, said
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [line["text"] for line in lines if line["event"] == "chosen"] == ["1"]
