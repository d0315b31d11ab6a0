"""What is known of one run, and `run-info.yaml`, which holds it.

The same file serves incarnations of sessions and one-shot jobs: `kind` tells them apart. Keys that
this gc does not know are ignored, so a newer one may add some. A file that cannot be understood is
`Broken`, with a reason: one bad file must not hide the others.
"""

from __future__ import annotations

import dataclasses
import math
import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from gascity.core.fingerprint import conceal

VERSION = 1
SESSION = "session"  # the kind of a run that is an incarnation of a session
JOB = "job"  # of one that is a piece of one-shot work
WRAP = "wrap"  # of an interactive command that was recorded
SOLVE = "solve"  # of one agent's work on an issue, in a worktree
SIGNALLED = 128  # a program that a signal ended has this and the signal for its exit code


class Status(StrEnum):
    """How a run stands."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LastNudge:
    """The last message that was tried to be delivered: when, and what became of it.

    One that never waited in the queue has no number.
    """

    number: int | None
    time: str
    outcome: str


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One run. Times are UTC in ISO 8601; what is not known is None or empty.

    `why` says why it was started, `end` how it ended. `crash` and `asked` tell whether that was a
    crash and whether somebody wanted it. `pid_started` makes the pid certain, `ready` is "yes", or
    "timeout" when its prompt was never seen. `restarts` counts those of its agent after crashes.
    The run before it is `previous_run_id`; the one that an agent started it from, its parent.
    `exit_code` is 128 and the signal for a program that a signal ended. `format` is the form in
    which one-shot work prints its answer.
    """

    run_id: str
    kind: str = SESSION
    status: Status = Status.RUNNING
    agent: str = ""
    session: str = ""
    city: str = ""
    provider: str = ""
    backend: str = ""
    work_dir: str = ""
    fingerprint: str = ""
    previous_run_id: str = ""
    restarts: int = 0
    why: str = ""
    start_time: str = ""
    end_time: str = ""
    duration: float | None = None
    pid: int | None = None
    pid_started: str = ""
    ready: str = ""
    exit_code: int | None = None
    signal: int | None = None
    end: str = ""
    crash: bool = False
    asked: bool = False
    last_nudge: LastNudge | None = field(default=None)
    project_id: str = ""
    task_id: str = ""
    parent_run_id: str = ""
    command: str = ""
    format: str = ""

    @property
    def is_over(self) -> bool:
        """Whether its end was written down."""
        return self.status is not Status.RUNNING


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be read, and why."""

    run_id: str
    why: str


@dataclass(frozen=True, slots=True)
class Glance:
    """The head of a record, which is read without reading all of it."""

    run_id: str
    kind: str
    status: str
    agent: str
    session: str


def utc(seconds: float) -> str:
    """Return a moment, in seconds since the epoch, as it is written down."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def seconds_of(text: str) -> float | None:
    """Return a moment that was written down in seconds since the epoch; None if it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def running_again(info: RunInfo) -> RunInfo:
    """Return the record of a run that goes on, whatever was written of its end."""
    return replace(
        info,
        status=Status.RUNNING,
        end="",
        end_time="",
        duration=None,
        exit_code=None,
        signal=None,
        crash=False,
        asked=False,
    )


def concealed(info: RunInfo, secrets: Iterable[str]) -> RunInfo:
    """Return the record without copies of these secrets."""
    hidden = tuple(secrets)
    return dataclasses.replace(
        info,
        why=conceal(info.why, hidden),
        end=conceal(info.end, hidden),
        work_dir=conceal(info.work_dir, hidden),
        command=conceal(info.command, hidden),
    )


def to_yaml(info: RunInfo) -> str:
    """Return the text of `run-info.yaml`; its head stands first, for `glance`."""
    import yaml  # noqa: PLC0415  a sixth of a second that only who writes or shows runs has to pay

    document = {"version": VERSION, **_plain(dataclasses.asdict(info))}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(document, Dumper=dumper, sort_keys=False, allow_unicode=True, width=1000)
    return text


def from_yaml(run_id: str, text: str) -> RunInfo | Broken:
    """Return the record in a text, or what is wrong with it."""
    import yaml  # noqa: PLC0415  as above

    try:
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  it is a safe one
        return _typed(run_id, document)
    except (yaml.YAMLError, LookupError, AttributeError) as problem:  # a tag on what it is not
        return Broken(run_id, " ".join(f"it is no YAML: {problem}".split()))
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        return Broken(run_id, " ".join(str(problem).split()))


def glance(run_id: str, text: str) -> Glance | None:
    """Return the head of a record; None where it is not as this gc writes it."""
    found = _HEAD.match(text)
    if found is None or found["run_id"] != run_id:
        return None
    return Glance(run_id, found["kind"], found["status"], found["agent"], found["session"])


_HEAD = re.compile(
    r"version: \d+\nrun_id: (?P<run_id>\S+)\nkind: (?P<kind>\w+)\nstatus: (?P<status>\w+)\n"
    r"agent: (?P<q>'?)(?P<agent>[\w/-]*)(?P=q)\nsession: (?P<r>'?)(?P<session>[\w.-]*)(?P=r)\n"
)


def _plain(value: Any) -> Any:  # noqa: ANN401  what YAML can hold
    """Return a value in the types of YAML; what no file can hold of a text is spelled out."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return str(value).encode("utf-8", "backslashreplace").decode() if _is_text(value) else value


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _typed(run_id: str, document: object) -> RunInfo:
    """Return the record that a document is. Raises TypeError or ValueError, in a sentence."""
    if not isinstance(document, Mapping):
        raise TypeError("it is not a table of keys and values")
    values: dict[str, Any] = {}  # Any: each is checked against its field
    for one in fields(RunInfo):
        if one.name in document:
            values[one.name] = _checked(one.name, document[one.name])
    if values.get("run_id") != run_id:
        raise ValueError("it is the record of another run")
    return RunInfo(**values)


def _checked(name: str, value: object) -> object:
    """Return the value of a field. Raises TypeError or ValueError when it cannot be one."""
    if name == "status":
        if value not in tuple(Status):
            raise ValueError(f"status cannot be {_shown(value)}")
        return Status(str(value))
    if name == "last_nudge":
        return None if value is None else _nudge(value)
    kinds = _KINDS.get(name, (str,))
    if type(value) not in kinds or not _is_finite(value):
        raise TypeError(f"{name} cannot be {_shown(value)}")
    return value


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _shown(value: object) -> str:
    """Return a value in few words: written out, a small file may have any size."""
    return (repr(value) if isinstance(value, str) else reprlib.repr(value))[:200]


_KINDS: Mapping[str, tuple[type, ...]] = {
    "restarts": (int,),
    "duration": (float, int, type(None)),
    "pid": (int, type(None)),
    "exit_code": (int, type(None)),
    "signal": (int, type(None)),
    "crash": (bool,),
    "asked": (bool,),
}


def _nudge(value: object) -> LastNudge:
    match value:
        case {"number": int() | None as number, "time": str(time), "outcome": str(outcome)}:
            return LastNudge(number, time, outcome)
        case _:
            raise TypeError("last_nudge cannot be read")
