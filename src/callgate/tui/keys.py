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
    KeyAction("input", "answer", ("tab",), "to the open question"),
    KeyAction("input", "quit", ("c-d",), "quit, if the input is empty"),
    KeyAction("input", "suspend", ("c-z",), "suspend the program; fg brings it back"),
    KeyAction("question", "yes", ("y",), "run it"),
    KeyAction("question", "always", ("a",), "run it, and remember"),
    KeyAction("question", "no", ("n",), "do not run it"),
    KeyAction("question", "edit", ("e",), "change the arguments"),
    KeyAction("question", "view", ("d",), "the whole diff and all arguments"),
    KeyAction("question", "leave", ("tab",), "to the input line; the question waits"),
    KeyAction("question", "cancel", ("c-c", "escape"), "no, and stop the turn"),
    KeyAction("input", "page_up", ("pageup",), "in the full view: up a page"),
    KeyAction("input", "page_down", ("pagedown",), "in the full view: down a page"),
    KeyAction("pager", "close", ("q", "escape", "c-c", "c-o"), "back to the conversation"),
    KeyAction("pager", "up", ("up", "k"), "a line up"),
    KeyAction("pager", "down", ("down", "j", "enter"), "a line down"),
    KeyAction("pager", "page_up", ("pageup", "b", "c-b"), "a page up"),
    KeyAction("pager", "page_down", ("pagedown", "space", "c-f"), "a page down"),
    KeyAction("pager", "start", ("home", "g"), "to the beginning"),
    KeyAction("pager", "end", ("end", "G"), "to the end"),
    KeyAction("pager", "search", ("/",), "search"),
    KeyAction("pager", "next", ("n",), "the next place with the text"),
    KeyAction("pager", "previous", ("N",), "the place before it"),
    KeyAction("selector", "up", ("up", "c-p"), "the line above"),
    KeyAction("selector", "down", ("down", "c-n"), "the line below"),
    KeyAction("selector", "left", ("left",), "the choice before, where a line has several"),
    KeyAction("selector", "right", ("right",), "the next choice, where a line has several"),
    KeyAction("selector", "page_up", ("pageup",), "a page up"),
    KeyAction("selector", "page_down", ("pagedown",), "a page down"),
    KeyAction("selector", "choose", ("enter",), "take this one"),
    KeyAction("selector", "other", ("tab",), "the other choices: scopes, folders, the next field"),
    KeyAction("selector", "erase", ("backspace",), "the last letter of the filter or of own words"),
    KeyAction("selector", "cancel", ("escape", "c-c"), "close"),
)
