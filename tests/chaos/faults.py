"""What is done to the city, one small function each.

A fault does its harm and says in a few words what it did, or returns None when there is nothing
it could be done to. Whatever it changes about what should be, it notes in the world.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.declared import LARGEST, POOL, Program
from tests.chaos.sight import Foreign, Sleeper, living, process
from tests.chaos.witness import PREFIX
from tests.chaos.world import Person, World

Fault = Callable[[World, random.Random], str | None]

BROKEN = (
    "[[agents]\nname = ",
    '[workspace]\nname = "chaos"\n\n[[agents]]\nname = "a0"\nno_such_key = 1\n',
    '[[agents]]\nname = "a0"\nstart_command = "true"\n[[agents]]\nname = "a0"\n',
    "\0\0\0",
    '[workspace]\nname = "chaos"\n[[agents]]\nname = "bad name!"\n',
)


def _someone(world: World, rng: random.Random) -> Sleeper | None:
    found = sorted(living(world.key), key=lambda one: one.agent)
    return rng.choice(found) if found else None


def _kill(world: World, one: Sleeper) -> None:
    world.killed.add(one.process)
    one.process.signal(signal.SIGKILL)


# --- death


def kill_an_agent(world: World, rng: random.Random) -> str | None:
    if (one := _someone(world, rng)) is None:
        return None
    _kill(world, one)
    return f"killed {one.agent} ({one.pid})"


def kill_many_agents(world: World, rng: random.Random) -> str | None:
    found = living(world.key)
    for one in found:
        _kill(world, one)
    return f"killed all {len(found)} agents" if found else None


def kill_the_controller(world: World, rng: random.Random) -> str | None:
    if not world.controller_runs():
        return None
    world.end_controller(signal.SIGKILL)
    if rng.random() < 0.7:
        world.start()
        return f"killed the controller; {_pid(world)} follows"
    return "killed the controller"


def restart_the_controller(world: World, rng: random.Random) -> str | None:
    if world.controller_runs():
        world.end_controller(signal.SIGTERM)
    world.start()
    return f"asked the controller to leave; {_pid(world)} follows"


def kill_the_server(world: World, rng: random.Random) -> str | None:
    world.thaw()
    server = world.server()
    if server is None:
        return None
    world.foreign.clear()  # they end with it
    world.killed_servers.add(server.pid)
    server.signal(signal.SIGKILL)
    return f"killed tmux ({server.pid})"


# --- silence


def freeze_the_server(world: World, rng: random.Random) -> str | None:
    if world.frozen or (server := world.server()) is None:
        return None
    seconds = rng.choice((0.1, 0.3, 1.0, 2.0))
    world.freeze(server, seconds)
    return f"froze tmux ({server.pid}) for {seconds} s"


def freeze_an_agent(world: World, rng: random.Random) -> str | None:
    if (one := _someone(world, rng)) is None:
        return None
    seconds = rng.choice((0.2, 1.0, 3.0))
    world.freeze(one.process, seconds)
    return f"froze {one.agent} ({one.pid}) for {seconds} s"


def freeze_the_controller(world: World, rng: random.Random) -> str | None:
    if world.controller is None or not world.controller_runs():
        return None
    who = process(world.controller.pid)
    if who is None:
        return None
    seconds = rng.choice((0.1, 0.5, 2.0))
    world.freeze(who, seconds)
    return f"froze the controller ({who.pid}) for {seconds} s"


def fill_the_disk(world: World, rng: random.Random) -> str | None:
    if not world.has_disk:
        return None
    if world.disk_is_full:
        world.empty_disk()
        return "made room on the disk"
    world.fill_disk()
    return "filled the disk"


# --- people


def edit_the_file(world: World, rng: random.Random) -> str:
    """Add, remove or change an agent."""
    file, spare = world.file, world.spare()
    names = sorted(set(file.agents) - {POOL})
    kind = rng.choice(("add", "remove", "command", "env", "pool"))
    if kind == "add" and spare:
        name = rng.choice(spare)
        number = int(name[1:])
        program = Program(number, rng.randrange(2, 9999), deaf=number % 2 == 1)
        world.write(file.with_agent(name, program))
    elif kind == "remove" and len(names) > 2:
        name = rng.choice(names)
        world.excused.add(name)
        world.held.discard(name)
        world.write(file.without(name))
    else:
        return change_agent(world, POOL if kind == "pool" else rng.choice(names), kind)
    return f"edited the file: {kind} {name}{_take_up(world)}"


def change_agent(world: World, name: str, kind: str) -> str:
    """Change an agent's variables in the file, or else its command."""
    program = world.file.agents[name]
    changed = replace(program, version=program.version % 9998 + 1)
    if kind == "env":
        changed = replace(program, env=program.env + 1)
    world.excused.add(name)
    world.write(world.file.with_agent(name, changed))
    return f"edited the file: {kind} of {name}{_take_up(world)}"


