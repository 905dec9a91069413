"""The footer: the user's status line, then the agent's activity, mode, model, context and cost."""

from __future__ import annotations

from collections.abc import Sequence
from time import time
from typing import TYPE_CHECKING

from callgate.formats.columns import clipped, width
from callgate.formats.display import visible
from callgate.tui.activity import activity_line
from callgate.tui.bindings import vim_state
from callgate.tui.theme import MODE_STYLES

if TYPE_CHECKING:
    from callgate import Session
    from callgate.tui.inner_port import InnerTerminal

Part = tuple[str, str]
"""A text and its style."""


def footer_lines(app: InnerTerminal, hint: str) -> list[str]:
    fold, theme, own = app.fold, app.theme, app.statusline
    state = "starting" if app.session is None else visible(activity_line(fold, time())) or fold.status.replace("_", " ")
    shown_hint = hint or ("Esc interrupts" if fold.status == "working" and app.receiver.part != "card" else "")
    parts: list[Part] = [
        (vim_state(app).upper(), "grey"),
        (state, "grey"),
        (shown_hint, "bold" if hint else "grey"),
        (f"{fold.mode.replace('_', ' ')} mode", MODE_STYLES.get(fold.mode, "grey")),
        (visible(fold.model), "grey"),
        (app.context_used, "grey"),
        ("" if not fold.cost else f"${fold.cost:.2f}" if fold.cost >= 0.01 else "under $0.01", "grey"),
    ]
    lines = [] if own is None else own.lines(colours=theme.colours, keep_place=app.application.full_screen)
    columns, between = app.application.output.get_size().columns, theme.sign(" · ", " - ")
    for packed in _packed(parts, width(between), columns - 1):
        lines.append(" " + theme.paint(between, "grey").join(theme.paint(text, style) for text, style in packed))
    return lines


def context_used(session: Session) -> str:
    """Return the percentage of the context window that the next request uses, or an empty string if the window size
    is unknown."""
    use = session.context_use()
    if use.limits is None or not use.count.total:
        return ""
    return f"{100 * use.count.total / use.limits.usable:.0f}% of context"


def _packed(parts: Sequence[Part], between: int, columns: int) -> list[list[Part]]:
    """Distribute the elements over as few lines as possible, so that the mode stays visible in a narrow terminal."""
    lines: list[list[Part]] = []
    used = 0
    for text, style in parts:
        if not text:
            continue
        text = clipped(text, columns)
        if lines and used + between + width(text) <= columns:
            lines[-1].append((text, style))
            used += between + width(text)
        else:
            lines.append([(text, style)])
            used = width(text)
    return lines
