"""Commands that change how the session goes on: /mode, /compact, /title, /tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callgate.tui.blocks import TableBlock
from callgate.tui.commands.parts import said, session_of
from callgate.words.errors import UsageError
from callgate.words.inputs import Compact, SetMode, SetTags, SetTitle
from callgate.words.modes import MODES

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def mode(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).mode
        rows = tuple((">" if name == now else "", name, rules.meaning) for name, rules in MODES.items())
        terminal.show(TableBlock(rows, "Modes", note="/mode NAME sets one; Shift+Tab goes through the usual ones."))
        return
    wanted = text.replace("-", "_").replace(" ", "_").lower()
    for name, rules in MODES.items():
        if name == wanted:
            terminal.post(SetMode(name))
            said(terminal, f"mode {name}: {rules.meaning}")
            return
    raise UsageError(f"There is no mode {text!r}; there are {', '.join(MODES)}.")


def modes(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(name, rules.meaning) for name, rules in MODES.items()]


def compact(terminal: Terminal, text: str) -> None:
    said(terminal, "A summary is being written; Esc stops that and leaves everything as it is.")
    terminal.post(Compact(instructions=text))


def title(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).title
        said(terminal, f"The title is: {now}" if now else "The session has no title: /title NAME gives it one.")
        return
    terminal.post(SetTitle(" ".join(text.split())))
    said(terminal, f"The session is called {' '.join(text.split())!r} now.")


def tags(terminal: Terminal, text: str) -> None:
    if not text:
        now = session_of(terminal).tags
        said(terminal, f"Tags: {', '.join(now)}" if now else "The session has no tags: /tags WORD… sets them.")
        return
    wanted = () if text == "none" else tuple(dict.fromkeys(text.replace(",", " ").split()))
    terminal.post(SetTags(wanted))
    said(terminal, f"Tags: {', '.join(wanted)}" if wanted else "The tags are gone.")
