"""`gc hook`: a tool's own hooks set up, heard, and taken back."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import GC, HEAD, LIMIT, City, MakeCity

from gascity.testing.eventually import eventually

LIKE = Path(__file__).with_name("claude_like.py")
TMUX = HEAD.replace('"subprocess"', '"tmux"')
SILENT: dict[str, Any] = {"code": 0, "stdout": "", "stderr": ""}
SLEEPER = '[[agents]]\nname = "a"\nprovider = "claude"\nstart_command = "sleep 1000"\n'
QUICK = 'ready_prompt_prefix = ""\nready_delay_ms = 0\nprocess_names = []\nprompt_mode = "none"\n'


def claude(**keys: str) -> str:
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return (
        f'[providers.claude]\ncommand = "{sys.executable} {LIKE}"\nargs = []\nprocess_names = []\n'
        '[[agents]]\nname = "a"\ndir = "rig"\nprovider = "claude"\n'
        f'prompt_template = "p.md"\n{more}'
    )


class Tool:
    """The imitation in a city's folder, seen from outside."""

    def __init__(self, city: City) -> None:
        self.city = city
        self.folder = city.folder / "rig"

    def happens(self, name: str, session_id: str = "main", **more: str) -> list[dict[str, Any]]:
        """Have something happen in it; return what became of its hooks."""
        path = self.folder / "results"
        path.touch()
        before = len(path.read_text().splitlines())
        event = {"hook_event_name": name, "session_id": session_id, **more}
        (self.folder / "events").write_text(json.dumps(event) + "\n")

        def done() -> str:
            lines = path.read_text().splitlines()
            assert len(lines) > before
            return lines[-1]

        found: list[dict[str, Any]] = json.loads(eventually(done, within=LIMIT))
        return found

    def state(self) -> str:
        return str(self.city.agents()["rig/a"]["state"])

    def explained(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.city.ok("explain", "rig/a", "--json"))
        return found


@pytest.fixture
def tool(make_city: MakeCity) -> Tool:
    city = make_city(TMUX + claude(hooks="true"))
    (city.folder / "p.md").write_text("Be {{.Agent}}.\n")
    city.start()
    return Tool(city)


@pytest.mark.tmux
def test_states_change_as_the_tool_reports_them(tool: Tool) -> None:
    for event, more, state in (
        ("UserPromptSubmit", {"prompt": "sekret"}, "working"),
        ("PermissionRequest", {"tool_name": "Bash"}, "waiting"),
        ("PostToolUse", {"tool_name": "Bash"}, "working"),
        ("Stop", {}, "ready"),
        ("Notification", {"notification_type": "permission_prompt"}, "waiting"),
        ("Notification", {"notification_type": "idle_prompt"}, "ready"),
    ):
        assert tool.happens(event, **more) == [SILENT]
        eventually(lambda state=state: tool.state() == state, within=LIMIT)  # type: ignore[misc] # a lambda has no types


@pytest.mark.tmux
def test_explain_says_who_spoke(tool: Tool) -> None:
    assert tool.explained()["spoke"] == "screen"

    tool.happens("PreToolUse", tool_name="Bash")
    eventually(lambda: tool.explained()["spoke"] == "hook", within=LIMIT)

    heard = tool.explained()["hook"]
    assert (heard["event"], heard["kind"]) == ("PreToolUse", "working")
    assert "hook:      working: PreToolUse (Bash), " in tool.city.ok("explain", "rig/a")


@pytest.mark.tmux
def test_an_agent_with_hooks_primes_itself(tool: Tool) -> None:
    assert (tool.folder / "context").read_text() == "Be rig/a.\n"
    words = json.loads((tool.folder / "words").read_text())
    assert "gc prime" not in " ".join(words)


@pytest.mark.tmux
def test_a_tool_within_the_tool_says_nothing_of_the_agent(tool: Tool) -> None:
    tool.happens("UserPromptSubmit")

    assert tool.happens("SessionStart", "nested") == [SILENT]  # it is not primed, either
    assert tool.happens("Stop", "nested") == [SILENT]
    assert tool.happens("SubagentStop") == []
    tool.happens("PreToolUse")

    eventually(lambda: tool.explained()["hook"]["event"] == "PreToolUse", within=LIMIT)
    assert tool.state() == "working"


@pytest.mark.tmux
def test_without_a_controller_nothing_happens(tool: Tool) -> None:
    os.kill(tool.city.controller(), signal.SIGKILL)
    eventually(lambda: not tool.city.status()["controller"]["running"], within=LIMIT)

    assert tool.happens("Stop") == [SILENT]
    assert tool.happens("SessionStart", "other")[0]["stdout"] == "Be rig/a.\n"


@pytest.mark.tmux
def test_a_frozen_controller_holds_nobody_up(tool: Tool) -> None:
    controller = tool.city.controller()
    os.kill(controller, signal.SIGSTOP)
    try:
        assert [tool.happens("PreToolUse") for _ in range(3)] == [[SILENT]] * 3
        assert tool.happens("UserPromptSubmit") == [SILENT]
    finally:
        os.kill(controller, signal.SIGCONT)

    eventually(lambda: tool.state() == "working", within=LIMIT)


