"""Commands that go on in another session, or at an earlier place of this one: /clear, /resume, /branch, /rewind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from callgate.tui.commands.parts import config_of, said, session_of
from callgate.tui.port import SessionStart
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def clear(terminal: Terminal, _text: str) -> None:
    """A new session; the one before is kept."""
    before = session_of(terminal)
    back = f" /resume {before.id} goes back." if before.id and before.messages else ""
    terminal.change_session(SessionStart(new=True), lambda: said(terminal, f"This is a new session.{back}"))


async def resume(terminal: Terminal, text: str) -> None:
    """A session of this folder by its id, a beginning of it, or words of its title; or one from a list."""
    from callgate.tui.panels.sessions import pick_session

    current = session_of(terminal).id
    chosen = await asyncio.to_thread(_found, terminal, text) if text else await pick_session(terminal, current)
    if chosen == current:
        said(terminal, "This session is open here already.")
    elif chosen is not None:
        terminal.change_session(SessionStart(resume=chosen))


def _found(terminal: Terminal, text: str) -> str:
    """Looked for before the session is left, so that a typing error changes nothing. Blocks."""
    from callgate.admin.sessions import Archive

    config = config_of(terminal)
    return Archive(config.root, config.data).find(text).stem


def branch(terminal: Terminal, _text: str) -> None:
    """A copy of this session, in which it goes on; this one stays as it is."""
    session = session_of(terminal)
    if not session.id:
        raise UsageError("This session is not kept (--no-save), so it cannot be copied.")
    if not session.messages:
        raise UsageError("Nothing was said yet, so there is nothing to copy: /clear begins anew.")
    back = f"This is a copy. /resume {session.id} goes back to the session it was made of."
    terminal.change_session(SessionStart(resume=session.id, fork=True), lambda: said(terminal, back))


async def rewind(terminal: Terminal, _text: str) -> None:
    from callgate.tui.panels.rewind import open_rewind

    await open_rewind(terminal)
