"""What stands in prompt.md."""

from __future__ import annotations

import pytest

from gascity.runs.environment import RunIds, RunPaths
from gascity.runs.preamble import asked, prompt_text

IDS = RunIds("r1", "proj", "task", "r0")
PATHS = RunPaths("/h/proj/task", "/h/proj/task/runs/r1", "/h/proj/task/runs", "/h/city.db")
PROMPTS = [
    "do it",
    "",
    "a\n---\nb\n",
    "---\n",
    " \tü\r\n\n",
    "Continue working on the following:\n\nx",
]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize("restart", [False, True])
def test_the_prompt_comes_last_and_exactly(prompt: str, restart: bool) -> None:
    text = prompt_text(prompt, IDS, PATHS, restart=restart)
    head, rule, rest = text.partition("\n---\n")

    assert rule
    assert rest == ("Continue working on the following:\n\n" if restart else "") + prompt
    assert asked(text) == rest
    assert "Continue" not in head


def test_a_run_is_told_its_ids_and_folders_and_what_to_leave_behind() -> None:
    text = prompt_text("do it", IDS, PATHS)

    for name, value in (
        ("PROJECT_ID", "proj"),
        ("TASK_ID", "task"),
        ("ID", "r1"),
        ("PARENT_ID", "r0"),
        ("TASK_FOLDER", "/h/proj/task"),
        ("RUN_FOLDER", "/h/proj/task/runs/r1"),
        ("RUNS_DIR", "/h/proj/task/runs"),
        ("MESSAGE_BUS", "/h/city.db"),
    ):
        assert f"\nJRUN_{name}={value}\n" in text
    assert "\nWrite your summary to output.md in /h/proj/task/runs/r1\n" in text
    assert "`gc bus post`" in text
    assert "`gc run`" in text
    assert "\nWhen the task is done, create: /h/proj/task/DONE\n" in text


def test_a_folder_with_a_strange_name_breaks_nothing() -> None:
    paths = RunPaths("/a\n---\nb", "/it's here", "/r", "/b")
    text = prompt_text("do it", IDS, paths)

    assert asked(text) == "do it"
    assert """JRUN_RUN_FOLDER='/it'"'"'s here'\n""" in text


def test_another_text_is_left_as_it_is() -> None:
    assert asked("a\n---\nb") == "a\n---\nb"
