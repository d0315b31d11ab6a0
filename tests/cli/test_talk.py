"""Talking to agents, and what each way of failing ends with."""

from __future__ import annotations

import re
import signal

from tests.cli.conftest import HEAD, LIMIT, City, Inside, MakeCity

from gascity.testing.eventually import eventually


def test_a_nudge_reaches_the_agent(quiet: City) -> None:
    said = quiet.ok("nudge", "rigs/talker", "good morning")

    assert said == "rigs/talker: submitted (its program read it)\n"
    eventually(lambda: '● You said: "good morning"' in quiet.ok("peek", "talker"))


def test_a_nudge_can_come_from_standard_input(quiet: City) -> None:
    document = quiet.ok("nudge", "talker", "-", "--json", text="-n 'from' \"a\" $(file);\n")

    assert '"delivery": "submitted"' in document
    eventually(lambda: 'You said: "-n \'from\' "a" $(file);"' in quiet.ok("peek", "talker"))


def test_an_empty_nudge_is_not_sent(quiet: City) -> None:
    for words, text in ((["nudge", "a", ""], ""), (["nudge", "a", "-"], " \n")):
        done = quiet.gc(*words, text=text)
        assert (done.returncode, done.stderr) == (2, "error: the message is empty\n")


def test_a_nudge_nobody_can_read_is_not_delivered(make_city: MakeCity) -> None:
    city = make_city(HEAD + '[[agents]]\nname = "deaf"\nstart_command = "exec <&-; sleep 1000"\n')
    city.start()
    done = city.gc("nudge", "deaf", "hello")

    assert done.returncode == 6
    assert done.stderr.startswith("deaf: not sent")
    assert not done.stdout


def test_a_nudge_to_what_does_not_run_ends_with_5(city: City) -> None:
    alone = city.gc("nudge", "a", "hello")
    city.start()
    city.ok("stop", "a")
    held = city.gc("nudge", "a", "hello")

    for done in (alone, held):
        assert (done.returncode, done.stdout) == (5, "")
        assert done.stderr == "a: not running, nothing was sent; `gc status` tells more\n"


def test_a_nudge_works_without_a_controller(make_city: MakeCity) -> None:
    city = make_city(HEAD + '[[agents]]\nname = "a"\nstart_command = "cat"\n')
    process = city.popen("start")
    eventually(lambda: city.state.joinpath("controller.sock").exists())
    city.wait_until_up()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)

    assert city.ok("nudge", "a", "hello") == "a: submitted (its program read it)\n"
    eventually(lambda: city.ok("peek", "a") == "hello\n")


def test_no_terminal_can_be_attached_where_there_is_none(quiet: City) -> None:
    done = quiet.gc("attach", "a")

    assert done.returncode == 1
    assert "error: session gc-town-a has no terminal\nhint: `gc peek --follow" in done.stderr


def test_an_unknown_agent_is_named_with_the_nearest_one(quiet: City, inside: Inside) -> None:
    for command in ("peek", "nudge", "attach", "stop", "restart", "prime"):
        words = [command, "talkr", *(["hi"] if command == "nudge" else [])]
        done = inside("-C", str(quiet.folder), *words)
        assert done.returncode == 4, command
        assert done.stderr == (
            'error: there is no agent "talkr" in this city\nhint: did you mean "rigs/talker"?\n'
        )


def test_prime_prints_the_prompt_inside_and_outside(make_city: MakeCity) -> None:
    city = make_city(
        HEAD
        + '[[agents]]\nname = "a"\nprompt_template = "a.md"\nprompt_mode = "none"\n'
        + "start_command = 'cd /; gc prime; sleep 1000'\n"
        + '[[agents]]\nname = "b"\nstart_command = "sleep 1000"\n'
    )
    (city.folder / "a.md").write_text("You keep {{.City}}, {{.Name}}.\n")
    city.start()

    assert city.ok("prime", "a").strip() == "You keep town, a."
    assert city.ok("prime", "b") == "You are b of the city town.\n"
    eventually(lambda: city.ok("peek", "a").strip() == "You keep town, a.")


def test_prime_outside_without_a_name_asks_which(quiet: City) -> None:
    done = quiet.gc("prime")

    assert done.returncode == 2
    assert re.match(r"error: which agent\?\nhint: .*\n$", done.stderr)
