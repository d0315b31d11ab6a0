"""The account of an agent: one case for every kind of decision, each a real plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from gascity.core.case import Scene
from gascity.core.fingerprint import canonical, fingerprint
from gascity.core.memory import (
    FRESH,
    HELD,
    AgentMemory,
    Excuse,
    Memory,
    after_failed_start,
    drain,
    hold,
    recycle,
)
from gascity.core.model import AgentSpec, Desired, OnDrift, OnIdle, PoolSpec, RestartPolicy
from gascity.core.moments import told
from gascity.core.nudges import QueuedNudge
from gascity.core.observed import (
    AGENT,
    CITY_ID,
    CONFIG,
    CONFIG_HASH,
    DRAIN,
    DRAINED,
    RESTART_REQUESTED,
    RUN,
    STARTING,
    Alive,
    Exited,
    Observation,
    Observed,
    ProcessId,
    Seen,
    SessionState,
    Shown,
    Standing,
    Unseen,
)
from gascity.core.plan import plan
from gascity.core.views import State
from gascity.core.why import Why, account
from gascity.screens.reading import Kind, Policy, Reading

CITY = "c0ffee"
NOW = 100_000.0
SESSION = "gc-c-mayor"
POLICY = RestartPolicy(max_restarts=2, window=3600, first_delay=10, longest_delay=300)


def made(name: str = "mayor", command: str = "claude", **changes: object) -> AgentSpec:
    spec = AgentSpec(name, f"gc-c-{name}", "tmux", "claude", command, ".", "", restarts=POLICY)
    spec = replace(spec, **changes)  # type: ignore[arg-type]  # the tests name real fields
    return replace(spec, fingerprint=fingerprint(command, spec.env, {}))


MAYOR = made()
NOTHING = Memory()


def session(spec: AgentSpec = MAYOR, **changes: object) -> SessionState:
    meta = {
        CITY_ID: CITY,
        AGENT: spec.name,
        CONFIG_HASH: spec.fingerprint,
        CONFIG: canonical(spec.base_command, spec.env, {}),
        RUN: "r1",
    }
    process = ProcessId(42, "x")
    state = SessionState(spec.session, Alive(), process, created=NOW - 50, meta=meta)
    return replace(state, **changes)  # type: ignore[arg-type]  # the tests name real fields


def flagged(state: SessionState, **values: str) -> SessionState:
    return replace(state, meta={**state.meta, **values})


def screen(kind: Kind | None, **changes: object) -> dict[str, Shown]:
    reading = Reading(kind, rule="rule-1", evidence="a row", has_box=kind is Kind.READY)
    reading = replace(reading, **changes)  # type: ignore[arg-type]  # the tests name real fields
    return {SESSION: Shown("r1", reading, since=NOW - 60, still=NOW - 40)}


def known(**values: object) -> Memory:
    values = {"fingerprint": MAYOR.fingerprint, **values}
    agent = replace(FRESH, **values)  # type: ignore[arg-type]  # the tests name real fields
    return Memory({SESSION: agent})


@dataclass(frozen=True)
class Life:
    """A city in which something is to be explained about the mayor."""

    states: tuple[SessionState, ...] = ()
    specs: tuple[AgentSpec, ...] = (MAYOR,)
    pools: tuple[PoolSpec, ...] = ()
    memory: Memory = NOTHING
    shown: dict[str, Shown] | None = None
    busy: dict[str, str] | None = None
    queued: dict[str, QueuedNudge] | None = None
    others: dict[str, Observation] | None = None
    unresolved: dict[str, str] | None = None
    ending: bool = False
    kept: bool = True
    who: str = "mayor"
    problem: str = ""

    def scene(self) -> Scene:
        providers: dict[str, Observation] = {"tmux": Seen({one.name: one for one in self.states})}
        desired = Desired(
            "c", CITY, self.specs, self.pools, self.unresolved or {}, ending=self.ending
        )
        observed = Observed(
            providers | (self.others or {}),
            busy=self.busy or {},
            shown=self.shown or {},
            queued=self.queued or {},
            looked_at={"tmux": NOW - 2},
        )
        decided = plan(desired, observed, self.memory, NOW)
        return Scene(desired, observed, decided, NOW, kept=self.kept)


def when(at: float) -> str:
    return f"T{round(at - NOW):+d}"


def told_of(life: Life) -> Why:
    found = account(life.scene(), life.who, config_problem=life.problem)
    assert found is not None
    return found.spoken(lambda text: told(text, when))


DRIFTED = session(made(command="claude --old", env={"API_TOKEN": "opensesame", "MODE": "a"}))
NEW = made(env={"API_TOKEN": "changed-it", "MODE": "b"})
DIED = session(life=Exited(code=3))
AFAR = session(standing=Standing.PENDING, condition="0/3 nodes are available")
POOL = PoolSpec("mayor", 0, 3, (made("mayor-1", pool="mayor"), made("mayor-2", pool="mayor")))
CRASHED = {"run": "", "counted": "r1", "last_end": "exited with status 3", "provider": "tmux"}
MANY = tuple(made(f"a{number}") for number in range(12))

CASES: dict[str, tuple[Life, State, str]] = {
    "never started": (
        Life(),
        State.STARTING,
        "it never ran and is wanted by the city, so it is started now",
    ),
    "down without a reason": (
        Life(memory=known(counted="r0")),
        State.STARTING,
        "it does not run and is wanted by the city, so it is started now",
    ),
    "waits for another": (
        Life(specs=(replace(MAYOR, depends_on=("db",)), made("db"))),
        State.STARTING,
        "it depends on db, which is not up, so it waits for db",
    ),
    "being started": (
        Life(busy={SESSION: "starting: wanted by the city"}),
        State.STARTING,
        "the controller is at work on it (starting: wanted by the city)",
    ),
    "pending": (
        Life((AFAR,), memory=known(run="r1", provider="tmux", away="pending", away_since=NOW - 7)),
        State.PENDING,
        "it is not up yet: 0/3 nodes are available",
    ),
    "pending while it is started": (
        Life((AFAR,), busy={SESSION: "starting: wanted by the city"}),
        State.PENDING,
        "it is not up yet: 0/3 nodes are available",
    ),
    "pending and waits for another": (
        Life((AFAR,), specs=(replace(MAYOR, depends_on=("db",)), made("db"))),
        State.PENDING,
        "it is not up yet, and waits for db, which is not up",
    ),
    "pending without a controller": (
        Life((AFAR,), kept=False),
        State.PENDING,
        "it is not up yet: 0/3 nodes are available",
    ),
    "lost": (
        Life((replace(AFAR, standing=Standing.LOST, condition="node-3 does not answer"),)),
        State.LOST,
        "node-3 does not answer; it may live there, so it is not restarted",
    ),
    "ending": (
        Life((replace(AFAR, standing=Standing.ENDING, condition=""),)),
        State.ENDING,
        "somebody ends it; it is left alone until it is gone",
    ),
    "first crash": (
        Life((DIED,), memory=known(run="r1", provider="tmux")),
        State.STARTING,
        "it is started again: it crashed: exited with status 3",
    ),
    "killed": (
        Life((session(life=Exited(signal=9)),)),
        State.STARTING,
        "it is started again: it crashed: killed by signal 9",
    ),
    "failed start": (
        Life(memory=after_failed_start(Memory(), SESSION, now=NOW - 12, why="no such command")),
        State.STARTING,
        "it is started again: the start failed: no such command",
    ),
    "backoff after a failed start": (
        Life(memory=after_failed_start(Memory(), SESSION, now=NOW - 1, why="no such command")),
        State.BACKOFF,
        "the start failed: no such command; it is started again at T+8",
    ),
    "backoff": (
        Life(memory=known(**CRASHED, restarts=(NOW - 20,), ended_at=NOW - 1)),
        State.BACKOFF,
        "it crashed: exited with status 3; it is started again at T+8",
    ),
    "quarantine": (
        Life(memory=known(**CRASHED, restarts=(NOW - 60, NOW - 30), ended_at=NOW - 1)),
        State.QUARANTINED,
        (
            "it crashed: exited with status 3, too often: 2 restarts are used up within 1h;"
            " it is left alone until T+3540, and `gc reset mayor` tries at once"
        ),
    ),
    "quarantine after failed starts": (
        Life(memory=known(failures=(NOW - 60, NOW - 30, NOW - 1), last_failure="no such command")),
        State.QUARANTINED,
        (
            "the start failed: no such command, too often: 3 starts failed within 1h;"
            " it is left alone until T+3540, and `gc reset mayor` tries at once"
        ),
    ),
    "mass death": (
        Life(
            specs=MANY,
            memory=Memory(
                {
                    spec.session: AgentMemory(
                        run="r1", provider="tmux", fingerprint=spec.fingerprint
                    )
                    for spec in MANY
                }
            ),
            who="a11",
        ),
        State.BACKOFF,
        (
            "it crashed: the session is gone, nobody saw how; many died at once,"
            " so they come back a few at a time"
        ),
    ),
    "drift, attached": (
        Life((replace(DRIFTED, attached=1),), specs=(NEW,)),
        State.READY,
        (
            "its configuration changed (command; env.API_TOKEN, a secret; env.MODE);"
            " somebody is attached, so it waits, at the latest until T+120"
        ),
    ),
    "drift, at work": (
        Life((DRIFTED,), specs=(NEW,), shown=screen(Kind.WORKING)),
        State.WORKING,
        (
            "its configuration changed (command; env.API_TOKEN, a secret; env.MODE);"
            " it is working, so it waits, at the latest until T+120"
        ),
    ),
    "drift, only told": (
        Life((DRIFTED,), specs=(replace(NEW, on_drift=OnDrift.NOTIFY),)),
        State.READY,
        (
            "its configuration changed (command; env.API_TOKEN, a secret; env.MODE);"
            " `gc restart mayor` replaces it"
        ),
    ),
    "drift, others first": (
        Life(
            (*(session(replace(one, fingerprint="old")) for one in MANY[:4]),),
            specs=MANY[:4],
            who="a3",
        ),
        State.READY,
        "its configuration changed; others are replaced first",
    ),
    "drift, replaced": (
        Life((DRIFTED,), specs=(NEW,)),
        State.STARTING,
        (
            "it is replaced by a new incarnation: its configuration changed"
            " (command; env.API_TOKEN, a secret; env.MODE)"
        ),
    ),
    "drift, drains": (
        Life((DRIFTED,), specs=(replace(NEW, on_drift=OnDrift.DRAIN),)),
        State.DRAINING,
        (
            "its configuration changed (command; env.API_TOKEN, a secret; env.MODE),"
            " so it drains since T+0; it is stopped at T+300 if it has not finished by then"
        ),
    ),
    "drains for a person": (
        Life((session(),), memory=drain(Memory(), SESSION)),
        State.DRAINING,
        (
            "a person asked it to drain, so it drains since T+0;"
            " it is stopped at T+300 if it has not finished by then"
        ),
    ),
    "drains without a limit": (
        Life(
            (session(),),
            specs=(replace(MAYOR, drain_timeout=0.0),),
            memory=drain(Memory(), SESSION),
        ),
        State.DRAINING,
        "a person asked it to drain, so it drains since T+0; it may take as long as it needs",
    ),
    "has drained": (
        Life((flagged(session(), **{DRAINED: "r1"}),), memory=drain(Memory(), SESSION)),
        State.DRAINING,
        "a person asked it to drain; it has drained; it is stopped now",
    ),
    "drained": (
        Life(memory=drain(Memory(), SESSION)),
        State.STOPPED,
        "it was drained with `gc drain`; `gc undrain` brings it back",
    ),
    "pool drains": (
        Life((session(POOL.members[0]),), specs=(), pools=(POOL,), who="mayor-1"),
        State.DRAINING,
        (
            "the pool does not need it, so it drains since T+0;"
            " it is stopped at T+300 if it has not finished by then"
        ),
    ),
    "pool does not need it": (
        Life(specs=(), pools=(POOL,), who="mayor-2"),
        State.STOPPED,
        "the pool does not need it: 0 of at most 3 are wanted",
    ),
    "suspended": (
        Life(specs=(replace(MAYOR, suspended=True),)),
        State.SUSPENDED,
        "it is suspended in the city file",
    ),
    "held": (
        Life(memory=hold(Memory(), SESSION, HELD)),
        State.STOPPED,
        "it was stopped with `gc stop`; `gc restart` starts it again",
    ),
    "held and still there": (
        Life((session(),), memory=hold(Memory(), SESSION, HELD)),
        State.STOPPED,
        "it was stopped with `gc stop`; `gc restart` starts it again, so it is stopped now",
    ),
    "orphan": (
        Life((session(),), specs=()),
        State.DRAINING,
        "it is no longer in the city file; it is looked at once more before it is stopped",
    ),
    "orphan, seen twice": (
        Life((session(),), specs=(), memory=known(orphan_since=NOW - 5)),
        State.STOPPED,
        "it is no longer in the city file, so it is stopped now",
    ),
    "orphan, attached": (
        Life((session(attached=1),), specs=(), memory=known(orphan_since=NOW - 5)),
        State.DRAINING,
        (
            "it is no longer in the city file; somebody is attached, so it waits,"
            " at the latest until T+115"
        ),
    ),
    "moves": (
        Life(
            (session(attached=1),),
            specs=(replace(MAYOR, provider="other"),),
            others={"other": Seen()},
            memory=known(orphan_since=NOW - 5),
        ),
        State.UNKNOWN,
        (
            "its session on tmux has to end first: it moves to other;"
            " somebody is attached, so it waits, at the latest until T+115"
        ),
    ),
    "silent provider": (
        Life(
            specs=(replace(MAYOR, provider="other"),),
            others={"other": Unseen("it sleeps")},
        ),
        State.UNKNOWN,
        "other does not answer: it sleeps, since T+0; until it does, nothing is done",
    ),
    "unresolved": (
        Life((session(),), specs=(), unresolved={SESSION: "no such prompt file"}),
        State.UNKNOWN,
        "no such prompt file",
    ),
    "foreign": (
        Life((session(meta={CITY_ID: "other"}),)),
        State.BLOCKED,
        "a session named gc-c-mayor exists that this city did not make; it is left alone",
    ),
    "stranger": (
        Life((session(made("x"), meta={CITY_ID: "other"}),), who="gc-c-x"),
        State.UNKNOWN,
        "gc-c-x on tmux was not made by this city; it is left alone",
    ),
    "limited": (
        Life((session(),), shown=screen(Kind.LIMITED, until=NOW + 200)),
        State.LIMITED,
        "its limit is used up: a row; it goes on at T+200",
    ),
    "limited, nobody knows": (
        Life((session(),), shown=screen(Kind.LIMITED)),
        State.LIMITED,
        "its limit is used up: a row; until when is not known",
    ),
    "ended by its limit": (
        Life(
            (DIED,),
            memory=known(run="r1", provider="tmux", excuse=Excuse.LIMITED, excuse_until=NOW + 90),
        ),
        State.LIMITED,
        "it ended when its limit was used up; it is started again at T+90",
    ),
    "auth": (
        Life((session(),), shown=screen(Kind.AUTH)),
        State.AUTH,
        "it is not logged in: a row",
    ),
    "ended without login": (
        Life((DIED,), memory=known(run="r1", provider="tmux", excuse=Excuse.AUTH)),
        State.AUTH,
        "it ended when it was not logged in; it is tried again at T+300",
    ),
    "waits for a person": (
        Life((session(),), shown=screen(Kind.WAITING)),
        State.WAITING,
        "it waits for a person: a row",
    ),
    "dialog for a person": (
        Life((session(),), shown=screen(Kind.DIALOG, policy=Policy.ASK)),
        State.WAITING,
        'the dialog "rule-1" waits for a person',
    ),
    "dialog being answered": (
        Life((session(),), shown=screen(Kind.DIALOG, policy=Policy.ACCEPT)),
        State.BLOCKED,
        'the dialog "rule-1" is being answered',
    ),
    "dialog answered in vain": (
        Life(
            (session(),),
            shown=screen(Kind.DIALOG, policy=Policy.ACCEPT),
            memory=known(run="r1", provider="tmux", dialog_tries=3),
        ),
        State.BLOCKED,
        'the dialog "rule-1" is still there after 3 tries to answer it',
    ),
    "unknown screen": (
        Life((session(),), shown=screen(None)),
        State.BLOCKED,
        "it shows no input box, and nothing that a rule knows, since T-40",
    ),
    "at work": (
        Life((session(),), shown=screen(Kind.WORKING)),
        State.WORKING,
        "it is at work, since T-60",
    ),
    "stalled": (
        Life((session(),), specs=(replace(MAYOR, stall_timeout=30.0),), shown=screen(Kind.WORKING)),
        State.WORKING,
        "it seems to work, but its screen has not changed for 30 s",
    ),
    "its turn failed": (
        Life((session(),), shown=screen(Kind.ERROR)),
        State.READY,
        "its last turn failed: a row",
    ),
    "ready": (Life((session(),)), State.READY, "it runs as it should"),
    "ready after a crash": (
        Life(
            (session(),),
            memory=known(
                run="r1", provider="tmux", crashed_at=NOW - 51, last_end="killed by signal 9"
            ),
        ),
        State.READY,
        "it runs as it should; it last crashed at T-51: killed by signal 9",
    ),
    "idle": (
        Life(
            (session(last_activity=NOW - 20),),
            specs=(replace(MAYOR, idle_timeout=100.0, on_idle=OnIdle.STOP),),
        ),
        State.READY,
        (
            "it runs as it should; it has been idle since T-20, and it is stopped at T+80"
            " if it stays so"
        ),
    ),
    "idle for too long": (
        Life(
            (session(created=NOW - 500, last_activity=NOW - 200),),
            specs=(replace(MAYOR, idle_timeout=100.0),),
        ),
        State.STARTING,
        "it is replaced by a new incarnation: it was idle for 100 s",
    ),
    "asked for by itself": (
        Life((flagged(session(), **{RESTART_REQUESTED: "r1"}),)),
        State.STARTING,
        "it is replaced by a new incarnation: the agent asked for it",
    ),
    "asked for by a person": (
        Life((session(),), memory=recycle(Memory(), SESSION, "r1")),
        State.STARTING,
        "it is replaced by a new incarnation: a person asked for it",
    ),
    "cut off": (
        Life((flagged(session(), **{STARTING: "r1"}),)),
        State.STARTING,
        "it is replaced by a new incarnation: its start was cut off",
    ),
    "the city ends": (
        Life((session(),), ending=True),
        State.STOPPED,
        "the city is being stopped, so it is stopped now",
    ),
    "the city ends, others first": (
        Life(
            (session(), session(made("clerk"))),
            specs=(MAYOR, made("clerk", depends_on=("mayor",))),
            ending=True,
        ),
        State.DRAINING,
        "the city is being stopped; clerk, which needs it, ends first",
    ),
    "no controller": (
        Life(kept=False),
        State.STOPPED,
        "no controller runs, so nobody starts it",
    ),
    "no controller after a crash": (
        Life((DIED,), kept=False),
        State.STOPPED,
        "no controller runs, so nobody starts it; it crashed: exited with status 3",
    ),
    "no controller, waits": (
        Life(specs=(replace(MAYOR, depends_on=("db",)), made("db")), kept=False),
        State.STOPPED,
        "no controller runs, so nobody starts it; it waits for db",
    ),
    "no controller, had to wait": (
        Life(memory=known(waits="the quota is used up", provider="tmux"), kept=False),
        State.STOPPED,
        "no controller runs, so nobody starts it; the quota is used up",
    ),
    "no controller, drifted": (
        Life((DRIFTED,), specs=(NEW,), kept=False),
        State.READY,
        (
            "no controller runs, so nobody replaces it; its configuration changed"
            " (command; env.API_TOKEN, a secret; env.MODE)"
        ),
    ),
}


@pytest.mark.parametrize(("life", "state", "sentence"), CASES.values(), ids=CASES)
def test_every_decision_is_told_in_a_sentence(life: Life, state: State, sentence: str) -> None:
    found = told_of(life)

    assert found.state == state
    assert found.cause == sentence


def test_every_state_that_a_plan_can_give_is_among_the_cases() -> None:
    assert {state for _, state, _ in CASES.values()} == set(State) - {State.IDLE}


@pytest.mark.parametrize(
    ("name", "waits_for", "until"),
    [
        ("waits for another", "db", None),
        ("backoff", "the time between restarts", 8),
        ("pending", "what it lacks", None),
        ("pending and waits for another", "db", None),
        ("lost", "its machine to answer", None),
        ("ending", "its end", None),
        ("quarantine", "the end of its quarantine", 3540),
        ("mass death", "its turn", None),
        ("drift, attached", "the person who is attached", 120),
        ("drift, at work", "the end of its turn", 120),
        ("drift, only told", "a person", None),
        ("drift, others first", "others that are replaced first", None),
        ("drains for a person", "its work to be finished", 300),
        ("pool does not need it", "more work for its pool", None),
        ("orphan", "another look", None),
        ("orphan, attached", "the person who is attached", 115),
        ("moves", "the person who is attached", 115),
        ("silent provider", "other", None),
        ("limited", "the end of its limit", 200),
        ("ended by its limit", "the end of its limit", 90),
        ("waits for a person", "a person", None),
        ("foreign", "the end of that session", None),
        ("idle", "work", 80),
        ("the city ends, others first", "those that need it", None),
        ("no controller", "a controller", None),
        ("ready", "", None),
        ("suspended", "", None),
    ],
)
def test_what_is_waited_for_and_until_when(name: str, waits_for: str, until: int | None) -> None:
    found = told_of(CASES[name][0])

    assert found.waits_for == waits_for
    assert (None if found.until is None else round(found.until - NOW)) == until


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("ready", -50),
        ("at work", -60),
        ("backoff", -1),
        ("pending", -7),
        ("lost", 0),
        ("backoff after a failed start", -1),
        ("drains for a person", 0),
        ("orphan, attached", -5),
        ("silent provider", 0),
        ("held", None),
    ],
)
def test_since_when_it_is_so(name: str, since: int | None) -> None:
    found = told_of(CASES[name][0])

    assert (None if found.since is None else round(found.since - NOW)) == since


@pytest.mark.parametrize(
    ("name", "following"),
    [
        ("quarantine", "`gc reset mayor` tries at once"),
        ("waits for a person", "`gc attach mayor` and answer"),
        ("no controller", "`gc start` runs it"),
        ("pool does not need it", "starts when its pool needs it"),
        ("moves", "starts on other when that has ended"),
        ("stranger", ""),
        ("ready", ""),
    ],
)
def test_what_comes_next(name: str, following: str) -> None:
    assert told_of(CASES[name][0]).next == following


def test_the_facts_of_a_living_agent() -> None:
    life = CASES["drift, at work"][0]
    nudge = QueuedNudge(7, "mayor", SESSION, "hello", at=NOW - 9, expires_at=NOW + 9)
    memory = known(
        run="r1",
        provider="tmux",
        restarts=(NOW - 9000, NOW - 60),
        crashed_at=NOW - 61,
        last_end="killed by signal 9",
        drift_since=NOW - 4,
        fingerprint=NEW.fingerprint,
    )
    state = flagged(replace(DRIFTED, attached=2), **{DRAIN: "r1"})

    found = told_of(replace(life, queued={SESSION: nudge}, memory=memory, states=(state,)))

    assert dict(found.inputs) == {
        "provider": "tmux answered to a look at T-2",
        "session": "gc-c-mayor: alive, process 42, since T-50",
        "run": "r1",
        "attached": "2 terminals",
        "configuration": "differs in command; env.API_TOKEN, a secret; env.MODE; seen at T-4",
        "screen": 'working, by the rule "rule-1", since T-60: a row',
        "flags": "asked to drain",
        "restarts": "1 of 2 within 1h",
        "last crash": "killed by signal 9, at T-61",
        "message": "number 7 waits since T-9",
    }


def test_a_hook_that_spoke_is_named_as_such() -> None:
    life = replace(CASES["at work"][0], shown=screen(Kind.WORKING, rule="hook", evidence=""))

    assert dict(told_of(life).inputs)["screen"] == "working, by its hook, since T-60"


def test_the_facts_of_an_agent_that_cannot_be_seen() -> None:
    found = dict(told_of(CASES["silent provider"][0]).inputs)

    assert found["provider"] == "other does not answer: it sleeps"
    assert found["session"] == "gc-c-mayor: cannot be seen"


@pytest.mark.parametrize("life", [case[0] for case in CASES.values()], ids=CASES)
def test_no_secret_is_in_an_account(life: Life) -> None:
    said = repr(told_of(life))

    assert "opensesame" not in said
    assert "changed-it" not in said


def test_what_holds_for_the_whole_city_is_noted() -> None:
    refused = told_of(replace(CASES["ready"][0], problem="city.toml:3:1: no"))

    assert refused.notes == ("the city file is refused, an older city runs: city.toml:3:1: no",)
    assert told_of(CASES["the city ends"][0]).notes == ("the city is being stopped",)
    assert "died at once" in told_of(CASES["mass death"][0]).notes[0]
    unkept = replace(CASES["quarantine"][0], kept=False)
    assert told_of(unkept).notes == ("no controller runs: nothing of this is done until one does",)
    assert told_of(CASES["no controller"][0]).notes == ()


def test_nobody_is_told_of_who_is_not_there() -> None:
    assert account(CASES["ready"][0].scene(), "nobody") is None


def test_an_agent_is_found_by_its_session_too() -> None:
    life = replace(CASES["orphan"][0], who=SESSION)

    assert told_of(life).name == "mayor"


def test_a_text_that_only_looks_like_a_moment_is_left_as_it_is() -> None:
    assert told("\x1f12\x1f and \x1fx\x1f", when) == "\x1f12\x1f and \x1fx\x1f"
