"""/help, /keys, /quit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock, TableBlock
from callgate.tui.commands import all_commands, argument_words, find_command, unknown
from callgate.tui.keys import shown_keys
from callgate.tui.port import SlashCommand
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
        raise UsageError(unknown(terminal, name))
    facts = [("", found.help)]
    if found.aliases:
        facts.append(("also", ", ".join(f"/{alias}" for alias in found.aliases)))
    facts.append(("when", "while the agent rests" if found.at_rest else "at any time"))
    facts += [(word, about) for word, about in argument_words(terminal, found.name)]
    terminal.show(TableBlock(tuple(facts), _form(found)))


def names(terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(each.name, each.help) for each in all_commands(terminal)]


def keys(terminal: Terminal, _text: str) -> None:
    plain = not terminal.theme.unicode
    rows = tuple(
        (row.context, ", ".join(shown_keys(each, plain) for each in row.keys), row.help) for row in terminal.keys
    )
    terminal.show(TableBlock(rows, "Keys", ("where", "keys", "")))


def quit_(terminal: Terminal, text: str) -> None:
    if text:
        terminal.show(NoticeBlock("/quit takes no words", "warning"))
        return
    terminal.quit()
