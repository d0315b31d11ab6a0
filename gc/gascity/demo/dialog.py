"""The question before everything else: whether this folder may be trusted."""

from __future__ import annotations

import os

from gascity.demo.keys import Key, Keyboard, Typed
from gascity.demo.screen import Screen

OPTIONS = ("Yes, I trust this folder", "No, exit")
_DIGITS = {"1": 0, "2": 1}


def trusted(keyboard: Keyboard, screen: Screen, *, default: int) -> bool | None:
    """Ask until there is an answer; None when the input ends before.

    On a terminal arrows and digits move the cursor, Enter takes the option under it, Escape
    refuses. On a pipe a line with the digit answers, an empty line takes the default.
    """
    return (_by_key if keyboard.is_terminal else _by_line)(keyboard, screen, default)


def _by_key(keyboard: Keyboard, screen: Screen, chosen: int) -> bool | None:
    while True:
        height = screen.dialog(os.getcwd(), OPTIONS, chosen)
        event = keyboard.read()
        screen.erase_lines(height)
        match event:
            case Key.UP:
                chosen = 0
            case Key.DOWN:
                chosen = 1
            case Typed(text):
                chosen = _DIGITS.get(text[-1], chosen)
            case Key.ENTER:
                return chosen == 0
            case Key.ESCAPE:
                return False
            case Key.END:
                return None
            case _:
                pass


def _by_line(keyboard: Keyboard, screen: Screen, default: int) -> bool | None:
    screen.dialog(os.getcwd(), OPTIONS, default)
    line = ""
    while True:
        match keyboard.read():
            case Typed(text):
                line += text
            case Key.END:
                return None
            case Key.ENTER if not line.strip():
                return default == 0
            case Key.ENTER if line.strip() in _DIGITS:
                return _DIGITS[line.strip()] == 0
            case Key.ENTER:
                screen.say("Answer 1 or 2.")
                line = ""
            case _:
                pass
