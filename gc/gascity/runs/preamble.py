"""The text of `prompt.md`: what a run is told about itself, a line `---`, and its prompt.

The prompt comes last and exactly as it was given. `asked` finds it again, for a backend that can
neither write files nor start anything.
"""

from __future__ import annotations

import shlex

from gascity.runs.environment import RunIds, RunPaths

OUTPUT = "output.md"
DONE = "DONE"
CONTINUE = "Continue working on the following:\n\n"
_FIRST = "You are one run of a task, started by gc. These are also in your environment:\n"
_RULE = "\n---\n"


def prompt_text(
    prompt: str, ids: RunIds, paths: RunPaths, *, restart: bool = False, by_file: bool = True
) -> str:
    """Return what a run is given; `restart` says that one before it did not finish the task.

    `by_file` says that a file DONE is how it tells that the task is done.
    """
    facts = {
        "JRUN_PROJECT_ID": ids.project_id,
        "JRUN_TASK_ID": ids.task_id,
        "JRUN_ID": ids.run_id,
        "JRUN_PARENT_ID": ids.parent_id,
        "JRUN_TASK_FOLDER": paths.task_folder,
        "JRUN_RUN_FOLDER": paths.run_folder,
        "JRUN_RUNS_DIR": paths.runs_dir,
        "JRUN_MESSAGE_BUS": paths.message_bus,
    }
    listed = "".join(f"{name}={_word(value)}\n" for name, value in facts.items())
    done = f"When the task is done, create: {_word(f'{paths.task_folder}/{DONE}')}\n"
    rules = f"""
Write your summary to {OUTPUT} in {_word(paths.run_folder)}
Tell the other runs what they should know with `gc bus post`; `gc bus post --help` says how.
Start a run of your own, for a part of the work, with `gc run`; `gc run --help` says how.
{done if by_file else ""}"""
    return f"{_FIRST}{listed}{rules}{_RULE}{CONTINUE if restart else ''}{prompt}"


def asked(text: str) -> str:
    """Return the prompt in a text that `prompt_text` made; any other text as it is."""
    if not text.startswith(_FIRST):
        return text
    return text.partition(_RULE)[2]


def _word(value: str) -> str:
    """Return a value as one word of a shell on one line: a path may hold anything."""
    return shlex.quote(value) if value.isprintable() else repr(value)
