"""What an agent may put in the place of the files of its own run: nobody waits for it for ever."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.integration.runs.office import FIVE, Office

from gascity.runs.info import Status
from gascity.runs.reconcile import settle
from gascity.testing.eventually import eventually

IS_TOLD = 'until grep -q "^pid: [0-9]" "$RUN_FOLDER/run-info.yaml"; do sleep 0.01; done'
NAMES = (*FIVE, ".run-info.yaml.new", ".output.md.new")
PIPE, FOLDER, NOWHERE = "mkfifo {}", "mkdir {}; touch {}/more", "ln -s /nowhere/at/all {}"
KINDS = pytest.mark.parametrize("kind", [PIPE, FOLDER, NOWHERE], ids=["pipe", "folder", "link"])


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def _replaced(name: str, kind: str) -> str:
    path = f"$RUN_FOLDER/{name}"
    return f"{IS_TOLD}; rm -f {path}; {kind.replace('{}', path)}"


def _are_files(office: Office) -> bool:
    (folder,) = office.home.runs()
    return sorted(os.listdir(folder.path)) == FIVE and all(map(folder.has, FIVE))


@KINDS
@pytest.mark.parametrize("name", NAMES)
def test_whatever_has_the_name_of_a_file_the_run_is_recorded(
    office: Office, name: str, kind: str
) -> None:
    outcome = office.run(f"{_replaced(name, kind)}; exit 3")

    assert outcome.exit_code == 3
    assert outcome.folder.read_info() == outcome.info
    assert not set(os.listdir(outcome.folder.path)) - {*FIVE, ".output.md.new"}
    assert all(map(outcome.folder.has, FIVE))
    assert office.marks() == []


@KINDS
@pytest.mark.parametrize("name", NAMES)
def test_whatever_has_the_name_of_a_file_a_killed_run_is_settled(
    office: Office, name: str, kind: str
) -> None:
    with office.killable(f"{_replaced(name, kind)}; touch ready; sleep 1000") as runner:
        eventually((office.folder / "ready").exists, within=60.0)
        runner.send_signal(signal.SIGKILL)
    settled = settle(office.home)

    assert len(settled) == 1
    assert office.infos()[0].status is Status.FAILED
    assert _are_files(office)
    assert office.marks() == []


def test_a_file_in_the_place_of_the_folder_goes(office: Office) -> None:
    outcome = office.run(f'{IS_TOLD}; rm -r "$RUN_FOLDER"; echo x >"$RUN_FOLDER"; exit 3')

    assert outcome.exit_code == 3
    assert _are_files(office)


def test_a_folder_that_is_never_left_alone_does_not_end_its_agent(office: Office) -> None:
    script = 'for i in $(seq 300); do rm -rf "$RUN_FOLDER"; done; exit 3'

    assert office.run(script).exit_code == 3
    assert _are_files(office)


def test_a_folder_that_was_closed_is_opened(office: Office) -> None:
    outcome = office.run('chmod 000 "$RUN_FOLDER"; exit 3')

    assert outcome.exit_code == 3
    assert _are_files(office)


def test_an_answer_that_is_a_link_to_a_file_is_the_answer(office: Office) -> None:
    outcome = office.run(
        'echo whole >"$TASK_FOLDER/report"; ln -s ../../report "$RUN_FOLDER/output.md"'
    )

    assert outcome.folder.read("output.md") == "whole\n"
