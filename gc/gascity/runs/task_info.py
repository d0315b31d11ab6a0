"""What is known and wanted of one task, and `task-info.yaml`, which holds it.

`wanted` is what a person wants, `state` what has become of it. Keys that this gc does not know are
ignored, so a newer one may add some. A file that cannot be understood raises BrokenTask, in one
sentence. Nothing secret is in it: a command that held a secret is kept without it, and `concealed`
says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from gascity.config.durations import LONGEST
from gascity.core.observed import ProcessId
from gascity.errors import GascityError

VERSION = 1
INFO = "task-info.yaml"
PROMPT = "TASK.md"
MAX_RESTARTS = 10
DELAY = 1.0


class BrokenTask(GascityError):
    """The record of a task cannot be read."""


class Wanted(StrEnum):
    """What a person wants of a task."""

    RUNNING = "running"
    STOPPED = "stopped"


class TaskState(StrEnum):
    """How a task stands."""

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_over(self) -> bool:
        """Whether nothing happens any more unless somebody wants it."""
        return self in (TaskState.DONE, TaskState.FAILED, TaskState.STOPPED)


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One task. Times are UTC in ISO 8601, durations in seconds, None for no limit.

    `attempts` counts the runs since it was started or resumed, `why` says why it stands as it does,
    `exit_code` is what its supervisor ended with. `depends_on` are whole names: `project/task`.
    """

    project: str
    task: str
    wanted: Wanted = Wanted.RUNNING
    state: TaskState = TaskState.WAITING
    why: str = ""
    attempts: int = 0
    last_run: str = ""
    exit_code: int | None = None
    started: str = ""
    ended: str = ""
    backend: str = ""
    agent: str = ""
    command: tuple[str, ...] = ()
    concealed: bool = False
    cwd: str = ""
    max_restarts: int = MAX_RESTARTS
    delay: float = DELAY
    until_done: bool = False
    timeout: float | None = None
    idle_timeout: float | None = None
    depends_on: tuple[str, ...] = ()
    supervisor: int | None = None
    supervisor_started: str = ""

    @property
    def name(self) -> str:
        """Its whole name."""
        return f"{self.project}/{self.task}"

    @property
    def process(self) -> ProcessId | None:
        """Its supervisor, if one was written down."""
        return (
            ProcessId(self.supervisor, self.supervisor_started)
            if self.supervisor is not None
            else None
        )


def to_yaml(info: TaskInfo) -> str:
    """Return the text of `task-info.yaml`."""
    import yaml  # noqa: PLC0415  a sixth of a second that only who writes or shows tasks has to pay

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(
        {"version": VERSION, **document(info)},
        Dumper=dumper,
        sort_keys=False,
        allow_unicode=True,
        width=1000,
    )
    return text


def document(info: TaskInfo) -> dict[str, object]:
    """Return it in the types of YAML and JSON."""
    return {key: _plain(value) for key, value in asdict(info).items()}


def from_yaml(project: str, task: str, text: str) -> TaskInfo:
    """Return the record in a text. Raises BrokenTask."""
    import yaml  # noqa: PLC0415  as above

    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  it is a safe one
        return _typed(project, task, found)
    except (yaml.YAMLError, LookupError, AttributeError) as problem:
        why = " ".join(f"it is no YAML: {problem}".split())
    except (TypeError, ValueError, RecursionError) as problem:
        why = " ".join(str(problem).split())
    raise BrokenTask(f"the record of task {project}/{task} cannot be read: {why}")


def _plain(value: Any) -> Any:  # noqa: ANN401  what YAML can hold
    if isinstance(value, str):
        return str(value).encode("utf-8", "backslashreplace").decode()
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def _typed(project: str, task: str, found: object) -> TaskInfo:
    """Return the record that a document is. Raises TypeError or ValueError, in a sentence."""
    if not isinstance(found, Mapping):
        raise TypeError("it is not a table of keys and values")
    if found.get("version") != VERSION:
        raise ValueError(f"it has version {found.get('version')!r}"[:200])
    values: dict[str, Any] = {  # Any: each is checked against its field
        one.name: _checked(one.name, found[one.name])
        for one in fields(TaskInfo)
        if one.name in found
    }
    if (values.get("project"), values.get("task")) != (project, task):
        raise ValueError("it is the record of another task")
    return TaskInfo(**values)


def _checked(name: str, value: object) -> object:
    match name, value:
        case "wanted", str(word):
            return Wanted(word)
        case "state", str(word):
            return TaskState(word)
        case "delay" | "timeout" | "idle_timeout", float() | int() if not 0 <= value <= LONGEST:
            raise ValueError(f"{name} cannot be {value!r}"[:200])
        case "supervisor" | "attempts" | "max_restarts", int() if not 0 <= value < _MOST:
            raise ValueError(f"{name} cannot be {value!r}"[:200])
        case "command" | "depends_on", list(words) if all(isinstance(one, str) for one in words):
            return tuple(words)
        case _ if type(value) in _KINDS.get(name, (str,)):
            return value
    raise TypeError(f"{name} cannot be {value!r}"[:200])


_MOST = 1 << 31
_NUMBER = (float, int)
_KINDS: Mapping[str, tuple[type, ...]] = {
    "wanted": (),
    "state": (),
    "command": (),
    "depends_on": (),
    "attempts": (int,),
    "exit_code": (int, type(None)),
    "concealed": (bool,),
    "max_restarts": (int,),
    "delay": _NUMBER,
    "until_done": (bool,),
    "timeout": (*_NUMBER, type(None)),
    "idle_timeout": (*_NUMBER, type(None)),
    "supervisor": (int, type(None)),
}
