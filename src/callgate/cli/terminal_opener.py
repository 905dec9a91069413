"""Starts the agent in a terminal, and opens its session while the input line is already shown."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from callgate.cli.start_options import StartOptions, read_interactive
from callgate.cli.text_output import say
from callgate.tui.blocks import NoticeBlock
from callgate.tui.port import SessionStart
from callgate.words.errors import ModelError

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config
    from callgate.tui.port import SessionOpener, Terminal


def interactive(words: Sequence[str], typed: str = "") -> int:
    """Run the terminal interface and return the exit code. ``typed`` has the keys that were pressed while the
    program started."""
    options = read_interactive(words)
    if os.environ.get("TERM", "dumb") == "dumb" and os.name != "nt":
        say("this terminal (TERM=dumb) cannot move the cursor: use callgate -p PROMPT, or another terminal")
        return 2
    try:
        from callgate.tui.app import run_terminal
        from callgate.tui.theme import theme_for
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "prompt_toolkit":
            raise
        say("the terminal needs more packages: pip install 'callgate[app]'")
        return 2
    theme = theme_for(encoding=sys.stdout.encoding)
    return run_terminal(opening_of(options), theme, options.prompt or "", typed=typed)


def opening_of(options: StartOptions) -> SessionOpener:
    """Return a function that opens the session. Modules are imported in a thread, so that typed keys are shown
    during the import."""

    added: list[str] = []  # folders of /add-dir, which later sessions keep

    @asynccontextmanager
    async def opened(terminal: Terminal, start: SessionStart) -> AsyncGenerator[tuple[Session, Config]]:
        await asyncio.to_thread(import_module, "callgate.cli.start_session")
        from callgate.cli.start_session import config_of, open_session

        added.extend(map(str, start.folders))
        further = replace(options, add_dir=(*options.add_dir, *added))
        wanted = _started(further, await _picked(terminal, options, start))
        config = await asyncio.to_thread(config_of, wanted)
        if not options.bare and await _trusts(terminal, config):
            config = await asyncio.to_thread(config_of, wanted)
        is_open = False
        try:
            async with open_session(wanted, config, None, lambda note: terminal.show(NoticeBlock(note))) as session:
                is_open = True
                yield session, config
        except ModelError as error:
            if is_open or error.kind != "no_key":
                raise
            from callgate.admin.provider_keys import first_run_page  # only a first start needs it

            page = await asyncio.to_thread(first_run_page, config)
            raise (ModelError(page, kind="no_key") if page else error) from None

    return opened


async def _trusts(terminal: Terminal, config: Config) -> bool:
    """Ask about a folder that is not trusted; return True if the user trusts it now."""
    if await asyncio.to_thread(lambda: config.has_no_untrusted_files):
        return False
    from callgate.tui.panels.trust_panel import ask_trust

    return await ask_trust(terminal, config)


async def _picked(terminal: Terminal, options: StartOptions, start: SessionStart) -> SessionStart:
    """Return the session to start. If the command line has ``--resume`` without an id, the user chooses the session
    from a list."""
    if start != SessionStart() or options.resume != "":
        return start
    from callgate.tui.panels.sessions_panel import pick_session

    found = await pick_session(terminal)
    return SessionStart(new=True) if found is None else SessionStart(resume=found, fork=options.fork)


def _started(options: StartOptions, start: SessionStart) -> StartOptions:
    """Return the options with which the session of ``start`` is opened."""
    if not start.new and not start.resume:
        return options
    return replace(options, latest=False, resume=start.resume or None, fork=start.fork, session_id=None)
