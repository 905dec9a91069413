"""Commands about the program and the machine: /version, /env."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from callgate._version import __version__
from callgate.tui.blocks import TableBlock
from callgate.tui.commands.parts import config_of, said

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def version(terminal: Terminal, _text: str) -> None:
    import platform

    said(terminal, f"callgate {__version__}, Python {platform.python_version()}, {platform.system()}")


async def env(terminal: Terminal, _text: str) -> None:
    from callgate.admin.surroundings import surroundings

    found = await asyncio.to_thread(surroundings, config_of(terminal))
    note = "What looks like a secret is masked. Variables: those of Callgate, the terminal and the network."
    terminal.show(TableBlock(tuple(found), "Environment", note=note))
