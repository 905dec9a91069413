"""Slash commands: one table, from which help, completion and the reference are made."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


@noun
class SlashCommand:
    """``run`` gets the terminal and the text behind the name. ``arguments`` shows the form of that text."""

    name: str
    help: str
    run: Callable[[Terminal, str], None]
    arguments: str = ""
    aliases: tuple[str, ...] = ()


def _help(terminal: Terminal, _text: str) -> None:
    for each in COMMANDS:
        terminal.show(NoticeBlock(f"/{each.name} {each.arguments}".rstrip().ljust(24) + each.help))


def _quit(terminal: Terminal, _text: str) -> None:
    terminal.quit()


COMMANDS: tuple[SlashCommand, ...] = (
    SlashCommand("help", "the commands and keys", _help),
    SlashCommand("quit", "leave; the session can be resumed", _quit, aliases=("exit",)),
)


def run_command(terminal: Terminal, text: str) -> bool:
    """Runs a command, or says that there is none of this name. False if the text is not meant as one: a path."""
    word, _, rest = text[1:].partition(" ")
    if "/" in word:
        return False
    by_name = {name: each for each in COMMANDS for name in (each.name, *each.aliases)}
    found = by_name.get(word)
    if found is None:
        close = get_close_matches(word, by_name, n=1)
        hint = f"did you mean /{close[0]}?" if close else "/help lists them"
        terminal.show(NoticeBlock(f"There is no command /{word}; {hint}", "warning"))
    else:
        found.run(terminal, rest.strip())
    return True
