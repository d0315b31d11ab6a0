"""Real controllers that stand by, lead, lose the lead and give it back."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from tests.integration.controller.shelf import Shelf

from gascity.core.naming import city_id
from gascity.session.leadership import News
from gascity.testing.eventually import eventually
from gascity_kubernetes.election import ACTS, DURATION
from gascity_kubernetes.lease import LeaseLeadership, lease_name, lease_of

ROOT = str(Path(__file__).parents[3])
PROGRAM = str(Path(__file__).with_name("leased.py"))
CITY = """\
[workspace]
name = "town"
[session]
provider = "leased"
[daemon]
patrol_interval = "1s"
shutdown_timeout = "2s"
[[agents]]
name = "a"
start_command = "sleep 1000"
"""


@dataclass
class Place:
    """A city whose lead lies on a shelf."""

    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    claims: list[LeaseLeadership] = field(default_factory=list)

    @property
    def name(self) -> str:
        return lease_name("town", city_id(str(self.folder)))

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.folder.parent / "lease")

    @property
    def state(self) -> Path:
        return self.folder / ".gc"

    def be_free(self) -> None:
        """Let the lease be one that was given back."""
        self.shelf.put(dict(lease_of({"name": self.name}, "", 0, "")))

    def gc(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, PROGRAM, "-C", str(self.folder), *words],
            env={**self._environment(), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def start(self) -> subprocess.Popen[str]:
        above = self.folder.parent
        with (above / "out").open("w") as out, (above / "err").open("w") as err:
            process = subprocess.Popen(
                [sys.executable, PROGRAM, "-C", str(self.folder), "start"],
                env={**self._environment(), "GC_LEADER_ELECT": "1", "POD_NAME": "pod"},
                stdout=out,
                stderr=err,
                text=True,
            )
        self.processes.append(process)
        return process

    def rival(self) -> LeaseLeadership:
        """Return another who strives for the lead, in this process."""
        claim = LeaseLeadership(self.shelf, self.name, "rival_1")
        told: list[News] = []
        claim.begin(told.append)
        self.claims.append(claim)
        return claim

    @property
    def said(self) -> str:
        return (self.folder.parent / "out").read_text()

    @property
    def complained(self) -> str:
        return (self.folder.parent / "err").read_text()

    def happened(self, kind: str) -> list[str]:
        if not (self.state / "city.db").exists():
            return []
        journal = sqlite3.connect(f"file:{self.state / 'city.db'}?mode=ro", uri=True)
        try:
            rows = journal.execute("SELECT message FROM event WHERE type = ?", [kind])
            return [str(message) for (message,) in rows]
        except sqlite3.OperationalError:  # it is being made
            return []
        finally:
            journal.close()

    def agents(self) -> list[psutil.Process]:
        """Return the processes of the agent, found by what they are and where they work."""
        wanted = {"cmdline": ["sleep", "1000"], "cwd": str(self.folder)}
        return [one for one in psutil.process_iter(list(wanted)) if one.info == wanted]

    def end(self) -> None:
        for claim in self.claims:
            claim.resign(give_back=False)
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
        stopped = self.gc("stop")
        assert stopped.returncode == 0, stopped.stderr

    def _environment(self) -> dict[str, str]:
        found = {"LEASED_SHELF": str(self.shelf.path), "PYTHONPATH": ROOT}
        return {**os.environ, **found}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = tmp_path.resolve() / "town"
    folder.mkdir()
    (folder / "city.toml").write_text(CITY)
    found = Place(folder)
    yield found
    found.end()


def test_one_who_stands_by_touches_nothing_and_ends_when_told_to(place: Place) -> None:
    place.be_free()
    rival = place.rival()
    eventually(rival.leads)
    process = place.start()
    eventually(lambda: place.said == "standing by: rival leads\n")

    assert not place.state.exists()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert place.complained == ""
    assert place.shelf.holder == "rival_1"


@pytest.mark.parametrize(
    "words",
    [
        ("stop",),
        ("stop", "a"),
        ("restart", "a"),
        ("drain", "a"),
        ("nudge", "a", "hello"),
        ("nudge", "--queue", "a", "hello"),
    ],
    ids=" ".join,
)
def test_nothing_is_changed_or_kept_beside_one_who_stands_by(
    place: Place, words: tuple[str, ...]
) -> None:
    done = place.gc(*words, GC_LEADER_ELECT="1")

    assert done.returncode == 7
    assert done.stdout == ""
    assert done.stderr.startswith("error: no controller leads here")
    assert not place.state.exists()


def test_everything_can_be_looked_at_beside_one_who_stands_by(place: Place) -> None:
    done = place.gc("status", GC_LEADER_ELECT="1")

    assert done.returncode == 0, done.stderr


def test_a_leader_acts_and_gives_the_lead_back_when_it_ends(place: Place) -> None:
    place.be_free()
    process = place.start()
    eventually(place.agents)
    eventually(lambda: place.happened("session.started"))
    assert place.happened("controller.leading") == ["as pod, because nobody led"]
    assert "took the lead: as pod, because nobody led" in place.said
    rival = place.rival()

    process.send_signal(signal.SIGTERM)

    assert process.wait(60) == 0
    eventually(rival.leads)
    assert len(place.agents()) == 1


def test_one_who_is_told_to_end_when_it_just_began_to_lead_gives_the_lead_back(
    place: Place,
) -> None:
    place.be_free()
    place.shelf.shut.touch()
    process = place.start()
    eventually(lambda: place.shelf.holder.startswith("pod_"))
    eventually((place.state / "controller.lock").exists)

    process.send_signal(signal.SIGTERM)
    place.shelf.shut.unlink()

    assert process.wait(60) == 0
    assert place.shelf.holder == ""
    assert place.happened("controller.stopped") == ["it got SIGTERM"]


def test_the_first_controller_ever_waits_and_then_leads(place: Place) -> None:
    place.start()

    eventually(lambda: "standing by: nobody leads yet\n" in place.said)
    eventually(place.agents)


def test_settings_of_sessions_may_change_while_one_stands_by(place: Place) -> None:
    place.be_free()
    rival = place.rival()
    eventually(rival.leads)
    process = place.start()
    eventually(lambda: place.said)
    settings = '[session.leased]\nparallel = 3\nlook = "other"\n[daemon]'
    (place.folder / "city.toml").write_text(CITY.replace("[daemon]", settings))

    rival.resign(give_back=True)

    eventually(place.agents)
    assert process.poll() is None


def test_one_who_stood_by_for_another_lease_does_not_lead(place: Place) -> None:
    place.be_free()
    rival = place.rival()
    eventually(rival.leads)
    process = place.start()
    eventually(lambda: place.said)
    settings = '[session.leased]\nwhere = "elsewhere"\n[daemon]'
    (place.folder / "city.toml").write_text(CITY.replace("[daemon]", settings))

    rival.resign(give_back=True)

    assert process.wait(60) == 1
    assert "changed while this controller stood by" in place.complained
    assert place.agents() == []
    assert place.shelf.holder == ""


def test_a_leader_that_slept_does_not_act_when_it_wakes(place: Place) -> None:
    place.be_free()
    process = place.start()
    eventually(lambda: place.happened("session.started"))
    process.send_signal(signal.SIGSTOP)
    rival = place.rival()
    eventually(rival.leads, within=DURATION + 5)
    for agent in place.agents():
        agent.kill()  # a reason to start it again
    eventually(lambda: not place.agents())

    process.send_signal(signal.SIGCONT)

    assert process.wait(60) == 7
    assert "error: this controller does not lead any more: " in place.complained
    assert "hint: the agents were left alone" in place.complained
    assert len(place.happened("session.started")) == 1
    assert place.happened("controller.stopped") == []  # another may write there by now
    assert place.agents() == []
    assert rival.leads()


def test_a_leader_that_cannot_renew_ends_and_leaves_the_agents_alone(place: Place) -> None:
    place.be_free()
    process = place.start()
    eventually(place.agents)
    eventually(lambda: place.happened("session.started"))
    before = place.agents()

    place.shelf.silence.touch()

    assert process.wait(ACTS + 60) == 7
    place.shelf.silence.unlink()
    assert place.agents() == before
    assert "its lease could not be renewed for 6 s" in place.complained
    assert place.happened("controller.stopped") == [
        "this controller does not lead any more: its lease could not be renewed for 6 s"
    ]


def test_a_city_on_one_machine_has_no_leader_to_elect(place: Place) -> None:
    (place.folder / "city.toml").write_text(CITY.replace("leased", "subprocess"))

    done = place.gc("start", "--leader-elect")

    assert done.returncode == 2
    assert done.stderr.startswith("error: sessions on subprocess have one controller")
    assert not place.state.exists()


def test_one_who_stands_by_does_so_in_the_foreground(place: Place) -> None:
    done = place.gc("start", "--leader-elect", "--detach")

    assert done.returncode == 2
    assert "in the foreground" in done.stderr
