"""The panel of staged changes, which shows files and diffs and applies or discards all or some of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from callgate.formats.shown_paths import shortened, shown_path
from callgate.tui.blocks import NoticeBlock
from callgate.tui.panels.panel_page import PanelPage, clip_lines, write_change
from callgate.tui.panels.scroll_panel import ScrollPanel
from callgate.tui.route import Card
from callgate.words.changes import ChangeSet
from callgate.words.errors import CallgateError
from callgate.words.inputs import Resolve
from callgate.words.pending import ResolveAction, Staged

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


_REASON = "Requested by the user in the terminal."


class PendingPanel(Card):
    """A panel for one staged action. ``change`` is None if the action changes no files. All files are selected at
    first."""

    def __init__(self, terminal: Terminal, staged: Staged, change: ChangeSet | None) -> None:
        super().__init__()
        self._terminal = terminal
        self.staged = staged
        self._change = change
        self._paths = () if change is None else tuple(each.path for each in change.files)
        self.marked = set(self._paths)
        self.at = 0
        self._root = "" if terminal.session is None else terminal.session.controls.root
        self._diffs: dict[tuple[int, int], list[str]] = {}

    # ---- keys ---------------------------------------------------------------------------------------------------

    def act(self, action: str) -> None:
        match action:
            case "up" | "down" if self._paths:
                self.at = (self.at + (1 if action == "down" else -1)) % len(self._paths)
            case "choose":
                self._apply()
            case "cancel":
                self._terminal.close_panel(self)
            case _:
                return

    def typed(self, text: str) -> None:
        match text:
            case " " if self.marks(text):
                self.marked ^= {self._paths[self.at]}
            case "d" if self._change is not None:
                write = partial(write_change, change=self._change, root=self._root)
                self._terminal.open_panel(ScrollPanel(self._terminal, self.staged.label, write))
            case "x":
                self._resolve("discard", None)
            case _:
                return

    def binds(self, text: str) -> bool:
        return text == "x" or (text == "d" and self._change is not None)

    def marks(self, text: str) -> bool:
        return text == " " and bool(self._paths)

    def snapshot(self) -> Callable[[], None]:
        marked = set(self.marked)
        return lambda: setattr(self, "marked", marked)

    def _apply(self) -> None:
        wanted = [path for path in self._paths if path in self.marked]
        if self._paths and not wanted:
            return  # to discard it, the key is x
        self._resolve("apply", wanted if len(wanted) < len(self._paths) else None)

    def _resolve(self, action: ResolveAction, files: list[str] | None) -> None:
        self._terminal.close_panel(self)
        extra = None if files is None else {"files": files}
        self._terminal.post(Resolve(action, _REASON, id=self.staged.id, extra=extra))

    # ---- lines --------------------------------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> Sequence[str]:
        theme, staged = self._terminal.theme, self.staged
        page, foot = PanelPage(theme, width), PanelPage(theme, width)
        page.rule()
        more = len(self._terminal.fold.pending) - 1
        page.line(f"Staged: {staged.label}", "bold yellow", f"{more} more" if more > 0 else "")
        page.words(f"by {staged.source}{': ' if staged.summary else ''}{staged.summary}", "grey")
        for number, path in enumerate(self._paths):
            here = number == self.at
            mark = "x" if path in self.marked else " "
            name = shortened(shown_path(path, self._root), max(page.width - 6, 8), page.theme.more)
            page.line(f"{theme.cursor(here)} [{mark}] {name}", "bold" if here else "")
        many = len(self.marked)
        which = "all" if many == len(self._paths) else f"{many} of {len(self._paths)} files"
        apply = (
            ("Enter", f"apply {which}" if self._paths else "apply") if many or not self._paths else ("Space", "mark")
        )
        several = [("Space", "mark")] if len(self._paths) > 1 and apply[0] != "Space" else []
        view = [("d", "whole diff")] if self._change is not None else []
        keys = [apply, *several, ("x", "discard"), *view, ("Esc", "later")]
        foot.card_keys(self._terminal.receiver, keys)
        room = max(height - len(page.lines) - len(foot.lines), 3)
        return [*page.lines, *clip_lines(self._diff(width), room, " (d shows all)", theme), *foot.lines]

    def _diff(self, width: int) -> list[str]:
        if self._change is None:
            return []
        key = (width, self.at)
        if key not in self._diffs:
            page = PanelPage(self._terminal.theme, width)
            file = self._change.files[self.at]
            write_change(page, ChangeSet(self._change.label, (file,)), self._root, shown_path(file.path, self._root))
            self._diffs[key] = page.lines
        return self._diffs[key]


async def open_pending(terminal: Terminal) -> None:
    """Open the panel of the newest staged action, or show a notice if there is none."""
    staged = next(reversed(terminal.fold.pending.values()), None)
    if staged is None:
        terminal.show(NoticeBlock("There is no pending action."))
        return
    session, change = terminal.session, None
    if staged.change is not None and session is not None and session.id:
        from callgate.admin.session_changes import read_staged

        try:
            change = await asyncio.to_thread(read_staged, session.id, staged.change)
        except (CallgateError, OSError) as error:
            terminal.show(NoticeBlock(f"The diff cannot be shown: {error}", "warning"))
    terminal.open_panel(PendingPanel(terminal, staged, change))
