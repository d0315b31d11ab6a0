"""What a run says on the bus: that it began, and how it ended. Each is said once.

The bodies are for people and agents: where the files lie and, of one that failed, the last that it
complained of. That may hold a secret: it is told by the runner only, which knows what to conceal.
"""

from __future__ import annotations

from collections.abc import Sequence

from gascity.journal.bus import Bus
from gascity.runs.folder import OUTPUT, PROMPT, STDERR, STDOUT, RunFolder
from gascity.runs.info import RunInfo, Status
from gascity.runs.leavings import last_lines

START, STOP, CRASH = "RUN_START", "RUN_STOP", "RUN_CRASH"
TAIL = 50  # lines of what a failed agent complained


def post_start(bus: Bus, folder: RunFolder, info: RunInfo) -> None:
    """Say that a run begins, unless that was said. Raises GascityError."""
    paths = (("prompt", PROMPT), ("stdout", STDOUT), ("stderr", STDERR), ("output", OUTPUT))
    lines = [
        f"run {info.run_id} of {info.backend} begins",
        f"folder: {folder.path}",
        *(f"{what}: {folder.file(name)}" for what, name in paths),
    ]
    _post(bus, START, info, "\n".join(lines))


def post_end(bus: Bus, folder: RunFolder, info: RunInfo, secrets: Sequence[str] | None) -> None:
    """Say how a run ended, unless that was said; `secrets` are None for who does not know them.

    Then what it complained is not quoted: others read this. Raises GascityError.
    """
    post_start(bus, folder, info)  # one that failed before it could be said
    is_done = info.status is Status.COMPLETED
    code = "" if info.exit_code is None else f" with code {info.exit_code}"
    lines = [f"run {info.run_id} ended{code}: {info.end}", f"output: {folder.file(OUTPUT)}"]
    if not is_done and secrets is None:
        lines.append(f"stderr: {folder.file(STDERR)}")
    elif not is_done and (said := last_lines(folder, STDERR, TAIL, secrets or ())):
        lines += ["", said]
    _post(bus, STOP if is_done else CRASH, info, "\n".join(lines))


def _post(bus: Bus, kind: str, info: RunInfo, body: str) -> None:
    bus.post_once(
        kind,
        info.run_id,
        body,
        project=info.project_id,
        task=info.task_id,
        author=info.agent or info.backend,
    )
