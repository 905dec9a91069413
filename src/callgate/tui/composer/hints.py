"""The queued messages above the input line, and the hint below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.formats.columns import clipped
from callgate.formats.display import visible
from callgate.tui.blocks import LinesBlock
from callgate.tui.theme import Theme

if TYPE_CHECKING:
    from callgate.tui.fold import ConversationFold

MOST_WAITING = 5
FIRST_HINT = "type a task · / commands · @ files · ! shell · ? keys"
"""The hint below the empty input line before the first message."""


def waiting_lines(fold: ConversationFold, theme: Theme, width: int, edited: str | None) -> list[str]:
    """Return a numbered line for each of the newest queued messages."""
    waiting = [*fold.waiting.values()]
    lines: list[str] = []
    first = max(len(waiting) - MOST_WAITING, 0)
    if first:
        lines.append(theme.paint(f"  {first} more wait", "grey"))
    for number, each in enumerate(waiting[first:], first + 1):
        when = "read next" if each.steers else "sent when it is done"
        sign = theme.sign("✎", "*") if each.id == edited else " "
        others = len(each.parts) - 1
        text = " ".join(each.text.split()) + (f" (+{others} attached)" if others > 0 else "")
        line = f"{sign} {number}. {visible(text)}"
        line = clipped(line, max(width - len(when) - 4, 12), theme.sign("…", "..."))
        lines.append(f"{line}  {theme.paint(when, 'grey')}")
    return lines


def typed_line(theme: Theme, text: str) -> LinesBlock:
    """Return the line of the scrollback with a command that the user typed."""
    line = " ".join(visible(each) for each in text.split("\n"))
    return LinesBlock(((), ((f"{theme.sign('❯', '>')} {line}", "bold"),)))


def enter_hint(fold: ConversationFold, *, images: bool, editing: bool) -> str:
    """Return the hint that says when the agent will receive the message."""
    if editing:
        return "Enter: puts it back · empty: takes it out · Esc: leaves it as it was"
    if fold.status == "waiting_confirmation":
        return "Enter: waits until the agent is done · Tab: to the question"
    if fold.status != "working":
        return ""
    if images:
        return "Enter: waits until the agent is done, because of the image"
    later = "Tab: waits until the agent is done"
    if fold.interruptible:
        return f"Enter: interrupts the running command · {later}"
    if fold.running:
        return f"Enter: read after the running call · {later}"
    return f"Enter: read after this step · {later}"
