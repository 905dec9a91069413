"""The list of earlier prompts. The user rewinds the conversation, or the conversation and the files, or continues in
a copy of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from time import time
from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.tui.port import SessionStart
from callgate.words.errors import CallgateError
from callgate.words.events import Event, MessageAdded
from callgate.words.inputs import Rewind, Undo

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_WAYS = (
    ListItem("conversation", "the conversation only", "files are not changed"),
    ListItem("files", "the conversation and files", "later changes of files are undone"),
    ListItem("fork", "in a copy of this session", "this session is not changed"),
)


def prompts_of(events: Iterable[Event], live: Iterable[str]) -> list[MessageAdded]:
    """Return the user's prompts that are still in the conversation, newest first."""
    ids = set(live)
    added = (each for each in events if isinstance(each, MessageAdded) and each.about is None)
    found = {each.message.id: each for each in added if each.message.role == "user" and each.message.id in ids}
    return [*found.values()][::-1]


def rewind_panel(terminal: Terminal, prompts: list[MessageAdded]) -> ListPanel:
    """Return a list of the earlier prompts. A selected prompt rewinds the conversation to the state before it, and its
    text is inserted into the input line."""
    from callgate.admin.sessions import ago

    by_id, now = {each.message.id: each for each in prompts}, time()

    def ask_how(item: ListItem) -> None:
        def chosen(way: ListItem) -> None:
            terminal.start(go_back(terminal, by_id[item.key], way.key))

        title = f"Rewind to before: {item.title}"
        terminal.open_panel(ListPanel(terminal, title, _WAYS, chosen, closed=lambda: terminal.open_panel(panel)))

    items = [ListItem(name, " ".join(each.message.text.split()), ago(each.at, now)) for name, each in by_id.items()]
    title = "Rewind to before a message"
    panel = ListPanel(terminal, title, items, ask_how, lambda item: by_id[item.key].message.text)
    return panel


async def open_rewind(terminal: Terminal) -> None:
    """Open the list of prompts, or show a notice if there is no prompt."""
    session = terminal.session
    prompts: list[MessageAdded] = []
    if session is not None:
        told = await session.events_after(0)
        prompts = prompts_of((event for _number, event in told), (each.id for each in session.messages))
    if prompts:
        terminal.open_panel(rewind_panel(terminal, prompts))
    else:
        terminal.show(NoticeBlock("There is no message to rewind to yet."))


async def go_back(terminal: Terminal, prompt: MessageAdded, way: str) -> None:
    session = terminal.session
    if session is None:
        return
    if way == "fork":
        terminal.change_session(SessionStart(resume=session.id, fork=True), lambda: _rewind(terminal, prompt))
        return
    if way == "files":
        try:
            numbers = await asyncio.to_thread(changes_after, session.id, prompt.at)
        except (CallgateError, OSError) as error:
            terminal.show(NoticeBlock(f"Nothing was changed: {error}", "error"))
            return
        for number in numbers:
            await session.send(Undo(change=number))
    _rewind(terminal, prompt)


def _rewind(terminal: Terminal, prompt: MessageAdded) -> None:
    terminal.post(Rewind(prompt.message.id))
    terminal.set_input(prompt.message.text)


def changes_after(session: str, at: float) -> list[int]:
    """Return the numbers of the changes applied at or after the time ``at``, newest first. Blocks."""
    from callgate.admin.session_changes import UNDO, read_changes

    found = read_changes(session).changes
    return [each.number for each in found if each.state == "applied" and each.tool != UNDO and each.at >= at]
