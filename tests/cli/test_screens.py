"""`gc screens`: listing the rules, making one from a screen, trying them on saved screens."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import City, Inside, ScreenCity

from gascity.cli.account import Account, Seen, account
from gascity.cli.learning import Lesson, lesson, write
from gascity.config.screens import shipped
from gascity.errors import GascityError, UsageError
from gascity.screens.reading import Kind
from gascity.screens.rules import NO_RULES, Rules, rules_for_prompt
from gascity.screens.screen import Screen

RECORDED = Path(__file__).parents[1] / "screens" / "recorded"
DIALOG = """\
Welcome to the tool, version 3.4

Would you like to share what's typed with the maker of "tool"?

❯ 1. Yes, share it
  2. No

Enter to confirm
"""  # noqa: RUF001  the glyph that programs draw


def seen(text: str, backend: str = "claude", rules: Rules | None = None) -> Account:
    """Return the account of a screen of agent "a", by the shipped rules unless told otherwise."""
    known = rules or shipped(backend) or NO_RULES
    return account(Seen("a", backend, Screen.of(text), known), now=0.0)


def learned(root: Path, shown: Account, name: str = "", kind: Kind | None = None) -> Lesson:
    return lesson(str(root), shown, prompt="", name=name, kind=kind)


# --- list


def test_the_rules_are_listed_in_the_order_they_are_tried(outside: Inside) -> None:
    done = outside("screens", "list", "demo")
    head, *rows = [line.split() for line in done.stdout.splitlines()]

    assert (done.returncode, done.stderr) == (0, "")
    assert head == ["BACKEND", "RULE", "KIND", "REGION", "POLICY", "FILE"]
    assert rows[0][1:5] == ["trust", "dialog", "bottom", "accept"]
    assert rows[-1][1:5] == ["prompt", "ready", "box", "-"]


def test_every_backend_with_rules_is_listed(outside: Inside) -> None:
    backends = json.loads(outside("screens", "list", "--json").stdout)["backends"]
    claude = next(each for each in backends if each["backend"] == "claude")

    assert {"claude", "codex", "gemini", "opencode", "copilot", "demo"} <= {
        each["backend"] for each in backends
    }
    assert claude["files"] == ["gascity/screens/backends/claude.toml"]
    assert claude["rules"][0] == {
        "name": "trust",
        "kind": "dialog",
        "region": "bottom",
        "policy": "accept",
        "source": "gascity/screens/backends/claude.toml",
    }


def test_the_citys_own_rules_are_listed_with_their_file(city: City, inside: Inside) -> None:
    (city.folder / "screens").mkdir()
    text = '[[rule]]\nname = "mine"\nkind = "waiting"\nmatch = "x"\n'
    (city.folder / "screens" / "demo.toml").write_text(text)
    done = inside("-C", str(city.folder), "screens", "list", "demo")

    row = done.stdout.splitlines()[1].split()
    assert row == ["demo", "mine", "waiting", "bottom", "-", "screens/demo.toml"]


def test_an_unknown_backend_ends_with_4(outside: Inside) -> None:
    done = outside("screens", "list", "gemni")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.endswith('hint: did you mean "gemini"?\n')


# --- learn


@pytest.mark.tmux
def test_a_screen_nobody_knows_becomes_a_rule(screen_city: ScreenCity) -> None:
    screen_city.up()
    said = screen_city.ok("screens", "learn", "pick")
    rules = screen_city.folder / "screens" / "picker.toml"
    saved = screen_city.folder / "screens/fixtures/picker/shall-sandbox-commands.txt"

    assert said.startswith('wrote rule "shall-sandbox-commands" (dialog) to screens/picker.toml:\n')
    assert "\nand the screen to screens/fixtures/picker/shall-sandbox-commands.txt\n" in said
    rule = tomllib.loads(rules.read_text("utf-8"))["rule"][-1]
    assert rule["accept"] == "^Yes, use the sandbox"
    assert rule["policy"] == "ask"
    assert "opensesame" not in saved.read_text("utf-8") + rules.read_text("utf-8")
    assert "2. Yes, use the sandbox\n" in saved.read_text("utf-8")

    told = screen_city.ok("explain", "pick")
    assert "rule:      shall-sandbox-commands, from screens/picker.toml\n" in told
    assert screen_city.ok("check").endswith("is fine\n")
    row = screen_city.ok("screens", "test").splitlines()[1].split()
    assert row[1:] == ["dialog", "shall-sandbox-commands"]
    again = screen_city.gc("screens", "learn", "pick")
    assert (again.returncode, again.stdout) == (2, "")
    assert 'rule "shall-sandbox-commands" knows this screen already: dialog' in again.stderr


@pytest.mark.tmux
def test_what_was_learned_is_chosen_once_it_says_accept(screen_city: ScreenCity) -> None:
    screen_city.up()
    screen_city.ok("screens", "learn", "pick", "--name", "sandbox")
    rules = screen_city.folder / "screens" / "picker.toml"
    rules.write_text(rules.read_text("utf-8").replace('policy = "ask"', 'policy = "accept"'))

    document = json.loads(screen_city.ok("explain", "pick", "--json"))
    assert document["dialog"]["would_choose"] == "Yes, use the sandbox"


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["shy"], 2, 'error: rule "trust" knows this screen already: dialog\nhint: `gc explain sh'),
        (["plain"], 2, "error: plain is a plain command; only the screens of a backend have rul"),
        (["piped"], 1, "error: piped has no screen: its provider subprocess gives it no terminal"),
        (["pick", "--kind", "dialgo"], 2, 'error: there is no kind "dialgo"; did you mean "dialog'),
        (["pick", "--name", "a b"], 2, 'error: "a b" cannot be the name of a rule\n'),
        (["pick", "--name", "prompt"], 2, 'error: there is a rule "prompt" for picker already\n'),
        (["pick", "--kind", "ready"], 1, "error: no rule of kind ready could be made that holds"),
        (["nobody"], 4, 'error: there is no agent "nobody" in this city\n'),
    ],
)
def test_what_cannot_be_learned_is_told_and_nothing_is_written(
    screened: ScreenCity, words: list[str], code: int, says: str
) -> None:
    done = screened.gc("screens", "learn", *words)

    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(says)
    assert not (screened.folder / "screens").exists()


@pytest.mark.parametrize("path", sorted(RECORDED.rglob("*.txt")), ids=lambda path: path.stem)
def test_every_recorded_screen_without_a_box_can_be_learned(path: Path, tmp_path: Path) -> None:
    backend = path.parent.name.partition("-")[0]
    known = shipped(backend)
    if known is None:
        known = NO_RULES
    shown = seen(path.read_text("utf-8"), backend, replace(known, rules=()))
    if shown.ended or shown.reading.has_box or shown.reading.is_blank:
        return
    made = learned(tmp_path, shown)

    # Making it has already seen that it loads, and that it holds on this screen.
    (rule,) = tomllib.loads(made.content.decode())["rule"]
    assert rule["name"] == made.name
    assert rule["kind"] in ("dialog", "waiting")
    assert rule.get("policy", "ask") == "ask"


def test_yes_and_no_become_accept_and_deny(tmp_path: Path) -> None:
    made = learned(tmp_path, seen(DIALOG))
    (rule,) = tomllib.loads(made.content.decode())["rule"]

    assert rule == {
        "name": "like-share-s-typed",
        "kind": "dialog",
        "match": [
            'Would you like to share what.s typed with the maker of "tool"\\?',
            "Yes, share it",
            "Enter to confirm",
        ],
        "accept": "^Yes, share it",
        "deny": "^No",
        "policy": "ask",
    }


def test_what_is_in_the_file_stays_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "screens").mkdir()
    file = tmp_path / "screens" / "claude.toml"
    rule = '[[rule]]\r\nname = "x"\r\nkind = "waiting"\r\nmatch = "q"  # é'
    old = b"\xef\xbb\xbf# mine\r\n" + rule.encode()
    file.write_bytes(old)
    file.chmod(0o600)
    made = learned(tmp_path, seen(DIALOG))
    write(str(tmp_path), made)

    assert file.read_bytes() == old + b"\n\n" + made.rule.encode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["claude.toml", "fixtures"]


def test_a_link_to_the_rules_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "screens").mkdir()
    shared = tmp_path / "shared.toml"
    shared.write_text("# shared\n")
    file = tmp_path / "screens" / "claude.toml"
    file.symlink_to(shared)
    write(str(tmp_path), learned(tmp_path, seen(DIALOG)))

    assert file.is_symlink()
    assert shared.read_text("utf-8").startswith("# shared\n\n[[rule]]")


def test_two_rules_of_one_screen_have_two_names(tmp_path: Path) -> None:
    other = DIALOG.replace("Would you", "Would you not").replace("share it", "do so")
    write(str(tmp_path), learned(tmp_path, seen(DIALOG), name="share"))

    with pytest.raises(UsageError, match="exists already; it is left as it is"):
        learned(tmp_path, seen(other), name="share")
    assert learned(tmp_path, seen(other)).name != "share"


def test_a_file_that_cannot_take_a_rule_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "screens").mkdir()
    file = tmp_path / "screens" / "claude.toml"
    file.write_text("rule = []\n")

    with pytest.raises(GascityError, match="the rule would not load"):
        learned(tmp_path, seen(DIALOG))
    assert file.read_text() == "rule = []\n"


def test_what_the_prompt_told_is_still_told(tmp_path: Path) -> None:
    prompt = "it's> "
    shown = seen(DIALOG, "mine", rules_for_prompt(prompt))
    made = lesson(str(tmp_path), shown, prompt=prompt, name="", kind=None)
    write(str(tmp_path), made)
    (tmp_path / "city.toml").write_text(
        '[providers.mine]\ncommand = "true"\n[[agents]]\nname = "a"\nprovider = "mine"\n'
    )
    from gascity.controller.opening import read_city

    rules = read_city(tmp_path / "city.toml").screens.of("mine", prompt)
    ready = account(Seen("a", "mine", Screen.of("hello\nit's> "), rules), now=0.0)
    assert (ready.reading.kind, ready.reading.has_box) == (Kind.READY, True)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (None, "the input box is on this screen, so it is no dialog"),
        (Kind.DIALOG, "no rule of kind dialog could be made that holds on this screen"),
        (Kind.WAITING, "no rule of kind waiting could be made that holds on this screen"),
    ],
)
def test_where_the_input_box_is_there_is_no_dialog(
    tmp_path: Path, kind: Kind | None, says: str
) -> None:
    shown = _with_a_box()

    with pytest.raises(GascityError, match=says):
        learned(tmp_path, shown, kind=kind)


@pytest.mark.parametrize("kind", [Kind.WORKING, Kind.LIMITED, Kind.AUTH, Kind.ERROR, Kind.READY])
def test_with_a_box_it_can_be_anything_else(tmp_path: Path, kind: Kind) -> None:
    assert learned(tmp_path, _with_a_box(), kind=kind).kind is kind


def test_rows_with_a_secret_are_nothing_to_recognise_it_by(tmp_path: Path) -> None:
    text = DIALOG.replace('"tool"?', '"tool" with word-of-power?')
    known = shipped("claude")
    assert known is not None
    shown = account(
        Seen("a", "claude", Screen.of(text), known, secrets=("word-of-power",)), now=0.0
    )
    made = learned(tmp_path, shown)

    assert "word-of-power" not in made.screen + made.content.decode()
    assert "sha256:" not in made.rule


def _with_a_box() -> Account:
    known = shipped("demo")
    assert known is not None
    text = "The quota of this account is used up for now\n\n> "
    return seen(text, "demo", replace(known, rules=()))


# --- test


def test_a_saved_screen_that_no_rule_knows_ends_with_1(city: City, inside: Inside) -> None:
    folder = city.folder / "screens" / "fixtures" / "claude"
    folder.mkdir(parents=True)
    (folder / "trust.txt").write_bytes((RECORDED / "claude-2.1.197/10-trust.txt").read_bytes())
    fine = inside("-C", str(city.folder), "screens", "test")
    (folder / "odd.txt").write_text("Something else\n")
    odd = inside("-C", str(city.folder), "screens", "test")
    document = inside("-C", str(city.folder), "screens", "test", "--json")

    assert (fine.returncode, fine.stderr) == (0, "")
    assert fine.stdout.splitlines()[1].split() == [
        *("screens/fixtures/claude/trust.txt", "dialog", "trust")
    ]
    assert odd.returncode == document.returncode == 1
    assert odd.stdout.splitlines()[1].split()[1:] == ["none", "-"]
    assert odd.stderr.startswith("no rule knows 1 of 2 screens; `gc explain --file")
    assert [each["kind"] for each in json.loads(document.stdout)["screens"]] == [None, "dialog"]


def test_a_city_without_saved_screens_is_told_how_to_get_one(city: City, inside: Inside) -> None:
    done = inside("-C", str(city.folder), "screens", "test")

    assert (done.returncode, done.stderr) == (0, "")
    assert "`gc screens learn` saves one" in done.stdout


def test_a_saved_screen_of_nobody_is_told(city: City, inside: Inside) -> None:
    folder = city.folder / "screens" / "fixtures"
    folder.mkdir(parents=True)
    (folder / "odd.txt").write_text("x")
    done = inside("-C", str(city.folder), "screens", "test")

    assert done.returncode == 2
    assert done.stderr.endswith("hint: move it to screens/fixtures/BACKEND\n")


# --- completion


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gc screens list c", ["claude", "codex", "copilot", "cursor"]),
        ("gc screens learn ", ["a", "b", "c"]),
        ("gc screens learn a --kind wa", ["waiting"]),
        ("gc explain --backend ge", ["gemini"]),
        ("gc explain b", ["b"]),
    ],
)
def test_agents_backends_and_kinds_are_completed(city: City, line: str, words: list[str]) -> None:
    env = {
        "_GC_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }

    assert city.gc(env=env).stdout.split() == words
