"""/help, /keys, /quit."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands import all_commands, argument_words, find_command
from callgate.tui.commands.table import SlashCommand
from callgate.tui.keys import ACTIONS
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def help_(terminal: Terminal, text: str) -> None:
    if text:
        _help_with(terminal, text.removeprefix("/"))
        return
    rows = tuple((_form(each), each.help) for each in all_commands(terminal))
    note = "/help COMMAND says more. @ completes files, Esc interrupts; /keys lists the keys."
    terminal.show(TableBlock(rows, "Commands", note=note))


def _form(command: SlashCommand) -> str:
    return f"/{command.name} {command.arguments}".rstrip()


def _help_with(terminal: Terminal, name: str) -> None:
    found = find_command(terminal, name)
    if found is None:
        close = get_close_matches(name, [each.name for each in all_commands(terminal)], n=1)
        raise UsageError(
            f"There is no command /{name}; {f'did you mean /{close[0]}?' if close else '/help lists them'}"
        )
    facts = [("", found.help)]
    if found.aliases:
        facts.append(("also", ", ".join(f"/{alias}" for alias in found.aliases)))
    facts.append(("when", "while the agent rests" if found.at_rest else "at any time"))
    facts += [(word, about) for word, about in argument_words(terminal, found.name)]
    terminal.show(TableBlock(tuple(facts), _form(found)))


def names(terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(each.name, each.help) for each in all_commands(terminal)]


def keys(terminal: Terminal, _text: str) -> None:
    rows = tuple((row.context, ", ".join(map(_pressed, row.keys)), row.help) for row in ACTIONS)
    terminal.show(TableBlock(rows, "Keys", ("where", "keys", "")))


_NAMES = {"c-": "Ctrl-", "s-": "Shift-", "escape": "Esc", "enter": "Enter"}


def _pressed(keys_: str) -> str:
    """The keys in the words that are on them: ``c-x c-e`` is Ctrl-X Ctrl-E."""
    words: list[str] = []
    for key in keys_.split():
        start = next((start for start in ("c-", "s-") if key.startswith(start) and len(key) > 2), "")
        rest = key.removeprefix(start)
        words.append(
            f"{_NAMES.get(start, '')}{_NAMES.get(rest, rest.capitalize() if len(rest) > 1 or start else rest)}"
        )
    return " ".join(words)


def quit_(terminal: Terminal, text: str) -> None:
    if text:
        terminal.show(NoticeBlock("/quit takes no words", "warning"))
        return
    terminal.quit()
