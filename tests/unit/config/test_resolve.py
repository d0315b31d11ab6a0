from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gascity.config.backends import presets
from gascity.core.fingerprint import fingerprint
from gascity.core.model import AgentSpec, City, CopyEntry, PromptMode, RestartPolicy
from gascity.core.naming import city_id

Load = Callable[[str | bytes], City]
Problems = Callable[[str | bytes], str]
Write = Callable[[str, str | bytes], Path]

CITY = '[workspace]\nname = "city"\n'


def only(city: City) -> AgentSpec:
    [spec] = city.desired.agents
    return spec


# --- how an agent starts


def test_a_backend_gives_command_arguments_and_hints(load: Load) -> None:
    spec = only(load(CITY + '[[agents]]\nname = "a"\nprovider = "claude"\n'))

    assert spec.base_command == "claude --dangerously-skip-permissions --name city/a"
    assert spec.backend == "claude"
    assert spec.greets
    assert (
        spec.hints.ready_prompt_prefix == "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} "
    )
    assert spec.hints.process_names == ("claude", "node")
    assert spec.hints.emits_permission_warning
    assert "ANTHROPIC_API_KEY" in spec.pass_env
    assert "OPENAI_API_KEY" not in spec.pass_env


def test_own_arguments_replace_the_backends_and_are_quoted(load: Load) -> None:
    text = '[[agents]]\nname = "a"\nprovider = "claude"\nargs = ["a b", "$x", "{{.Name}}"]\n'

    assert only(load(CITY + text)).base_command == "claude 'a b' '$x' a"


def test_a_start_command_replaces_command_and_arguments_but_keeps_the_hints(load: Load) -> None:
    spec = only(
        load(
            CITY + '[[agents]]\nname = "a"\nprovider = "claude"\n'
            'start_command = "nice claude; exit"\nargs = ["x y"]\n'
        )
    )

    assert spec.base_command == "nice claude; exit 'x y'"
    assert spec.hints.process_names == ("claude", "node")
    assert spec.greets


def test_a_start_command_alone_is_a_plain_command(load: Load) -> None:
    text = '[workspace]\nname = "city"\nprovider = "claude"\n'
    spec = only(load(text + '[[agents]]\nname = "a"\nstart_command = "sh run.sh"\n'))

    assert spec.base_command == "sh run.sh"
    assert spec.backend == ""
    assert not spec.greets
    assert spec.hints.process_names == ()
    assert spec.pass_env == ()


def test_the_workspace_gives_a_backend_to_agents_that_name_none(load: Load) -> None:
    text = '[workspace]\nname = "city"\nprovider = "codex"\n[[agents]]\nname = "a"\n'

    assert only(load(text)).backend == "codex"


def test_the_workspace_gives_a_command_to_agents_that_name_nothing(load: Load) -> None:
    city = load(
        '[workspace]\nname = "city"\nstart_command = "serve {{.Name}}"\n'
        '[[agents]]\nname = "a"\n[[agents]]\nname = "b"\nprovider = "amp"\n'
    )

    assert [spec.base_command for spec in city.desired.agents] == [
        "serve a",
        "amp --dangerously-allow-all --no-ide",
    ]


def test_an_agent_with_nothing_to_start_is_a_problem(problems: Problems) -> None:
    said = problems('[workspace]\nname = "city"\n\n[[agents]]\nname = "a"\n')

    assert said.startswith('city.toml:4:1: agent "a" has no command to start')


def test_providers_change_a_preset_field_by_field(load: Load) -> None:
    spec = only(
        load(
            CITY + '[providers.claude]\nemits_permission_warning = false\nenv = { A = "1" }\n'
            'pass_env = ["MINE"]\n[[agents]]\nname = "a"\nprovider = "claude"\nenv = { B = "2" }\n'
        )
    )

    assert not spec.hints.emits_permission_warning
    assert spec.hints.ready_delay_ms == 10000
    assert spec.env == {"A": "1", "B": "2"}
    assert spec.pass_env[-1] == "MINE"


@pytest.mark.parametrize("key", ["command", "start_command"])
def test_a_city_can_have_a_backend_of_its_own(load: Load, key: str) -> None:
    spec = only(
        load(
            CITY + f'[providers.mine]\n{key} = "my agent"\nargs = ["-x"]\nprompt_mode = "none"\n'
            '[[agents]]\nname = "a"\nprovider = "mine"\n'
        )
    )

    assert spec.base_command == "my agent -x"
    assert spec.prompt_mode is PromptMode.NONE
    assert not spec.greets


