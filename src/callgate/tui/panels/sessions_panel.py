"""The list of sessions of this folder or of all folders, newest first, with their last messages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from shlex import quote
from time import time
from typing import TYPE_CHECKING

from callgate.admin.sessions import Archive, Listed, SaidMessage, ago
from callgate.formats.display import counted
from callgate.tui.blocks import NoticeBlock
from callgate.tui.panels.list_panel import ListItem, ListPanel
from callgate.words.errors import CallgateError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_LAST = 6
"""The number of messages in a preview."""
_LONGEST = 600
"""Characters of a message in a preview."""
SIGNS = {"?": "a question waits", "*": "unfinished", "!": "cannot be read"}


class SessionsPanel(ListPanel):
    """A panel that lists sessions.

    ``chosen`` is called with the id of a session of this folder. For a session of another folder the panel shows the
    command that opens the session, and stays open. Lists and previews are read in a thread.
    """

    full_screen = True  # a resize cannot leave lines of the list above the conversation

    def __init__(
        self,
        terminal: Terminal,
        archive: Archive,
        sessions: Sequence[Listed],
        chosen: Callable[[str], None],
        *,
        current: str = "",
        closed: Callable[[], None] | None = None,
    ) -> None:
        self._archive = archive
        self._take = chosen
        self._current = current
        self._listed = {each.path: each for each in sessions}
        self._everywhere = False
        self._texts: dict[str, str] = {}
        self._reading = False
        super().__init__(
            terminal,
            "Sessions of this folder",
            self._items_of(sessions),
            self._choose,
            preview=self._text,
            other=self._toggle,
            other_help="other folders",
            closed=closed,
        )

    def _items_of(self, sessions: Sequence[Listed]) -> list[ListItem]:
        now = time()
        return [self._item(each, now) for each in sessions if each.session != self._current]

    def _item(self, each: Listed, now: float) -> ListItem:
        about = each.about
        sign = "!" if each.fault else "?" if about.asking else "*" if about.unfinished else " "
        there = f"{os.path.basename(about.workspace)}: " if not self._is_here(each) else ""
        searched = (
            each.session,
            about.first_prompt,
            about.last_prompt,
            *about.tags,
            about.workspace,
            SIGNS.get(sign, ""),
        )
        return ListItem(
            key=each.path,
            title=about.name,
            detail=f"{there}{counted(about.messages, 'message')}, {ago(about.updated_at, now)}",
            sign=sign,
            words=" ".join(searched),
        )

    def _is_here(self, each: Listed) -> bool:
        return os.path.dirname(each.path) == self._archive.folder

    # ---- choice -------------------------------------------------------------------------------------------------

    def _choose(self, item: ListItem) -> None:
        each = self._listed[item.key]
        if self._is_here(each):
            self._take(each.session)
            return
        command = f"cd {quote(each.about.workspace)} && callgate --resume {each.session}"
        self.terminal.show(NoticeBlock(f"That session belongs to another folder: {command}"))
        self.terminal.open_panel(self)

    def _toggle(self) -> None:
        self._everywhere = not self._everywhere
        self.terminal.start(self._read_list())

    async def _read_list(self) -> None:
        everywhere = self._everywhere
        read = self._archive.everywhere if everywhere else self._archive.here
        try:
            found = await asyncio.to_thread(read)
        except CallgateError as error:
            self.terminal.show(NoticeBlock(str(error), "error"))
            return
        if everywhere is self._everywhere:
            self._listed = {each.path: each for each in found}
            self.title = "Sessions of all folders" if everywhere else "Sessions of this folder"
            self.other_help = "this folder" if everywhere else "other folders"
            self.set_items(self._items_of(found))
        self.terminal.redraw()

    # ---- preview ------------------------------------------------------------------------------------------------

    def _text(self, item: ListItem) -> str | None:
        if item.key not in self._texts and not self._reading:
            self._reading = True
            self.terminal.start(self._read_text(item.key))
        return self._texts.get(item.key)

    async def _read_text(self, path: str) -> None:
        try:
            self._texts[path] = await asyncio.to_thread(self._preview_of, path)
        finally:
            self._reading = False
            self.terminal.redraw()

    def _preview_of(self, path: str) -> str:
        each = self._listed[path]
        if each.fault:
            return each.fault
        try:
            _log, holder, _noted = self._archive.holder(path)
            shown = self._archive.show(path, _LAST)
        except CallgateError as error:
            return str(error)
        head = [f"{each.session}  {each.about.model}", each.about.workspace]
        head += [f"open in {holder}"] if holder is not None else []
        head += [f"{len(shown.questions)} waiting for your answer"] if shown.questions else []
        said = [_said(each) for each in shown.page() if isinstance(each, SaidMessage)]
        return "\n".join([*head, *(line for text in said if text for line in ("", text))])


def _said(each: SaidMessage) -> str:
    text = " ".join(each.message.text.split())
    if not text:
        return ""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"
    return f"you: {cut}" if each.message.role == "user" else cut


async def pick_session(terminal: Terminal, current: str = "") -> str | None:
    """Let the user choose a session of this folder. Return its id, or None if no session is chosen."""
    archive = await asyncio.to_thread(Archive)
    found = await asyncio.to_thread(archive.here)
    picked: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
    panel = SessionsPanel(
        terminal, archive, found, picked.set_result, current=current, closed=lambda: picked.set_result(None)
    )
    terminal.open_panel(panel)
    return await picked
