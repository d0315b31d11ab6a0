"""A launchd agent says the same as it was made of."""

from __future__ import annotations

import plistlib

import pytest
from tests.unit.service.test_unit import HOSTILE, made

from gascity.service.plist import city_of, essence, label_of, leaves_agents, plist_text
from gascity.service.signature import is_signed, is_untouched


@pytest.mark.parametrize("name", ["plain", *HOSTILE, "<&amp;>", "--> <!-- x"])
def test_a_plist_says_what_it_was_made_of(name: str) -> None:
    root = f"/Users/x/{name}"
    service = made(root, program=f"{root}/gc", env={"PATH": f"{root}:/bin"})
    text = plist_text(service)
    facts = plistlib.loads(text.encode())

    assert facts["Label"] == "dev.gascity.town-1a2b3c4d"
    assert facts["ProgramArguments"] == [f"{root}/gc", "-C", root, "start"]
    assert facts["WorkingDirectory"] == root == city_of(text)
    assert facts["EnvironmentVariables"] == {"PATH": f"{root}:/bin"}
    assert facts["StandardErrorPath"] == f"{root}/.gc/service.log"
    assert is_untouched(text)


def test_the_agents_outlive_it_and_a_wanted_end_is_one() -> None:
    text = plist_text(made())
    facts = plistlib.loads(text.encode())

    assert facts["AbandonProcessGroup"] is True
    assert facts["KeepAlive"] == {"SuccessfulExit": False}
    assert facts["RunAtLoad"] is True
    assert leaves_agents(text)
    assert not leaves_agents(text.replace("AbandonProcessGroup", "Other"))


def test_an_edited_plist_is_known() -> None:
    text = plist_text(made())
    edited = text.replace("<integer>30</integer>", "<integer>31</integer>")

    assert edited != text
    assert is_signed(edited)
    assert not is_untouched(edited)
    assert not is_signed(plistlib.dumps({"Label": "x"}).decode())


def test_the_shell_does_not_make_another_agent() -> None:
    one, two = (plist_text(made(env={"PATH": path})) for path in ("/bin", "/usr/bin"))

    assert one != two
    assert essence(one) == essence(two)


@pytest.mark.parametrize("text", ["", "no plist", "<plist><dict><key>", "<plist><array/></plist>"])
def test_what_is_no_plist_is_for_no_city(text: str) -> None:
    assert city_of(text) is None
    assert not leaves_agents(text)


def test_a_label_of_a_chosen_name() -> None:
    assert label_of("mine") == "dev.gascity.mine"