def test_an_agents_hints_win_over_all_others_also_when_they_switch_off(load: Load) -> None:
    spec = only(
        load(
            CITY + '[[agents]]\nname = "a"\nprovider = "claude"\nemits_permission_warning = false\n'
            'ready_prompt_prefix = ""\nready_delay_ms = 0\nprocess_names = []\n'
        )
    )

    assert not spec.hints.emits_permission_warning
    assert spec.hints.ready_prompt_prefix == ""
    assert spec.hints.ready_delay_ms == 0
    assert spec.hints.process_names == ()


def test_every_preset_makes_an_agent(load: Load) -> None:
    names = list(presets())
    entries = "".join(f'[[agents]]\nname = "{name}"\nprovider = "{name}"\n' for name in names)
    city = load(CITY + entries)

    assert {"claude", "codex", "gemini", "cursor", "copilot", "amp", "opencode", "demo"} == {*names}
    assert [spec.backend for spec in city.desired.agents] == names
    assert all(spec.pass_env for spec in city.desired.agents if spec.backend != "demo")


# --- identity


def test_a_dir_is_part_of_the_name_and_the_folder_to_work_in(load: Load, tmp_path: Path) -> None:
    spec = only(load(CITY + '[[agents]]\nname = "a"\ndir = "rig"\nstart_command = "x"\n'))

    assert spec.name == "rig/a"
    assert spec.session == "gc-city-rig--a"
    assert spec.work_dir == str(tmp_path / "town" / "rig")


def test_a_city_without_a_name_is_called_like_its_folder(load: Load, tmp_path: Path) -> None:
    city = load('[[agents]]\nname = "a"\nstart_command = "x"\n')

    assert city.name == "town"
    assert city.root == str(tmp_path / "town")
    assert city.desired.city_id == city_id(city.root)


def test_a_city_is_the_same_whichever_link_leads_to_it(load: Load, tmp_path: Path) -> None:
    from gascity.config.load import load_city

    city = load(CITY)
    (tmp_path / "link").symlink_to(tmp_path / "town")
    linked = load_city(tmp_path / "link/city.toml", known_providers=(), auto_provider="tmux")

    assert linked.desired.city_id == city.desired.city_id


def test_a_bad_session_template_warns_once_and_gives_default_names(load: Load) -> None:
    city = load(
        '[workspace]\nname = "city"\nstart_command = "x"\nsession_template = "{{.Nope}}"\n'
        '[[agents]]\nname = "a"\n[[agents]]\nname = "b"\n'
    )

    assert [spec.session for spec in city.desired.agents] == ["gc-city-a", "gc-city-b"]
    assert len(city.warnings) == 1


def test_the_fingerprint_covers_command_prompt_and_env(load: Load, write: Write) -> None:
    write("p.md", "Do {{.Name}}'s work.\n")
    spec = only(
        load(
            CITY + '[[agents]]\nname = "a"\nstart_command = "x"\nprompt_template = "p.md"\n'
            'env = { B = "{{.Session}}" }\nnudge = "hi"\n'
        )
    )

    assert spec.prompt == "Do a's work."
    assert spec.fingerprint == fingerprint(
        "x 'Do a'\"'\"'s work.'", {"B": "gc-city-a"}, spec.fingerprint_extra
    )


# --- pools


def test_a_pool_has_numbered_members(load: Load) -> None:
    city = load(
        CITY + '[[agents]]\nname = "w"\ndir = "rig"\nstart_command = "x {{.Name}}"\n'
        '[agents.pool]\nmin = 1\nmax = 3\ncheck = "echo 2"\ndrain_timeout = "1m"\n'
    )
    [pool] = city.desired.pools

    assert (pool.name, pool.min, pool.max, pool.check) == ("rig/w", 1, 3, "echo 2")
    assert pool.drain_timeout == 60.0
    assert [spec.name for spec in pool.members] == ["rig/w-1", "rig/w-2", "rig/w-3"]
    assert [spec.base_command for spec in pool.members] == ["x w-1", "x w-2", "x w-3"]
    assert {spec.pool for spec in pool.members} == {"rig/w"}
    assert all(spec.fingerprint_extra == {"pool": "rig/w"} for spec in pool.members)


@pytest.mark.parametrize("pool", ["", "max = 1", "min = 1", "min = 0\nmax = 1"])
def test_a_pool_of_one_keeps_the_bare_name(load: Load, pool: str) -> None:
    city = load(CITY + f'[[agents]]\nname = "w"\nstart_command = "x"\n[agents.pool]\n{pool}\n')
    [spec] = city.desired.pools[0].members

    assert spec.name == "w"
    assert spec.fingerprint_extra == {}


