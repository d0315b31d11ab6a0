from __future__ import annotations

import tomllib
from collections.abc import Callable

from gascity.config.show import as_toml
from gascity.core.model import City

Load = Callable[[str | bytes], City]


def test_a_resolved_city_is_shown_with_every_default(load: Load) -> None:
    city = load(
        '[workspace]\nname = "city"\nstart_command = "run"\n[[agents]]\nname = "a"\n'
        '[[agents]]\nname = "w"\npool = { max = 2 }\n'
    )
    shown = tomllib.loads(as_toml(city))

    assert shown["city"]["name"] == "city"
    assert shown["daemon"]["patrol_interval"] == "30s"
    assert shown["agents"][0]["command"] == "run"
    assert shown["agents"][0]["session_name"] == "gc-city-a"
    assert [member["name"] for member in shown["pools"][0]["members"]] == ["w-1", "w-2"]


def test_how_backends_do_one_piece_of_work_is_shown(load: Load) -> None:
    city = load(
        '[workspace]\nname = "city"\n[providers.mine]\nmodel = "big"\n'
        'env = { MY_KEY = "hunter2" }\n'
        'base_url = "http://me:hunter2@there/x"\n[providers.mine.run]\ncommand = "mine"\n'
        'args = ["--with", "hunter2"]\n'
    )
    shown = as_toml(city)
    backends = {one["name"]: one for one in tomllib.loads(shown)["backends"]}

    assert backends["claude"]["command"] == ["claude"]
    assert "command" not in backends["xai"]
    assert (backends["mine"]["model"], backends["mine"]["prompt"]) == ("big", "stdin")
    assert "hunter2" not in shown


def test_no_secret_is_shown(load: Load) -> None:
    city = load(
        '[workspace]\nname = "city"\n[[agents]]\nname = "a"\nstart_command = "run hunter2"\n'
        'nudge = "hunter2"\nenv = { API_TOKEN = "hunter2", COPY = "x hunter2" }\n'
        '[session.tmux]\npassword = "hunter2"\ndeep = [{ token = "hunter2" }]\n'
    )

    assert "hunter2" not in as_toml(city)
