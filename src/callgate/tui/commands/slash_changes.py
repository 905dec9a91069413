"""The slash commands /undo and /diff."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast, get_args

from callgate.tui.blocks import TableBlock
from callgate.tui.commands.slash_support import said, session_of
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.words.errors import UsageError
from callgate.words.inputs import Undo, UndoScope

if TYPE_CHECKING:
    from callgate.admin.session_changes import PlannedUndo
    from callgate.tui.panels.panel_page import PanelPage
    from callgate.tui.port import Terminal


_PARTLY = "--partly"


def undo_of(text: str) -> Undo:
    """Parse the arguments of /undo. Raise UsageError if they are invalid."""
    words = text.split()
    partly = _PARTLY in words
    words = [word for word in words if word != _PARTLY]
    if len(words) > 1 or (words and words[0] not in get_args(UndoScope) and not words[0].isdigit()):
        raise UsageError(
            f"/undo accepts turn, call, session or the number of a change (/diff lists them), not {text!r}"
        )
    if words and words[0].isdigit():
        return Undo(change=int(words[0]), partly=partly)
    return Undo(cast(UndoScope, words[0]) if words else "turn", partly=partly)


async def undo(terminal: Terminal, text: str) -> None:
    """Show the changes to undo and ask for confirmation."""
    wanted, session = undo_of(text), session_of(terminal)
    if not session.id:
        terminal.post(wanted)  # the session answers why there is nothing to undo
        return
    if not session.messages:
        said(terminal, "There is no change to undo.")
        return
    from callgate.admin.session_changes import plan_undo

    planned = await asyncio.to_thread(plan_undo, session.id, wanted)
    if planned.found is None:
        said(terminal, planned.missing or "There is no change to undo.")
        return
    terminal.show(_plan(planned, terminal.theme.sign("−", "-")))
    if planned.found.conflicts and not wanted.partly:
        said(terminal, f"/undo {text} {_PARTLY} undoes the rest.".replace("  ", " "))
        return
    items = [ListItem("yes", "Undo these changes"), ListItem("no", "Keep the files unchanged")]

    def chosen(item: ListItem) -> None:
        if item.key == "yes":
            terminal.post(wanted)

    terminal.open_panel(ListPanel(terminal, "Undo", items, chosen))


def _plan(planned: PlannedUndo, minus: str) -> TableBlock:
    assert planned.found is not None
    files = [(each.kind, each.path, f"+{each.added} {minus}{each.removed}") for each in planned.files]
    left = [("not", why, "") for why in planned.found.conflicts]
    others = [("stays", f"{each.tool}: {each.what}", "") for each in planned.others]
    return TableBlock((*files, *left, *others), "Will be undone", note="; ".join(planned.notes))


async def diff(terminal: Terminal, text: str) -> None:
    """Show all changes of this session, or one change, in a panel."""
    session = session_of(terminal)
    if text and not text.isdigit():
        raise UsageError(f"/diff accepts the number of a change, not {text!r:.40}")
    if not session.id:
        raise UsageError("The changes of this session are not stored, so they cannot be shown.")
    from callgate.admin.session_changes import read_changes, read_diff

    if not session.messages:  # the log starts with the first message
        said(terminal, "This session has not changed any file.")
        return
    past = await asyncio.to_thread(read_changes, session.id)
    wanted = [each for each in reversed(past.changes) if not text or each.number == int(text)]
    if not past.changes:
        said(terminal, "This session has not changed any file.")
        return
    if not text:
        rows = tuple((str(each.number), each.state, each.label, each.summary) for each in wanted)
        terminal.show(TableBlock(rows, "Changes", note="/diff N shows one, /undo N undoes it."))
    numbers = [each.number for each in wanted] or [int(text)]
    found = [await asyncio.to_thread(read_diff, past, number) for number in numbers]

    def write(page: PanelPage) -> None:
        for each in found:
            page.rule(f"{each.kept.number} {each.kept.label} ({each.kept.state})")
            page.diff(each.patch)

    title = f"Change {text}" if text else f"{len(found)} change{'s' * (len(found) != 1)} of this session"
    terminal.open_panel(ScrollPanel(terminal, title, write))
