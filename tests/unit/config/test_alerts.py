"""`[alerts]`: whom to tell, and what of that may be shown."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import pytest

from gascity.config.show import as_toml
from gascity.core.model import AlertSettings, City

Load = Callable[[str | bytes], City]
Problems = Callable[[str | bytes], str]
AGENT = '[[agents]]\nname = "a"\nstart_command = "run"\n'


def test_every_key_reaches_the_city(load: Load) -> None:
    city = load(
        AGENT + "[alerts]\n"
        'command = "mail"\nwebhook = "https://example.com/hook"\n'
        'apprise = ["json://localhost", "slack://a/b/c"]\napprise_env = "ADDRESSES"\n'
        'desktop = true\nleast = "info"\nrecovery = false\nrepeat_after = "5m"\n'
        'per_minute = 3\ntimeout = "2s"\n'
    )

    assert city.alerts == AlertSettings(
        command="mail",
        webhook="https://example.com/hook",
        apprise=("json://localhost", "slack://a/b/c"),
        apprise_env="ADDRESSES",
        desktop=True,
        least="info",
        recovery=False,
        repeat_after=300.0,
        per_minute=3,
        timeout=2.0,
    )


def test_the_defaults_of_the_file_are_those_of_the_model(load: Load) -> None:
    assert load(AGENT).alerts == AlertSettings()
    assert load(AGENT + "[alerts]\n").alerts == AlertSettings()


def test_an_address_has_one_place(problems: Problems) -> None:
    said = problems(
        AGENT + '[alerts]\nwebhook = "https://example.com/"\nwebhook_env = "HOOK"\napprise = []\n'
    )

    assert "city.toml:6:1: webhook and webhook_env both say where alerts are posted" in said


@pytest.mark.parametrize(
    "address",
    [
        "example.com/hook",
        "ftp://example.com",
        "https://",
        "https:///path",
        "http://host:99999/",
        "http://host:port/",
        "http://ho st/",
        "http://host/a b",
        "http://[::1/",
    ],
)
def test_what_is_no_address_is_refused_and_not_shown(problems: Problems, address: str) -> None:
    said = problems(f'{AGENT}[alerts]\nwebhook = "{address}"\n')

    assert 'city.toml:5:1: expected an address such as "https://example.com/alerts"' in said
    assert "webhook = ***" in said


@pytest.mark.parametrize("address", ["", "slack", "://x", "mail to://x", "json:localhost"])
def test_an_address_of_apprise_has_a_scheme(problems: Problems, address: str) -> None:
    said = problems(f'{AGENT}[alerts]\napprise = ["json://localhost", "{address}"]\n')

    assert 'expected an address of apprise such as "mailto://..."' in said
    assert "city.toml:5:" in said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('least = "loud"', 'expected "info", "warning" or "critical", got "loud"'),
        ('webhook_env = "A B"', "expected the name of an environment variable"),
        ('apprise_env = "1"', "expected the name of an environment variable"),
        ('timeout = "0s"', 'expected at least "10ms"'),
        ("per_minute = -1", "expected at least 0"),
        ('apprise = "json://localhost"', "expected a list of strings, got a string"),
        ('desktop = "yes"', "expected true or false, got a string"),
        ('web_hook = "x"', 'unknown key "web_hook"; did you mean "webhook"?'),
    ],
)
def test_a_mistake_is_told_with_its_place(problems: Problems, line: str, expected: str) -> None:
    said = problems(f"{AGENT}[alerts]\n{line}\n")

    assert f"city.toml:5:1: {expected}" in said


def test_what_is_secret_in_an_address_is_not_shown(load: Load) -> None:
    city = load(
        AGENT + "[alerts]\n"
        'webhook = "https://me:hunter2@example.com:8443/services/T0/hunter3?k=hunter4"\n'
        'apprise = ["mailto://me:hunter5@gmail.com"]\n'
    )
    text = as_toml(city)
    shown = tomllib.loads(text)["alerts"]

    assert "hunter" not in text
    assert shown["webhook"].startswith("https://example.com:8443/sha256:")
    assert shown["apprise"][0].startswith("mailto://sha256:")


def test_all_of_it_is_shown(load: Load) -> None:
    shown = tomllib.loads(as_toml(load(AGENT + '[alerts]\nwebhook = "http://[::1]:80"\n')))

    assert shown["alerts"] == {
        "command": "",
        "webhook": "http://[::1]:80",
        "webhook_env": "",
        "apprise": [],
        "apprise_env": "",
        "desktop": False,
        "least": "warning",
        "recovery": True,
        "repeat_after": "1m",
        "per_minute": 20,
        "timeout": "30s",
    }


@pytest.mark.parametrize("table", ["[alerts]\n", "[alerts]\n'webhook' = 1\n", "alerts."])
def test_a_line_with_an_address_is_not_quoted(problems: Problems, table: str) -> None:
    text = f'{table}webhook = "https://example.com/hunter2'  # no end
    said = problems(text if table == "alerts." else AGENT + text)

    assert "hunter2" not in said
