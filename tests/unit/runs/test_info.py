"""`run-info.yaml`: whatever a record holds is read as it was written, and nonsense is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gascity.runs.info import (
    Broken,
    LastNudge,
    RunInfo,
    Status,
    concealed,
    from_yaml,
    glance,
    seconds_of,
    to_yaml,
    utc,
)

RUN = "20260301-1504051234-42-1"
texts = st.text(st.characters(exclude_categories=["Cs"]))
counts = st.integers(-(2**40), 2**40)
records = st.builds(
    RunInfo,
    run_id=st.just(RUN),
    kind=st.sampled_from(["session", "job"]),
    status=st.sampled_from(list(Status)),
    agent=texts,
    session=texts,
    city=texts,
    provider=texts,
    backend=texts,
    work_dir=texts,
    fingerprint=texts,
    previous_run_id=texts,
    restarts=counts,
    why=texts,
    start_time=texts,
    end_time=texts,
    duration=st.none() | st.floats(0, 1e9),
    pid=st.none() | counts,
    pid_started=texts,
    ready=texts,
    exit_code=st.none() | counts,
    signal=st.none() | counts,
    end=texts,
    crash=st.booleans(),
    asked=st.booleans(),
    last_nudge=st.none() | st.builds(LastNudge, st.none() | counts, texts, texts),
)


@given(records)
def test_a_record_comes_back_as_it_was(info: RunInfo) -> None:
    assert from_yaml(RUN, to_yaml(info)) == info


@given(records)
def test_any_yaml_reader_understands_it(info: RunInfo) -> None:
    document = yaml.safe_load(to_yaml(info))

    assert document["version"] == 1
    assert document["end"] == info.end


@given(st.from_regex(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*", fullmatch=True), st.sampled_from(Status))
def test_the_head_of_a_record_is_read_without_the_rest(name: str, status: Status) -> None:
    info = RunInfo(RUN, status=status, agent=f"rigs/{name}", session=name)

    head = glance(RUN, to_yaml(info)[:1024])

    assert head is not None
    assert (head.agent, head.session, head.status) == (info.agent, name, status)


def test_text_that_no_file_can_hold_is_spelled_out() -> None:
    kept = from_yaml(RUN, to_yaml(RunInfo(RUN, work_dir="/caf\udce9", why="\ud800")))

    assert isinstance(kept, RunInfo)
    assert (kept.work_dir, kept.why) == ("/caf\\udce9", "\\ud800")


def test_keys_that_a_newer_gc_writes_are_ignored() -> None:
    text = to_yaml(RunInfo(RUN)) + "colour: blue\n"

    assert from_yaml(RUN, text) == RunInfo(RUN)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is not a table"),
        ("- a\n- b\n", "it is not a table"),
        ("{", "it is no YAML"),
        ("!!python/object/apply:os.system ['true']", "it is no YAML"),
        ("\0", "it is no YAML"),
        ("run_id: other\n", "it is the record of another run"),
        (f"run_id: {RUN}\nstatus: dancing\n", "status cannot be 'dancing'"),
        (f"run_id: {RUN}\nstatus: []\n", "status cannot be []"),
        (f"run_id: {RUN}\npid: yes\n", "pid cannot be True"),
        (f"run_id: {RUN}\nagent: [a]\n", "agent cannot be ['a']"),
        (f"run_id: {RUN}\nlast_nudge: 3\n", "last_nudge cannot be read"),
        (f"run_id: {RUN}\nduration: .inf\n", "duration cannot be inf"),
        (f"run_id: {RUN}\nduration: .nan\n", "duration cannot be nan"),
        (f"run_id: {RUN}\nduration: 1{':0' * 300}.5\n", "int too large"),
        ("[" * 5000, "maximum recursion depth"),
        ("start_time: !!timestamp then", "it is no YAML"),
        ("crash: !!bool perhaps", "it is no YAML"),
        ("pid: !!int ''", "it is no YAML"),
    ],
)
def test_what_cannot_be_understood_is_broken_with_a_reason(text: str, why: str) -> None:
    found = from_yaml(RUN, text)

    assert isinstance(found, Broken)
    assert why in found.why or "YAML" in found.why
    assert "\n" not in found.why


@given(st.recursive(st.none() | st.booleans() | counts | texts, st.lists, max_leaves=5))
def test_no_value_of_a_key_makes_more_than_a_broken_record(value: object) -> None:
    for key in ("status", "agent", "pid", "duration", "last_nudge", "crash"):
        text = yaml.safe_dump({"run_id": RUN, key: value})

        assert isinstance(from_yaml(RUN, text), RunInfo | Broken)


def test_secrets_are_struck_out() -> None:
    info = RunInfo(RUN, why="x hush-hush", end="hush-hush y", work_dir="/hush-hush")

    assert "hush-hush" not in to_yaml(concealed(info, ["hush-hush"]))
    assert concealed(info, []) == info


def test_times_are_written_in_utc_and_read_again() -> None:
    assert utc(0.0) == "1970-01-01T00:00:00.000+00:00"
    assert seconds_of(utc(1234.5)) == 1234.5
    assert seconds_of("tomorrow") is None


def test_a_run_is_over_when_it_does_not_run() -> None:
    assert not RunInfo(RUN).is_over
    assert replace(RunInfo(RUN), status=Status.FAILED).is_over


@pytest.mark.parametrize("field", ["status", "agent"])
def test_a_small_text_that_means_a_huge_value_is_told_in_few_words(field: str) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 40):
        parts = ", ".join([f"*a{number - 1}"] * 9)
        lines.append(f"a{number}: &a{number} [{parts}]")
    found = from_yaml(RUN, "\n".join([f"run_id: {RUN}", *lines, f"{field}: *a39"]))

    assert isinstance(found, Broken)
    assert found.why.startswith(f"{field} cannot be [[[")
    assert len(found.why) < 300