@pytest.mark.tmux
def test_hooks_from_session_setup_are_there_for_the_next_start(make_city: MakeCity) -> None:
    city = make_city(TMUX + claude(session_setup='["gc hook install {{.Session}}"]'))
    (city.folder / "p.md").write_text("Hello.\n")
    city.start()

    assert json.loads(city.ok("hook", "status", "--json"))["hooks"][0]["sessions"] == [
        "gc-town-rig--a"
    ]
    (city.folder / "rig" / "events").unlink()
    city.ok("restart", "a")
    tool = Tool(city)
    eventually(lambda: (tool.folder / "context").read_text() == "Hello.\n", within=LIMIT)


def test_an_agent_without_a_screen_has_a_state_too(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER + QUICK)
    city.start()
    report = reporter(city)

    report("UserPromptSubmit", session_id="x")
    city.wait_for("a", "working")
    report("Stop", session_id="x")
    city.wait_for("a", "ready")

    assert "hook:      ready: Stop, " in city.ok("explain", "a")


def test_what_a_report_may_say_is_little(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER + QUICK)
    city.start()
    report = reporter(city)

    report("PermissionRequest", session_id="x", tool_name="a;b\x1b[2J$(rm)", prompt="sekret")
    waiting = city.wait_for("a", "waiting")

    assert waiting["reason"] == "it waits for a person: PermissionRequest"
    assert waiting["next"] == ("`gc peek a` shows what it printed; it has no terminal to answer in")


def test_a_person_who_uses_the_same_tool_is_left_in_peace(city: City) -> None:
    for words in (["report", "claude", "Stop"], ["prime", "claude"], ["report", "codex", "notify"]):
        done = city.gc("hook", *words, text="{}")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_tool_that_never_ends_its_words_is_not_waited_for(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER + QUICK)
    city.start()
    process = subprocess.Popen(
        [GC, "hook", "report", "claude", "UserPromptSubmit"],
        env=session_env(city),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdin is not None
    process.stdin.write(b'{"session_id": "x", "prompt": "')
    process.stdin.flush()

    assert process.wait(LIMIT) == 0
    assert process.stdout is not None
    assert process.stdout.read() == b""
    process.stdin.close()
    process.stdout.close()
    city.wait_for("a", "working")


def test_a_tool_that_is_late_with_its_words_is_heard(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER + QUICK)
    city.start()
    late = """sleep 0.2; echo '{"notification_type": "permission_prompt"}'"""
    script = f"({late}) | {GC} hook report claude Notification"
    subprocess.run(["sh", "-c", script], env=session_env(city), check=True)

    city.wait_for("a", "waiting")


def test_codex_calls_the_users_own_program_too(make_city: MakeCity, tmp_path: Path) -> None:
    codex = SLEEPER.replace('"claude"', '"codex"') + QUICK
    city = make_city(HEAD + codex)
    city.start()
    home = tmp_path / "codex"
    home.mkdir()
    told = tmp_path / "told"
    config = f'notify = ["sh", "-c", \'echo "$1" > {told}\', "me"]\n'
    (home / "config.toml").write_text(config)

    done = city.gc("hook", "install", "a", env={"CODEX_HOME": str(home)})
    assert done.stdout == f"a: hooks are in {home}/config.toml\n"
    import tomllib

    words = tomllib.loads((home / "config.toml").read_text())["notify"]
    turn = json.dumps({"type": "agent-turn-complete", "thread-id": "t1", "cwd": "/"})
    for env in (session_env(city), city.environment()):
        told.unlink(missing_ok=True)
        done2 = subprocess.run(
            [*words, turn], env=env, capture_output=True, text=True, timeout=LIMIT, check=False
        )
        assert (done2.returncode, done2.stdout, done2.stderr) == (0, "", "")
        eventually(lambda: told.exists() and told.read_text() == turn + "\n", within=LIMIT)
    ready = {"kind": "ready", "evidence": "notify (agent-turn-complete)"}

    def heard() -> bool:
        hook = json.loads(city.ok("explain", "a", "--json"))["hook"]
        return hook is not None and ready.items() <= hook.items()

    eventually(heard, within=LIMIT)

    assert city.ok("hook", "uninstall") == f"no hooks any more in {home}/config.toml\n"
    assert (home / "config.toml").read_text() == config


def test_install_status_and_uninstall_by_hand(make_city: MakeCity) -> None:
    gemini = '[[agents]]\nname = "g"\nprovider = "gemini"\n'
    demo = '[[agents]]\nname = "d"\nprovider = "demo"\n'
    city = make_city(HEAD + gemini + demo)
    path = city.folder / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"theme":"dark"}')

    assert city.ok("hook", "status") == "no hooks are set up\n"
    assert city.ok("hook", "install", "g") == f"g: hooks are in {path}\n"
    assert city.ok("hook", "install", "gc-town-g") == f"g: hooks were already in {path}\n"
    assert city.ok("hook", "status") == f"{path}  gemini\n  gc-town-g\n"
    none = city.gc("hook", "install", "d")
    assert (none.returncode, none.stdout) == (0, "")
    assert none.stderr == "d: backend demo has no hooks; its screen tells what it does\n"
    unknown = city.gc("hook", "install", "nobody")
    assert (unknown.returncode, unknown.stdout) == (4, "")
    assert city.ok("hook", "uninstall", "g") == f"no hooks any more in {path}\n"
    assert city.ok("hook", "uninstall") == "there are no hooks to take back\n"
    assert path.read_text() == '{"theme":"dark"}'


