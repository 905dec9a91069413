"""The session of a terminal, made of its options while the input line is on the screen."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config
    from callgate.tui.app import Opening


def opening_of(options: Namespace) -> Opening:
    """A function that opens the session. Modules are imported in a thread, so that keys are shown meanwhile."""

    @asynccontextmanager
    async def opened() -> AsyncGenerator[tuple[Session, Config]]:
        await asyncio.to_thread(import_module, "callgate.cli.agent.opening")
        from callgate.cli.agent.opening import config_of, open_session

        config = await asyncio.to_thread(config_of, options)
        notes: list[str] = []
        async with open_session(options, config, None, notes.append) as session:
            yield session, config

    def open_now() -> AbstractAsyncContextManager[tuple[Session, Config]]:
        return opened()

    return open_now