def test_the_largest_pool_is_no_smaller_than_the_smallest(load: Load) -> None:
    city = load(CITY + '[[agents]]\nname = "w"\nstart_command = "x"\npool = { min = 4 }\n')

    assert city.desired.pools[0].max == 4


# --- the rest


def test_settings_have_their_defaults(load: Load) -> None:
    city = load(CITY)

    assert city.daemon.patrol_interval == 30.0
    assert city.daemon.shutdown_timeout == 5.0
    assert city.default_provider == "tmux"
    assert city.desired.agents == ()


def test_an_agent_overrides_what_the_city_says(load: Load) -> None:
    first, second = load(
        '[workspace]\nname = "city"\nstart_command = "x"\nenv = { A = "1", B = "1" }\n'
        '[session]\nprovider = "auto"\n[session.subprocess]\nkeep = true\n'
        '[daemon]\nmax_restarts = 3\nrestart_window = "10m"\ndrift_patience = "1m"\n'
        '[[agents]]\nname = "a"\n'
        '[[agents]]\nname = "b"\nsession = "subprocess"\nmax_restarts = 0\nsuspended = true\n'
        'restart_window = "1m"\nenv = { B = "2" }\n'
    ).desired.agents

    assert (first.provider, second.provider) == ("tmux", "subprocess")
    assert (first.restarts, second.restarts) == (RestartPolicy(3, 600.0), RestartPolicy(0, 60.0))
    assert (first.suspended, second.suspended) == (False, True)
    assert (first.env, second.env) == ({"A": "1", "B": "1"}, {"A": "1", "B": "2"})
    assert first.drift_patience == 60.0


def test_a_suspended_city_suspends_everyone(load: Load) -> None:
    text = '[workspace]\nname = "city"\nstart_command = "x"\nsuspended = true\n'

    assert only(load(text + '[[agents]]\nname = "a"\n')).suspended


def test_files_are_found_in_the_city_and_become_absolute(
    load: Load, write: Write, tmp_path: Path
) -> None:
    write("overlays/w/f", "")
    write("setup.sh", "")
    hints = only(
        load(
            CITY + '[[agents]]\nname = "a"\nstart_command = "x"\noverlay_dir = "overlays/w"\n'
            'session_setup_script = "./setup.sh"\npre_start = ["mkdir {{.WorkDir}}"]\n'
            'session_setup = ["hook {{.Session}}"]\nnudge = "go, {{.Name}}"\n'
            'copy_files = [{ src = "setup.sh" }, { src = "overlays", rel_dst = "x/y" }]\n'
        )
    ).hints
    root = str(tmp_path / "town")

    assert hints.overlay_dir == f"{root}/overlays/w"
    assert hints.session_setup_script == f"{root}/setup.sh"
    assert hints.copy_files == (
        CopyEntry(f"{root}/setup.sh", "setup.sh"),
        CopyEntry(f"{root}/overlays", "x/y"),
    )
    assert hints.pre_start == (f"mkdir {root}",)
    assert hints.session_setup == ("hook gc-city-a",)
    assert hints.nudge == "go, a"


