"""A small program that behaves like a coding agent, and is none.

It asks whether it may trust the folder, shows a prompt, works for a moment on what it is told and
answers by quoting it. It also crashes, exits and reaches its limit on request, so that everything
a supervisor does can be tried without an account. `--help` and `/help` tell what it understands.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from gascity.demo.dialog import trusted
from gascity.demo.keys import Key, Keyboard, Pasted, Typed
from gascity.demo.screen import Screen

INTERRUPTED = 130
SECOND_INTERRUPT = 1.0  # two within this many seconds, at the prompt, mean: leave
LONG_PASTE = 500  # characters from which on only a sign of a paste is shown
MANY_LINES = 8
HELP = """\
/help          this text
/crash [CODE]  end with an error, exit status CODE (1)
/kill          end by SIGKILL
/exit          end well
/drain         say that the work is done, if it was asked to drain: `gc drain-ack`
Anything else is work: it is answered after a moment. Esc or Ctrl-C interrupts it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the agent until it is told to end; return its exit status."""
    options = _options(argv)
    # A shell starts background jobs with the interrupt ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    keyboard = Keyboard(sys.stdin.fileno())
    try:
        with keyboard.taken():
            screen = Screen(is_terminal=keyboard.is_terminal and sys.stdout.isatty())
            try:
                return Agent(options, keyboard, screen).run()
            finally:
                screen.close()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nobody reads any more. The interpreter would complain once again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


class Ended(Exception):
    """The agent ends with `status`."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Agent:
    """One conversation."""

    def __init__(self, options: argparse.Namespace, keyboard: Keyboard, screen: Screen) -> None:
        self._options = options
        self._keyboard = keyboard
        self._screen = screen
        self._interrupted_at = -SECOND_INTERRUPT
        self._working = False
        self._pastes: dict[str, str] = {}  # of this message, by the signs that stand for them
        self._signs = 0

    def run(self) -> int:
        """Hold the conversation; return the exit status."""
        name = f" · {self._options.name}" if self._options.name else ""
        self._screen.say(f"Gas City demo agent{name}\n{os.getcwd()}")
        try:
            if not self._options.trust:
                self._ask_for_trust()
            if self._options.limit:
                self._show_limit()
            first = self._options.prompt
            while True:
                first = self._turn(first)
        except Ended as end:
            return end.status

    def _turn(self, given: str) -> str:
        """Take one message and answer it; return the empty string, for the next is to be typed."""
        try:
            self._screen.prompt()
            message = given or self._read_message()
            if given:
                self._screen.write(given.replace("\n", "\n  ") + "\n")
            if message.strip():
                self._answer(message)
        except KeyboardInterrupt:
            self._interrupt()
        return ""

    # --- reading

    def _read_message(self) -> str:
        message = ""
        self._pastes = {}
        while True:
            match self._keyboard.read():
                case Typed(text):
                    message += text
                    self._screen.echo(text)
                case Pasted(text):
                    shown = self._sign(text)
                    message += shown
                    self._screen.echo(shown)
                case Key.ENTER:
                    self._screen.submitted(message)
                    return self._whole(message)
                case Key.BACKSPACE if message and message[-1] != "\n":
                    signs = (sign for sign in self._pastes if message.endswith(sign))
                    last = next(signs, message[-1])
                    self._screen.take_back(last)
                    message = message.removesuffix(last)
                case Key.ERASE_LINE:
                    self._screen.take_back(message.rpartition("\n")[2])
                    message = message[: message.rfind("\n") + 1]
                case Key.END if not message:
                    self._screen.write("\n")
                    raise Ended(0)
                case Key.END:
                    # Input may end without a last line end; Ctrl-D on a draft is ignored.
                    if not self._keyboard.is_terminal:
                        self._screen.submitted(message)
                        return self._whole(message)
                case _:
                    pass

    def _sign(self, text: str) -> str:
        """Return what to show for a paste: itself, or a sign that stands for a long one."""
        lines = text.count("\n")
        if len(text) < LONG_PASTE and lines < MANY_LINES:
            return text
        self._signs += 1
        sign = f"[Pasted text #{self._signs} +{lines} lines]"
        self._pastes[sign] = text
        return sign

    def _whole(self, message: str) -> str:
        """Return a message with its pastes in the places of their signs."""
        if not self._pastes:
            return message
        signs = "|".join(map(re.escape, self._pastes))
        return re.sub(signs, lambda sign: self._pastes[sign[0]], message)

    def _ask_for_trust(self) -> None:
        default = 1 if self._options.dialog_default == "no" else 0
        answer = trusted(self._keyboard, self._screen, default=default)
        if answer is None:
            raise Ended(0)
        if not answer:
            raise Ended(1)

    # --- answering

    def _answer(self, message: str) -> None:
        command, _, argument = message.strip().partition(" ")
        match command:
            case "/help":
                self._screen.say(HELP)
            case "/exit":
                raise Ended(0)
            case "/kill":
                self._screen.say("DemoKill: asked to die at once")
                os.kill(os.getpid(), signal.SIGKILL)
            case "/crash":
                _crash(argument)
            case "/drain":
                self._screen.say(_acknowledge_drain())
            case _ if self._options.limit:
                self._show_limit()
            case _:
                self._work()
                quoted = message.replace("\n", "\n  ")
                self._screen.say(f'● You said: "{quoted}"')

    def _work(self) -> None:
        self._working = True
        self._screen.begin_work()
        until = time.monotonic() + self._options.work_seconds
        kept = []
        while (left := until - time.monotonic()) > 0:
            if not self._keyboard.is_terminal:
                time.sleep(left)  # its work is to take time
                continue
            event = self._keyboard.read(left)
            if event is Key.ESCAPE:
                raise KeyboardInterrupt
            if event is Key.END:
                break
            if event is not None:
                kept.append(event)
        self._screen.end_work()
        self._working = False
        for event in kept:
            self._keyboard.keep(event)

    def _interrupt(self) -> None:
        now = time.monotonic()
        if self._working:
            self._working = False
            self._screen.end_work()
            self._screen.say("Interrupted · What should I do instead?")
            return
        if now - self._interrupted_at < SECOND_INTERRUPT:
            self._screen.write("\n")
            raise Ended(INTERRUPTED)
        self._interrupted_at = now
        self._screen.write("\nPress Ctrl-C again to exit\n")

    def _show_limit(self) -> None:
        self._screen.say(f"You've hit your usage limit · resets {self._options.limit}")