def spoil_the_file(world: World, rng: random.Random) -> str | None:
    text = rng.choice(BROKEN)
    # What was good for less than the controller needs to read it was never in force.
    unread = world.reloads and world.controller_runs() and not world.broken
    if unread and world.gc("reload").returncode != 0:
        return None
    world.spoil(text)
    return f"spoilt the file: {text[:20]!r}"


def mend_the_file(world: World, rng: random.Random) -> str | None:
    if not world.broken:
        return None
    world.write(world.file)
    return f"mended the file{_take_up(world)}"


def _take_up(world: World) -> str:
    """Have the file read: by itself, or by a new controller."""
    if world.reloads and world.controller_runs():
        return ""
    if world.controller_runs():
        world.end_controller(signal.SIGTERM)
    world.start()
    return f"; controller {_pid(world)} reads it"


def change_the_pool(world: World, rng: random.Random) -> str:
    world.excused.add(POOL)
    world.want(rng.randrange(LARGEST + 1))
    return f"the pool's check wants {world.wanted}"


def make_a_session_by_hand(world: World, rng: random.Random) -> str | None:
    """Make a session with our prefix, or with the name of an agent that is not there now."""
    world.thaw()
    server = world.server()
    if server is None or len(world.foreign) >= 3:
        return None
    spare = [name for name in world.spare() if f"{PREFIX}{name}" not in world.foreign]
    agent = rng.choice(spare) if spare and rng.random() < 0.5 else ""
    name = f"{PREFIX}{agent or f'mine{rng.randrange(10_000)}'}"
    asked = ("new-session", "-d", "-P", "-F", "#{session_id} #{pane_pid}", "-s", name)
    said = world.tmux(*asked, "sleep 777777")
    if said is None:
        return None  # what was removed from the file may still be on its way out
    number, pid = said.split()
    made = process(int(pid))
    if made is None or world.server() != server:
        return None
    world.foreign[name] = Foreign(name, number, made, server, agent)
    return f"made session {name} ({number}, {pid}) by hand"


def remove_a_session_by_hand(world: World, rng: random.Random) -> str | None:
    if not world.foreign:
        return None
    world.thaw()
    one = world.foreign.pop(rng.choice(sorted(world.foreign)))
    world.tmux("kill-session", "-t", one.id)
    return f"removed session {one.name} by hand"


def attach_somebody(world: World, rng: random.Random) -> str | None:
    world.thaw()
    one = _someone(world, rng)
    if one is None or len(world.people) >= 2:
        return None
    world.people.append(Person(world.socket, one.agent))
    return f"somebody attached to {one.agent}"


def detach_somebody(world: World, rng: random.Random) -> str | None:
    if not world.people:
        return None
    person = world.people.pop(rng.randrange(len(world.people)))
    person.leave()
    return f"whoever was attached to {person.agent} left"


# --- requests


def stop_an_agent(world: World, rng: random.Random) -> str | None:
    names = sorted(world.expected())
    if not names or world.broken:
        return None
    world.thaw()
    name = rng.choice(names)
    world.excused.add(name)
    done = world.gc("stop", name)
    (world.held if done.returncode == 0 else world.uncertain).add(name)
    return f"gc stop {name}: {done.returncode} {done.stderr.strip()}"


def restart_an_agent(world: World, rng: random.Random) -> str | None:
    names = sorted(world.held & set(world.file.agents)) or sorted(world.expected())
    if not names or world.broken:
        return None
    world.thaw()
    name = rng.choice(names)
    world.excused.add(name)
    done = world.gc("restart", name)
    world.held.discard(name)
    if done.returncode != 0:
        world.uncertain.add(name)
    return f"gc restart {name}: {done.returncode} {done.stderr.strip()}"


def queue_a_message(world: World, rng: random.Random) -> str | None:
    names = sorted(world.expected())
    if not names or world.broken:
        return None
    world.thaw()
    name = rng.choice(names)
    done = world.gc("nudge", name, "--queue", "--expires", "2s", f"message {rng.random()}")
    return f"gc nudge --queue {name}: {done.returncode} {done.stderr.strip()}"


def _pid(world: World) -> int:
    assert world.controller is not None
    return world.controller.pid


FAULTS: dict[Fault, int] = {
    kill_an_agent: 20,
    kill_many_agents: 3,
    kill_the_controller: 10,
    restart_the_controller: 3,
    kill_the_server: 7,
    freeze_the_server: 7,
    freeze_an_agent: 5,
    freeze_the_controller: 7,
    fill_the_disk: 7,
    edit_the_file: 10,
    spoil_the_file: 4,
    mend_the_file: 3,
    change_the_pool: 7,
    make_a_session_by_hand: 5,
    remove_a_session_by_hand: 3,
    attach_somebody: 4,
    detach_somebody: 3,
    stop_an_agent: 4,
    restart_an_agent: 5,
    queue_a_message: 4,
}
"""Every fault, with how often it happens beside the others."""