AGENT = '[workspace]\nname = "city"\nstart_command = "x"\n[[agents]]\nname = "a"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('provider = "claud"\n', '6:1: unknown backend "claud"; did you mean "claude"?'),
        ('provider = "zzz"\n', "hint: there are amp, claude, codex"),
        ('session = "tmx"\n', '6:1: unknown session provider "tmx"; did you mean "tmux"?'),
        ("[session.tmx]\n", '6:1: unknown session provider "tmx"; did you mean "tmux"?'),
        ("[session.tmux]\nparallel = 0\n", "7:1: must be a whole number above zero"),
        ("[session.tmux]\nparallel = true\n", "7:1: must be a whole number above zero"),
        ('[session]\nprovider = "x11"\n', '7:1: unknown session provider "x11"'),
        ('depends_on = ["a"]\n', '6:15: "a" depends on itself'),
        ('depends_on = ["bb"]\n', '6:15: unknown agent or pool "bb"'),
        ('prompt_template = "p.md"\n', '6:1: there is no file "p.md"'),
        ('prompt_template = "."\n', '6:1: "." is not a file'),
        ('overlay_dir = "nope"\n', '6:1: there is no folder "nope"'),
        ('session_setup_script = "nope"\n', '6:1: there is no file "nope"'),
        ('copy_files = [{ src = "nope" }]\n', '6:17: there is no file or folder "nope"'),
        ('copy_files = [{ src = ".", rel_dst = "../x" }]\n', '"../x" is outside the agent'),
        ('copy_files = [{ src = ".", rel_dst = "/etc" }]\n', '"/etc" is outside the agent'),
        ('prompt_mode = "flag"\n', '6:1: prompt_mode "flag" needs a prompt_flag'),
        ("pool = { min = 2, max = 1 }\n", "6:10: min 2 is more than max 1"),
        ('nudge = "{{.Nam}}"\n', '6:1: unknown variable "{{.Nam}}"; did you mean "{{.Name}}"?'),
        ('args = ["x", "{{"]\n', '6:14: a "{{" has no "}}"'),
        ('env = { A = "{{.Nope}}" }\n', '6:9: unknown variable "{{.Nope}}"'),
        ('pass_env = ["GC_RUN"]\n', "6:13: GC_RUN is set by gc itself"),
        ("[providers.mine]\n", '6:1: missing key "command"'),
        ('[providers.mine]\ncommand="a"\nstart_command="a"\n', "8:1: command and start_command"),
        ('[[agents]]\nname = "a"\n', '7:1: there are two agents "a"'),
        ('pool = { max = 2 }\n[[agents]]\nname = "a-1"\n', '8:1: agent "a-1" is also a member'),
    ],
)
def test_what_does_not_fit_is_a_problem_at_its_key(
    problems: Problems, text: str, said: str
) -> None:
    assert said in problems(AGENT + text)


def test_a_template_in_a_backend_is_wrong_where_it_stands(problems: Problems) -> None:
    said = problems(
        '[providers.demo]\nargs = ["{{.X}}"]\nenv = { A = "{{.X}}" }\n'
        '[[agents]]\nname = "a"\nprovider = "demo"\n'
    )

    assert said.startswith("city.toml:2:9: ")
    assert "city.toml:3:9: " in said


def test_dependencies_must_not_go_in_a_circle(problems: Problems) -> None:
    said = problems(
        '[workspace]\nstart_command = "x"\n'
        '[[agents]]\nname = "a"\ndepends_on = ["b"]\n'
        '[[agents]]\nname = "b"\ndepends_on = ["c"]\n'
        '[[agents]]\nname = "c"\ndepends_on = ["a"]\n'
    )

    assert "depends_on goes in a circle: " in said
    assert any(way in said for way in ("a -> b -> c -> a", "b -> c -> a -> b", "c -> a -> b -> c"))


def test_two_agents_in_one_session_are_a_problem(problems: Problems) -> None:
    said = problems(
        '[workspace]\nname = "city"\nstart_command = "x"\nsession_template = "{{.City}}"\n'
        '[[agents]]\nname = "a"\n[[agents]]\nname = "b"\n'
    )

    assert 'agents "a" and "b" would share the session "city"' in said


def test_a_problem_in_a_prompt_names_the_prompt_and_its_line(
    problems: Problems, write: Write
) -> None:
    write("prompts/w.md", "# You\n\nYou are {{.Nme}}.\n")
    said = problems(AGENT + 'prompt_template = "prompts/w.md"\npool = { max = 9 }\n')

    assert said == (
        'prompts/w.md:3:9: unknown variable "{{.Nme}}"; did you mean "{{.Name}}"?\n'
        "    You are {{.Nme}}.\n"
        "            ^"
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x\xff", "p.md:1:2: the byte 0xff is not UTF-8"),
        (b"x\n\0", "p.md:2:1: a NUL character"),
        (b"x" * 130_000, "is longer than 120000 bytes"),
        (b"x" * 2_000_000, "p.md: is larger than 1048576 bytes"),
    ],
)
def test_a_prompt_that_cannot_be_sent_is_a_problem(
    problems: Problems, write: Write, data: bytes, said: str
) -> None:
    write("p.md", data)

    assert said in problems(AGENT + 'prompt_template = "p.md"\n')


def test_too_many_agents_are_a_problem(problems: Problems) -> None:
    pools = (
        f'[[agents]]\nname = "p{n}"\nstart_command = "x"\npool = {{ max = 1000 }}\n'
        for n in range(11)
    )

    assert "a city has at most 10000 agents" in problems("".join(pools))


def test_a_pool_cannot_be_stopped_for_idleness(problems: Problems) -> None:
    entry = '[[agents]]\nname = "a"\nstart_command = "true"\non_idle = "stop"\n'

    assert 'on_idle "stop" cannot be said of a pool' in problems(f"{entry}[agents.pool]\nmax = 2\n")