def _acknowledge_drain() -> str:
    """Have `gc`, by the name that no other program has, tell the controller; return its words."""
    try:
        done = subprocess.run(
            ["gascity", "drain-ack"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except OSError as problem:
        return f"gascity cannot be run: {problem.strerror}"
    return done.stdout.strip()


def _crash(argument: str) -> None:
    status = int(argument) if argument.strip().isdigit() else 1
    sys.stderr.write(
        "Traceback (most recent call last):\n"
        '  File "demo", line 1, in conversation\n'
        f"DemoCrash: asked to crash with status {status}\n"
    )
    sys.stderr.flush()
    raise Ended(status)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gc-demo", description=__doc__.partition("\n")[0])
    parser.add_argument("prompt", nargs="?", default="", help="the first message, answered at once")
    parser.add_argument("--name", default="", help="a name for the banner")
    parser.add_argument(
        "--no-dialog", "--trust", dest="trust", action="store_true", help="skip the trust dialog"
    )
    parser.add_argument("--dialog-default", choices=["yes", "no"], default="yes")
    parser.add_argument(
        "--limit", nargs="?", const="3pm", default="", metavar="WHEN", help="be out of tokens"
    )
    parser.add_argument("--work-seconds", type=float, default=0.3, metavar="SECONDS")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
