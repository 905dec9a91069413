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
        lines.append(theme.paint(f"  {first} more queued", "grey"))
    for number, each in enumerate(waiting[first:], first + 1):
        when = "sent after this step" if each.steers else "sent when the agent is finished"
        sign = theme.sign("✎", "*") if each.id == edited else " "
        others = len(each.parts) - 1
        text = " ".join(each.text.split()) + (f" (+{others} attached)" if others > 0 else "")
        line = f"{sign} {number}. {visible(text)}"
        line = clipped(line, max(width - len(when) - 4, 12), theme.more)
        lines.append(f"{line}  {theme.paint(when, 'grey')}")
    return lines


def typed_line(theme: Theme, text: str) -> LinesBlock:
    """Return the line of the scrollback with a command that the user typed."""
    line = " ".join(visible(each) for each in text.split("\n"))
    return LinesBlock(((), ((f"{theme.sign('❯', '>')} {line}", "bold"),)))


def enter_hint(fold: ConversationFold, *, images: bool, editing: bool) -> str:
    """Return the hint that says when the agent will receive the message."""
    if editing:
        return "Enter: save · empty: remove · Esc: keep unchanged"
    if fold.status == "waiting_confirmation":
        return "Enter: queue until finished · Tab: to the question"
    if fold.status != "working":
        return ""
    if images:
        return "Enter: queue until finished, because of the image"
    later = "Tab: queue until finished"
    if fold.interruptible:
        return f"Enter: interrupt the running command · {later}"
    if fold.running:
        return f"Enter: send after the running call · {later}"
    return f"Enter: send after this step · {later}"
