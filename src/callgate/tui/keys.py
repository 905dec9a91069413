"""The table of keys: actions in named contexts with their default keys. Settings change the table; ``?`` shows it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.config import KeyLine

Context = Literal["anywhere", "input", "completion", "question", "selector", "pager"]
CONTEXTS: dict[Context, str] = {
    "anywhere": "every context that does not define the key itself",
    "input": "the input line",
    "completion": "the list below the input line: files, commands, earlier messages",
    "question": "a question",
    "selector": "a list to choose from",
    "pager": "the whole conversation",
}


@noun
class KeyAction:
    """An action and its keys in the notation of prompt_toolkit; ``c-x c-e`` is a sequence of two keys."""

    context: Context
    action: str
    keys: tuple[str, ...]
    help: str


ACTIONS: tuple[KeyAction, ...] = (
    KeyAction("anywhere", "transcript", ("c-o",), "the whole conversation with the output of calls"),
    KeyAction("anywhere", "cycle_mode", ("s-tab",), "the next permission mode"),
    KeyAction("anywhere", "redraw", ("c-l",), "draw the screen again"),
    KeyAction("anywhere", "suspend", ("c-z",), "suspend Callgate; fg resumes it"),
    KeyAction("anywhere", "quit", ("c-d",), "quit, if the input is empty; press twice while the agent works"),
    KeyAction("anywhere", "keys", ("f1",), "show the keys that work here"),
    KeyAction("input", "submit", ("enter",), "send the message; while the agent works, after this step"),
    KeyAction("input", "queue", ("tab",), "while the agent works: queue the message until it is finished"),
    KeyAction("input", "newline", ("escape enter", "c-j"), "a new line in the message; also a backslash before Enter"),
    KeyAction("input", "cancel", ("c-c",), "clear the input, or interrupt; twice: quit"),
    KeyAction("input", "interrupt", ("escape",), "interrupt the agent; twice while idle: rewind"),
    KeyAction("input", "up", ("up",), "the line above; on the first line: a queued or an earlier message"),
    KeyAction("input", "down", ("down",), "the line below; on the last line: a later message"),
    KeyAction("input", "search_history", ("c-r",), "search earlier messages"),
    KeyAction("input", "edit", ("c-x c-e", "c-g"), "write the message in $VISUAL or $EDITOR"),
    KeyAction("input", "paste_image", ("c-v",), "attach the image of the clipboard"),
    KeyAction("input", "background", ("c-b",), "move running commands to the background"),
    KeyAction("input", "answer", ("tab",), "to the open question, or to the pending action"),
    KeyAction("input", "keys", ("?",), "show these keys, if the input is empty"),
    KeyAction("input", "page_up", ("pageup",), "in the full view: up a page"),
    KeyAction("input", "page_down", ("pagedown",), "in the full view: down a page"),
    KeyAction("completion", "accept", ("enter",), "accept the marked line; send a complete command"),
    KeyAction("completion", "complete", ("tab",), "accept the marked line"),
    KeyAction("completion", "previous", ("up", "c-p"), "the line above"),
    KeyAction("completion", "next", ("down", "c-n", "c-r"), "the line below"),
    KeyAction("completion", "close", ("escape",), "close the list"),
    KeyAction("question", "yes", ("y",), "run it"),
    KeyAction("question", "always", ("a",), "run it, and remember"),
    KeyAction("question", "no", ("n",), "do not run it"),
    KeyAction("question", "edit", ("e",), "change the arguments"),
    KeyAction("question", "view", ("d",), "the whole diff and all arguments"),
    KeyAction("question", "leave", ("tab",), "to the input line; the question stays open"),
    KeyAction("question", "cancel", ("c-c", "escape"), "no, and stop the turn"),
    KeyAction("question", "keys", ("?",), "these keys"),
    KeyAction("pager", "close", ("q", "escape", "c-c", "c-o"), "back to the conversation"),
    KeyAction("pager", "up", ("up", "k"), "a line up"),
    KeyAction("pager", "down", ("down", "j", "enter"), "a line down"),
    KeyAction("pager", "page_up", ("pageup", "b", "c-b"), "a page up"),
    KeyAction("pager", "page_down", ("pagedown", "space", "c-f"), "a page down"),
    KeyAction("pager", "start", ("home", "g"), "to the beginning"),
    KeyAction("pager", "end", ("end", "G"), "to the end"),
    KeyAction("pager", "search", ("/",), "search"),
    KeyAction("pager", "next", ("n",), "the next match"),
    KeyAction("pager", "previous", ("N",), "the previous match"),
    KeyAction("pager", "keys", ("?",), "these keys"),
    KeyAction("selector", "up", ("up", "c-p"), "the line above"),
    KeyAction("selector", "down", ("down", "c-n"), "the line below"),
    KeyAction("selector", "left", ("left",), "the previous choice of the line"),
    KeyAction("selector", "right", ("right",), "the next choice of the line"),
    KeyAction("selector", "page_up", ("pageup",), "a page up"),
    KeyAction("selector", "page_down", ("pagedown",), "a page down"),
    KeyAction("selector", "start", ("home",), "to the first line"),
    KeyAction("selector", "end", ("end",), "to the last line"),
    KeyAction("selector", "choose", ("enter",), "select this line"),
    KeyAction("selector", "other", ("tab",), "the other choices: scopes, folders, the next field"),
    KeyAction("selector", "erase", ("backspace",), "delete the last letter of the filter or of the text"),
    KeyAction("selector", "cancel", ("escape", "c-c"), "close"),
)

_WORDS = {"ctrl": "c", "control": "c", "c": "c", "shift": "s", "s": "s", "alt": "alt", "meta": "alt", "option": "alt"}
_NAMES = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "bksp": "backspace",
    "pgup": "pageup",
    "pgdn": "pagedown",
}
_SAME = {"s-enter": "c-j", "c-m": "enter", "c-i": "tab"}
"""Keys that arrive as another key. Shift-Enter, where a terminal reports it, is read as Ctrl-J."""
_SHOWN = {"escape": "Esc", "pageup": "PageUp", "pagedown": "PageDown", "up": "↑", "down": "↓"}


def sequence_of(written: str) -> str | None:
    """Translate keys to the notation of prompt_toolkit: ``ctrl-x ctrl-e`` to ``c-x c-e``, ``alt-enter`` to ``escape
    enter``. Return None for keys that no terminal sends."""
    from prompt_toolkit.keys import ALL_KEYS, KEY_ALIASES

    found: list[str] = []
    for word in written.split():
        if len(word) == 1:
            found.append(word)
            continue
        *modifiers, name = word.replace("+", "-").split("-")
        if not name:  # the key itself is a minus or a plus
            modifiers, name = modifiers[:-1], word[-1]
        named = {_WORDS.get(each.lower(), "") for each in modifiers}
        name = name if len(name) == 1 and "c" not in named else name.lower()
        key = _NAMES.get(name, name)
        if "" in named:
            return None
        key = "".join(f"{each}-" for each in ("c", "s") if each in named) + key
        key = _SAME.get(key, key)
        if len(key) > 1 and key != "space" and key not in ALL_KEYS and key not in KEY_ALIASES:
            return None
        found += ["escape", key] if "alt" in named else [key]
    return " ".join(found) or None


def shown_keys(keys: str, plain: bool = False) -> str:
    """Return keys in the notation for users: ``Ctrl-X Ctrl-E``, ``Alt-Enter``. If ``plain`` is True, use ASCII
    characters only."""
    words = keys.split()
    shown: list[str] = []
    for at, word in enumerate(words):
        if word == "escape" and at + 1 < len(words):
            continue
        *modifiers, name = word.split("-") if len(word) > 1 else [word]
        alt = ["Alt"] if at and words[at - 1] == "escape" else []
        said = _SHOWN.get(name, name if len(word) == 1 and not alt else name.capitalize())
        said = said if said.isascii() or not plain else name.capitalize()
        shown.append("-".join([*alt, *({"c": "Ctrl", "s": "Shift"}[each] for each in modifiers), said]))
    return " ".join(shown)


def interrupt_key(rows: Iterable[KeyAction]) -> str:
    """Return the first key that interrupts the work, in the notation for users. If no key is bound to
    ``interrupt``, return a key of ``cancel``, which interrupts too."""
    keys = {row.action: row.keys for row in rows if row.context == "input"}
    return shown_keys(next(iter((*keys["interrupt"], *keys["cancel"])), ""))


def bound_keys(changes: Iterable[KeyLine]) -> tuple[tuple[KeyAction, ...], list[str]]:
    """Return the table with the key bindings of the settings, and a message for each invalid binding.

    A key that the settings give to another action is removed from its default action, with a message.
    """
    rows: dict[tuple[str, str], KeyAction] = {(row.context, row.action): row for row in ACTIONS}
    changed: dict[tuple[str, str], KeyLine] = {}
    faults: list[str] = []
    for line in changes:
        place, name = (line.context, line.action), f"keybindings.{line.context}.{line.action}"
        keys = [sequence_of(each) for each in line.keys]
        if line.context not in get_args(Context):
            faults.append(f"{line.origin}: unknown context {line.context}; use {', '.join(CONTEXTS)}")
        elif place not in rows:
            from difflib import get_close_matches  # only needed for errors

            known = [row.action for row in ACTIONS if row.context == line.context]
            close = get_close_matches(line.action, known, 1)
            tip = f"did you mean {close[0]}?" if close else f"the actions are {', '.join(known)}"
            faults.append(f"{line.origin}: unknown action {name}: {tip}")
        elif None in keys:
            wrong = line.keys[keys.index(None)]
            faults.append(
                f"{line.origin}: {name}: no terminal sends {wrong!r}; examples of keys: ctrl-x, alt-enter, f5"
            )
        elif line.context == "input" and any(key is not None and len(key) == 1 and key != "?" for key in keys):
            faults.append(
                f"{line.origin}: {name}: a single character is typed text, so it cannot be a key of the input line"
            )
        else:
            rows[place] = replace(rows[place], keys=tuple(key for key in keys if key is not None))
            changed[place] = line
    faults += _settled(rows, changed)
    return tuple(rows.values()), faults


def _settled(rows: dict[tuple[str, str], KeyAction], changed: dict[tuple[str, str], KeyLine]) -> list[str]:
    """Assign every key to one action of a context. An action in the settings takes precedence; otherwise the first
    action in the table gets the key."""
    faults: list[str] = []
    owners: dict[tuple[str, str], KeyAction] = {}
    order = {place: at for at, place in enumerate(changed)}
    for place, row in sorted(rows.items(), key=lambda each: order.get(each[0], len(order))):
        kept: list[str] = []
        for key in row.keys:
            owner = owners.setdefault((row.context, key), row)
            line, other = changed.get((owner.context, owner.action)), changed.get(place)
            if owner.action == row.action or line is None:  # defaults may share a key under different conditions
                kept.append(key)
                continue
            where = f"{line.origin}: " if other is None else f"{other.origin}: "
            says = f"{shown_keys(key)} is {owner.action} in keybindings.{row.context}"
            faults.append(f"{where}{says}, so it no longer runs {row.action}" if other is None else f"{where}{says}")
        rows[place] = replace(row, keys=tuple(kept))
    return faults