def test_hooks_are_taken_back_though_no_record_is_left(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER + '[[agents]]\nname = "d"\nprovider = "demo"\n')
    path = city.folder / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text('{\n  "theme": "dark"\n}\n')
    city.ok("hook", "install", "a")
    shutil.rmtree(city.state)

    assert city.ok("hook", "uninstall", "d") == "there are no hooks to take back\n"
    assert city.ok("hook", "uninstall") == f"no hooks any more in {path}\n"
    assert path.read_text() == '{\n  "theme": "dark"\n}\n'
    assert city.ok("hook", "uninstall") == "there are no hooks to take back\n"


def test_a_file_that_cannot_be_read_any_more_is_not_called_free_of_hooks(
    make_city: MakeCity,
) -> None:
    city = make_city(HEAD + SLEEPER)
    path = city.folder / ".claude" / "settings.local.json"
    city.ok("hook", "install", "a")
    path.write_text(path.read_text() + "// mine\n")

    assert city.ok("hook", "status").splitlines()[0] == f"{path}  claude  (it cannot be read)"
    assert json.loads(city.ok("hook", "status", "--json"))["hooks"][0]["in_place"] is None

    path.write_text("{}")
    assert city.ok("hook", "status").splitlines()[0] == f"{path}  claude  (somebody took them out)"


def test_hooks_that_may_be_another_citys_are_only_told_of(
    make_city: MakeCity, tmp_path: Path
) -> None:
    home = tmp_path / "codex"
    codex = f'[[agents]]\nname = "c"\nprovider = "codex"\nenv = {{ CODEX_HOME = "{home}" }}\n'
    city = make_city(HEAD + codex)
    city.ok("hook", "install", "c")
    before = (home / "config.toml").read_text()
    shutil.rmtree(city.state)

    done = city.gc("hook", "uninstall")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: hooks are in {home}/config.toml, and nothing tells whether this city put them"
        " there\nhint: `gc hook install c` and `gc hook uninstall` take them out\n"
    )
    assert (home / "config.toml").read_text() == before


def test_settings_with_comments_are_not_touched(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER)
    path = city.folder / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text("{\n  // mine\n}")

    done = city.gc("hook", "install", "a")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {path} is left as it is: it is not JSON")
    assert "hint: JSON proper has no comments" in done.stderr
    assert path.read_text() == "{\n  // mine\n}"


def test_what_an_agent_prepares_finds_its_folder_empty(make_city: MakeCity) -> None:
    clone = 'test -e cloned || { test -z "$(ls -A)" && touch cloned; }'
    clones = f'dir = "rig"\npre_start = [{json.dumps(clone)}]\n'
    city = make_city(HEAD + SLEEPER + QUICK + "hooks = true\n" + clones)

    city.start()

    settings = json.loads((city.folder / "rig" / ".claude" / "settings.local.json").read_text())
    assert "Stop" in settings["hooks"]
    assert (city.folder / "rig" / "cloned").exists()


@pytest.mark.parametrize("prepares", ["", 'pre_start = ["true"]\n'])
def test_an_agent_whose_hooks_cannot_be_set_up_starts_without(
    make_city: MakeCity, prepares: str
) -> None:
    city = make_city(HEAD + SLEEPER + QUICK + "hooks = true\n" + prepares)
    path = city.folder / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_text("{,}")

    city.start()

    assert "no hooks" in city.ok("events")
    assert path.read_text() == "{,}"


def test_gemini_is_primed_in_its_own_words(make_city: MakeCity) -> None:
    city = make_city(HEAD + SLEEPER.replace('"claude"', '"gemini"') + QUICK + "hooks = true\n")
    city.start()

    done = subprocess.run(
        [GC, "hook", "prime", "gemini"],
        env=session_env(city),
        input='{"session_id": "x"}',
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )

    assert json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] == (
        "You are a of the city town."
    )


def session_env(city: City) -> dict[str, str]:
    """Return the environment of what agent `a` calls."""
    agent = city.agents()["a"]
    return city.environment(
        GC_CITY_PATH=str(city.folder), GC_SESSION_NAME=agent["session"], GC_RUN=agent["run"]
    )


def reporter(city: City) -> Callable[..., None]:
    env = session_env(city)

    def report(event: str, **said: str) -> None:
        done = subprocess.run(
            [GC, "hook", "report", "claude", event],
            env=env,
            input=json.dumps(said),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    return report
