"""Keys: actions in named contexts, with their default keys. One table; settings change it, ``?`` shows it."""

from typing import Literal

from callgate.words.noun import noun

Context = Literal["input", "question", "selector", "pager"]


@noun
class KeyAction:
    """``keys`` are names of prompt_toolkit, several in one text are pressed one after the other: ``c-x c-e``."""

    context: Context
    action: str
    keys: tuple[str, ...]
    help: str


ACTIONS: tuple[KeyAction, ...] = (
    KeyAction("input", "submit", ("enter",), "send the message"),
    KeyAction("input", "newline", ("escape enter", "c-j"), "a new line in the message"),
    KeyAction("input", "cancel", ("c-c",), "empty the input, interrupt, or twice: quit"),
    KeyAction("input", "interrupt", ("escape",), "interrupt the work; twice: rewind"),
    KeyAction("input", "cycle_mode", ("s-tab",), "the next permission mode"),
    KeyAction("input", "transcript", ("c-o",), "the whole conversation with the output of calls"),
    KeyAction("input", "quit", ("c-d",), "quit, if the input is empty"),
    KeyAction("input", "suspend", ("c-z",), "suspend the program; fg brings it back"),
    KeyAction("question", "yes", ("y",), "run it"),
    KeyAction("question", "always", ("a",), "run it, and remember"),
    KeyAction("question", "no", ("n",), "do not run it"),
    KeyAction("question", "cancel", ("c-c", "escape"), "no, and stop the turn"),
    KeyAction("selector", "up", ("up", "c-p"), "the line above"),
    KeyAction("selector", "down", ("down", "c-n"), "the line below"),
    KeyAction("selector", "choose", ("enter",), "take this one"),
    KeyAction("selector", "cancel", ("escape", "c-c"), "close"),
)
