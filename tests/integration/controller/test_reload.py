"""A city that changes while it runs: all of it is taken, or nothing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.integration.controller.stage import Running, agent, up
from tests.integration.controller.town import HEAD, Noted, Town, entry

from gascity.config.problems import ConfigProblems
from gascity.controller import filewatch, reload
from gascity.controller.looks import Looks
from gascity.controller.messages import Asked, Changed, Looked
from gascity.controller.reload import read_settled
from gascity.controller.sources import Sign, signed
from gascity.core.actions import EventType
from gascity.core.model import StartupHints
from gascity.core.observed import Seen
from gascity.errors import GascityError
from gascity.journal.store import Journal
from gascity.testing.eventually import eventually
from gascity.testing.fake import FakeWorld

AB = (entry("a"), entry("b"))


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    made = Town(tmp_path)
    yield made
    made.end()


def begun(town: Town, *entries: str) -> Running:
    """Return a running city whose file has these agents, all of them up."""
    town.write(*entries)
    running = town.run()
    eventually(lambda: len(town.pids()) == len(entries))
    eventually(up(running, *town.pids()))
    return running


def lives(town: Town, *names: str) -> bool:
    return town.pids().keys() == set(names)


def is_replaced(town: Town, name: str, before: Mapping[str, int]) -> bool:
    """Tell whether another process lives for an agent; for a while none does."""
    return town.pids().get(name, before[name]) != before[name]


def reloaded(running: Running) -> list[str]:
    return [event.message for event in running.told(EventType.CITY_RELOADED)]


def rejected(running: Running) -> list[str]:
    return [event.message for event in running.told(EventType.CITY_REJECTED)]


def alerts(running: Running) -> list[str]:
    return [event.message for event in running.told(EventType.ALERT_RAISED)]


def still_open(town: Town) -> list[str]:
    journal = Journal(str(town.root / ".gc/city.db"))
    try:
        return [alert.key for alert in journal.alerts.open()]
    finally:
        journal.close()


def test_a_change_is_taken_and_the_untouched_keep_their_processes(town: Town) -> None:
    running = begun(town, *AB, entry("old"))
    before = town.pids()
    town.write(entry("a"), entry("b", command="false"), entry("c"))
    eventually(lambda: is_replaced(town, "b", before))
    eventually(lambda: town.pids().keys() == {"a", "b", "c"})
    eventually(up(running, "a", "b", "c"))

    assert reloaded(running) == ["1 agent changed (b), 1 new (c), 1 gone (old)"]
    assert town.pids()["a"] == before["a"]
    assert town.world.starts.count("gc-c-a") == 1
    assert not rejected(running)


def test_an_untouched_agent_is_the_same_object(town: Town) -> None:
    running = begun(town, *AB)
    before = running.controller.city.desired.agents[0]
    town.write(entry("a"), entry("b", "suspended = true"))
    eventually(lambda: reloaded(running))

    assert running.controller.city.desired.agents[0] is before


def test_a_broken_file_keeps_the_city_and_is_told_once_with_its_place(town: Town) -> None:
    running = begun(town, *AB)
    before = town.pids()
    town.write(entry("a"), entry("b", 'sesion = "x"', "suspendet = true"))
    eventually(lambda: rejected(running))
    reads = town.reads
    running.controller.post(Changed())  # the same again
    eventually(lambda: town.reads >= reads + 2)
    status = running.ask("status")

    assert town.pids() == before
    told = rejected(running)
    assert len(told) == 1
    assert told[0].startswith('city.toml:12:1: unknown key "sesion"; did you mean "session"?')
    assert told[0].endswith("(and 1 more)")
    report = running.told(EventType.CITY_REJECTED)[0].detail
    assert 'city.toml:13:1: unknown key "suspendet"' in report
    assert [text for text in alerts(running) if "city.toml:12:1" in text] == alerts(running)
    assert len(alerts(running)) == 1
    assert status["controller"]["config_problem"] == told[0]
    assert {agent["name"]: agent["state"] for agent in status["agents"]} == dict.fromkeys(
        before, "ready"
    )


def test_another_problem_is_an_event_and_the_end_of_them_is_one(town: Town) -> None:
    running = begun(town, *AB)
    town.write(*AB, "[[agents]\n")
    eventually(lambda: len(rejected(running)) == 1)
    town.write(*AB, "[bogus]\n")
    eventually(lambda: len(rejected(running)) == 2)
    town.write(*AB)
    eventually(lambda: reloaded(running))

    assert reloaded(running) == ["it can be used again: nothing changed"]
    assert running.ask("status")["controller"]["config_problem"] is None
    assert len(alerts(running)) == 1  # the trouble is the same, whatever is wrong in the file
    assert len(running.told(EventType.ALERT_RESOLVED)) == 1


def test_the_alert_of_a_broken_file_is_over_when_it_is_mended(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write("nonsense [")
    eventually(lambda: still_open(town) == ["city"])
    town.write(entry("a"))
    eventually(lambda: still_open(town) == [])

    assert len(alerts(running)) == 1


def test_a_broken_prompt_is_noticed_and_its_mending_too(town: Town) -> None:
    (town.root / "prompts").mkdir()
    prompt = town.root / "prompts/a.md"
    prompt.write_text("hello {{.Agent}}")
    running = begun(town, entry("a", 'prompt_template = "prompts/a.md"'))
    prompt.write_text("hello {{.Agnet}}")
    eventually(lambda: rejected(running))
    prompt.write_text("good morning {{.Agent}}")
    eventually(lambda: "good morning a" in town.commands().get("a", ""))

    assert rejected(running)[0].startswith("prompts/a.md:1:7: ")
    assert reloaded(running) == ["it can be used again: 1 agent changed (a)"]


def test_a_file_that_a_new_city_points_to_is_watched_from_then_on(town: Town) -> None:
    running = begun(town, entry("a"))
    (town.root / "later").mkdir()
    prompt = town.root / "later/a.md"
    prompt.write_text("one")
    town.write(entry("a", 'prompt_template = "later/a.md"'))
    eventually(lambda: "one" in town.commands().get("a", ""))
    prompt.write_text("two")
    eventually(lambda: "two" in town.commands().get("a", ""))

    assert len(reloaded(running)) == 2


def test_a_prompt_that_is_missing_is_waited_for(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a", 'prompt_template = "deep/er/a.md"'))
    eventually(lambda: rejected(running))
    (town.root / "deep/er").mkdir(parents=True)
    (town.root / "deep/er/a.md").write_text("found")
    eventually(lambda: "found" in town.commands().get("a", ""))

    assert len(rejected(running)) == 1


def _in_place(town: Town, text: str) -> None:
    (town.root / "city.toml").write_text(text)


def _by_rename(town: Town, text: str) -> None:
    (town.root / ".city.toml.swp").write_text(text)
    os.replace(town.root / ".city.toml.swp", town.root / "city.toml")


def _with_a_backup(town: Town, text: str) -> None:
    os.replace(town.root / "city.toml", town.root / "city.toml~")
    (town.root / "city.toml").write_text(text)


def _delete_and_create(town: Town, text: str) -> None:
    (town.root / "city.toml").unlink()
    (town.root / "city.toml").write_text(text)


@pytest.mark.parametrize("save", [_in_place, _by_rename, _with_a_backup, _delete_and_create])
def test_every_way_of_saving_is_noticed_each_time(
    town: Town, save: Callable[[Town, str], None]
) -> None:
    running = begun(town, entry("a"))
    for name in "bcd":
        save(town, HEAD.format(patrol="1h") + entry("a") + entry(name))
        eventually(partial(lives, town, "a", name))

    assert not rejected(running)
    assert town.world.starts.count("gc-c-a") == 1


def test_links_that_are_turned_are_noticed_as_a_mounted_volume_turns_them(town: Town) -> None:
    def publish(version: str, *entries: str) -> None:
        (town.root / version).mkdir()
        town.write(*entries, name=f"{version}/city.toml")
        (town.root / "..tmp").symlink_to(version)
        os.replace(town.root / "..tmp", town.root / "..data")

    publish("..1", entry("a"))
    (town.root / "city.toml").symlink_to("..data/city.toml")
    running = town.run()
    eventually(lambda: town.pids().keys() == {"a"})
    for number, name in enumerate("bcd", 2):
        publish(f"..{number}", entry("a"), entry(name))
        eventually(partial(lives, town, "a", name))

    assert not rejected(running)


def test_a_folder_that_goes_and_comes_back_is_watched_again(town: Town) -> None:
    prompts = town.root / "prompts"
    prompts.mkdir()
    (prompts / "a.md").write_text("one")
    running = begun(town, entry("a", 'prompt_template = "prompts/a.md"'))
    prompts.rename(town.root / "aside")
    eventually(lambda: rejected(running))
    (town.root / "aside").rename(prompts)
    eventually(lambda: reloaded(running))
    (prompts / "a.md").write_text("two")
    eventually(lambda: "two" in town.commands().get("a", ""))

    assert town.world.starts.count("gc-c-a") == 2


def test_many_quick_saves_are_few_readings(town: Town) -> None:
    running = begun(town, entry("a"))
    before = town.reads
    town.read_on.clear()  # they are quick: nobody is done with reading before the last one
    for number in range(20):
        town.write(entry("a", f'env = {{ N = "{number}" }}'))
    town.read_on.set()
    eventually(lambda: town.commands() and reloaded(running))
    eventually(lambda: running.controller.city.desired.agents[0].env["N"] == "19")

    assert town.reads - before <= 4
    assert not rejected(running)


def test_a_file_that_is_being_written_is_not_judged(town: Town) -> None:
    running = begun(town, entry("a"))
    text = (town.root / "city.toml").read_text() + entry("b")
    town.was_read.clear()
    town.read_on.clear()
    (town.root / "city.toml").write_text(text[:-8])
    assert town.was_read.wait(60)
    (town.root / "city.toml").write_text(text)
    town.read_on.set()
    eventually(lambda: town.pids().keys() == {"a", "b"})

    assert not rejected(running)
    assert not alerts(running)


def test_a_file_that_is_being_written_is_not_taken_either(town: Town) -> None:
    running = begun(town, *AB)
    town.was_read.clear()
    town.read_on.clear()
    town.write(entry("a"))  # good as it is, and only the first half
    running.controller.post(Changed())  # before the watch would
    assert town.was_read.wait(60)
    town.write(*AB, entry("c"))
    town.read_on.set()
    eventually(lambda: town.pids().keys() == {"a", "b", "c"})

    assert town.world.starts.count("gc-c-b") == 1
    assert reloaded(running) == ["1 agent new (c)"]


def test_what_changes_during_a_reading_makes_another(town: Town) -> None:
    running = begun(town, entry("a"))
    town.go_on.clear()
    town.write(entry("a"), entry("b", 'session = "other"'))
    eventually(lambda: "other" in town.opened)
    town.write(entry("a"), entry("c"))
    running.controller.post(Changed())
    town.go_on.set()
    eventually(partial(lives, town, "a", "c"))

    assert reloaded(running) == ["1 agent new (b)", "1 agent new (c), 1 gone (b)"]


def test_a_change_of_an_interval_is_taken_at_once(town: Town) -> None:
    running = begun(town, entry("a"))
    (town.root / "want").write_text("0")
    pool = '[agents.pool]\nmin = 0\nmax = 2\ncheck = "cat want"\n'
    town.write(entry("a"), entry("p") + pool, head=HEAD.format(patrol="100ms"))
    eventually(lambda: reloaded(running))
    (town.root / "want").write_text("2")
    eventually(lambda: town.pids().keys() == {"a", "p-1", "p-2"})

    assert reloaded(running) == ["1 agent new (p); patrol_interval"]


def test_the_grace_for_ends_is_that_of_the_city_now(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a"), head=HEAD.format(patrol="1h").replace('"1s"', '"7s"'))
    eventually(lambda: reloaded(running))

    assert reloaded(running) == ["shutdown_timeout"]
    assert running.controller.deeds.hands.grace == 7.0


def test_alerts_go_where_the_city_says_now(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a"), '[alerts]\ncommand = "cat > alert.json"\n')
    eventually(lambda: reloaded(running) == ["alerts"])
    town.write(entry("a"), "[bogus]\n")
    path = town.root / "alert.json"
    eventually(lambda: path.exists() and path.read_text())
    alert = eventually(lambda: json.loads(path.read_text()))

    assert alert["key"] == "city"
    assert 'unknown key "bogus"' in alert["text"]
    assert "    ^" in alert["screen"]


def test_another_name_needs_another_controller(town: Town) -> None:
    running = begun(town, entry("a"))
    before = town.pids()
    town.write(entry("a"), head=HEAD.format(patrol="1h").replace('"c"', '"d"'))
    eventually(lambda: rejected(running))

    assert rejected(running) == ['city.toml:2:1: the city is called "c" while its controller runs']
    assert "restart the controller" in running.told(EventType.CITY_REJECTED)[0].detail
    assert town.pids() == before


def test_other_settings_of_an_open_provider_need_another_controller(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a"), "[session.fake]\nwhere = 1\n")
    eventually(lambda: rejected(running))

    assert "the settings of fake stay as they are" in rejected(running)[0]


def test_an_agent_moves_to_a_new_provider_and_the_old_one_is_closed(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a", 'session = "other"'))
    eventually(lambda: not town.pids() and town.pids("other").keys() == {"a"})
    running.controller.post(Changed())
    eventually(up(running, "a"))
    town.write(entry("a", 'session = "other"'), head=HEAD.format(patrol="100ms"))
    eventually(lambda: town.closed == ["fake"])
    eventually(up(running, "a"))

    assert town.opened == ["fake", "other"]
    assert town.worlds["other"].starts == ["gc-c-a"]
    assert running.controller.providers.keys() == {"other"}


def test_a_crash_on_a_provider_that_came_later_is_noticed(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a"), entry("b", 'session = "other"'))
    eventually(up(running, "a", "b"))
    town.worlds["other"].crash("gc-c-b", code=1)
    eventually(lambda: town.worlds["other"].starts == ["gc-c-b", "gc-c-b"])

    assert [event.agent for event in running.told(EventType.SESSION_CRASHED)] == ["b"]


def test_words_of_a_provider_that_are_no_longer_enough_are_not_taken() -> None:
    looks = Looks({"fake": FakeWorld().provider()}, [agent("a")], lambda _: None)
    words = Looked("fake", Seen({}), told_at=time.monotonic())
    before = looks.take(words)
    looks.expect([agent("a", hints=StartupHints(process_names=("claude",)))])

    assert before
    assert not looks.take(replace(words, told_at=time.monotonic()))


def test_a_provider_that_cannot_be_opened_is_a_reason_to_refuse(town: Town) -> None:
    running = begun(town, entry("a"))
    town.missing = "other"
    town.write(entry("a"), entry("b", 'session = "other"'))
    eventually(lambda: rejected(running))

    assert rejected(running) == ['city.toml: session provider "other" cannot work here']
    assert running.states() == {"a": "ready"}


def test_a_city_whose_provider_is_refused_is_read_once_and_its_files_are_watched(
    town: Town,
) -> None:
    running = begun(town, entry("a"))
    town.missing = "other"
    (town.root / "p.md").write_text("hello")
    town.write(entry("b", 'session = "other"', 'prompt_template = "p.md"'))
    eventually(lambda: rejected(running))
    current = running.controller.city
    read = read_settled(town.origin(), current, {"fake": None})

    assert isinstance(read.city, ConfigProblems)
    assert {str(town.root / name) for name in ("city.toml", "p.md")} <= set(read.sources)
    assert set(current.sources) <= set(read.sources)
    assert signed(read.sources) == read.signs  # or it would be read again, and again


def test_a_provider_that_cannot_be_closed_does_not_end_the_reading(town: Town) -> None:
    class Stubborn(Noted):
        def close(self) -> None:
            super().close()
            raise RuntimeError("it does not close")

    running = begun(town, entry("a"))
    town.makes, town.missing = Stubborn, "third"
    town.write(entry("b", 'session = "other"'), entry("c", 'session = "third"'))
    eventually(lambda: rejected(running))
    town.write(*AB)
    eventually(lambda: lives(town, "a", "b"))

    assert town.closed == ["other"]
    assert rejected(running) == ['city.toml: session provider "third" cannot work here']


def test_a_reading_that_fails_in_an_unforeseen_way_is_not_the_last(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = begun(town, entry("a"))
    real, failures = signed, iter([MemoryError("no room"), MemoryError("no room")])

    def scarce(*args: Any, **kwargs: Any) -> Mapping[str, Sign]:  # noqa: ANN401  as `signed`
        for failure in failures:
            raise failure
        return real(*args, **kwargs)

    monkeypatch.setattr(reload, "signed", scarce)  # the system's memory, not ours
    town.write(*AB)
    eventually(lambda: rejected(running))
    eventually(lambda: lives(town, "a", "b"))

    assert rejected(running) == ["city.toml: MemoryError: no room"]


def test_rules_for_screens_are_taken_and_every_screen_is_read_by_them(town: Town) -> None:
    (town.root / "screens").mkdir()
    provider = '[providers.robot]\ncommand = "true"\nprompt_mode = "none"\n'
    town.write(provider, '[[agents]]\nname = "a"\nprovider = "robot"\n')
    rules = '[[rule]]\nname = "{name}"\nkind = "{kind}"\nregion = "screen"\nmatch = ["^beep"]\n'
    (town.root / "screens/robot.toml").write_text(rules.format(name="one", kind="working"))
    running = town.run()
    eventually(town.pids)
    town.world.show("gc-c-a", "beep")
    eventually(lambda: running.states() == {"a": "working"})
    (town.root / "screens/robot.toml").write_text(rules.format(name="two", kind="limited"))
    eventually(lambda: running.states() == {"a": "limited"})

    assert reloaded(running) == ["screens"]
    assert running.controller.providers["fake"].context.screens.of("robot").rule("two")


def test_a_first_file_of_rules_is_noticed(town: Town) -> None:
    running = begun(town, entry("a"))
    (town.root / "screens").mkdir()
    (town.root / "screens/demo.toml").write_text('turn = "^x"\n')
    eventually(lambda: reloaded(running) == ["screens"])
    (town.root / "screens/claude.toml").write_text('turn = "^x"\n')
    eventually(lambda: reloaded(running) == ["screens", "screens"])


def test_the_secrets_of_an_agent_that_is_gone_stay_secret(town: Town) -> None:
    running = begun(town, entry("a", 'env = { A_TOKEN = "opensesame" }'))
    town.write(entry("a", 'env = { A_TOKEN = "abracadabra" }'))
    eventually(lambda: reloaded(running))
    town.write(entry("b"))
    eventually(lambda: len(reloaded(running)) == 2)
    said = running.controller.conceal("a", "opensesame, abracadabra")

    assert "sesame" not in said
    assert "abra" not in said


def test_where_nothing_can_be_watched_the_patrol_notices_and_a_person_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(folders: list[str]) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(filewatch, "_notify", exhausted)  # the kernel's, not ours
    town = Town(tmp_path, patrol="100ms")
    try:
        running = begun(town, entry("a"))
        town.write(entry("a"), entry("b"))
        eventually(lambda: town.pids().keys() == {"a", "b"})
        town.write(entry("a"), entry("c"))
        eventually(lambda: town.pids().keys() == {"a", "c"})
    finally:
        town.end()

    assert len(alerts(running)) == 1
    assert "cannot be watched" in alerts(running)[0]
    assert "OS file watch limit reached" in alerts(running)[0]


def test_watching_goes_on_when_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, tries = filewatch._notify, []

    def at_first(folders: list[str]) -> object:
        tries.append(folders)
        if len(tries) < 3:
            raise OSError("OS file watch limit reached")
        return real(folders)

    monkeypatch.setattr(filewatch, "_notify", at_first)
    town = Town(tmp_path, patrol="100ms")
    try:
        running = begun(town, entry("a"))
        eventually(lambda: len(tries) >= 3)
        eventually(lambda: alerts(running) and not still_open(town))
        town.write(entry("a"), entry("b"), head=HEAD.format(patrol="1h"))
        eventually(lambda: town.pids().keys() == {"a", "b"})
        town.write(entry("a"), entry("c"), head=HEAD.format(patrol="1h"))
        eventually(lambda: town.pids().keys() == {"a", "c"})
    finally:
        town.end()

    assert len(alerts(running)) == 1


def test_a_question_is_answered_with_what_changed(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(folders: list[str]) -> None:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr(filewatch, "_notify", blind)  # so that nobody reads it before the question
    running = begun(town, entry("a"))
    nothing = running.ask("reload")
    town.write(entry("b"))
    answer = running.ask("reload")

    assert nothing["accepted"]
    assert nothing["message"] == "nothing changed"
    assert answer["accepted"]
    assert (answer["new"], answer["gone"]) == (["b"], ["a"])
    assert answer["message"] == "1 agent new (b), 1 gone (a)"


def test_a_question_during_a_reading_is_answered_by_the_next(town: Town) -> None:
    running = begun(town, entry("a"))
    town.go_on.clear()
    town.write(entry("a"), entry("b", 'session = "other"'))
    eventually(lambda: "other" in town.opened)
    answers: list[object] = []
    running.controller.post(Asked("reload", {}, answers.append))
    running.ask("ping")
    town.go_on.set()
    eventually(lambda: answers)

    assert isinstance(answers[0], dict)
    assert answers[0]["new"] == ["b"]


def test_a_question_is_answered_with_the_problems(town: Town) -> None:
    running = begun(town, entry("a"))
    town.write(entry("a"), "[bogus]\n")
    answer = running.ask("reload")

    assert not answer["accepted"]
    assert [problem["line"] for problem in answer["problems"]] == [9]
    assert running.states() == {"a": "ready"}


def test_a_city_that_is_being_stopped_is_not_read_again(town: Town) -> None:
    running = begun(town, entry("a"))
    town.world.stuck.add("gc-c-a")
    running.controller.post(Changed())
    stop: list[object] = []
    running.controller.post(Asked("stop", {}, stop.append))
    town.write(entry("a"), entry("b"))

    with pytest.raises(GascityError, match="it is being stopped"):
        running.ask("reload")
    town.world.stuck.clear()
    eventually(lambda: stop)
    assert "gc-c-b" not in town.world.starts


def test_who_came_a_moment_before_a_change_is_not_cut_off(town: Town) -> None:
    town.write(entry("a"), entry("b"))
    running = town.run()
    eventually(up(running, "a", "b"))
    before = town.pids()
    with town.world.changed:  # no look has seen it yet, and nobody tells
        town.world.sessions["gc-c-a"].attached = 1

    town.write(entry("a", command="false"), entry("b", command="false"))

    eventually(lambda: is_replaced(town, "b", before))
    eventually(lambda: "attached" in running.ask("status")["agents"][0]["reason"])
    assert town.pids()["a"] == before["a"]


def test_a_file_without_agents_does_not_end_a_city_that_has_some(town: Town) -> None:
    town.write(entry("a"))
    running = town.run()
    eventually(up(running, "a"))
    before = town.pids()

    town.write()

    (event,) = eventually(lambda: running.told(EventType.CITY_REJECTED))
    assert "no agents any more" in event.message
    assert town.pids() == before
