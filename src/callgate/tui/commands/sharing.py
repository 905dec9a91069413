"""/export: the session as a file."""

from __future__ import annotations

import asyncio
import os.path
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from callgate.tui.commands.parts import config_of, said, session_of
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from callgate import Session
    from callgate.config import Config
    from callgate.tui.port import Terminal

Shape = Literal["markdown", "html", "ai-sdk"]
_SHAPES: Mapping[str, Shape] = {".md": "markdown", ".html": "html", ".json": "ai-sdk"}
"""Formats by the end of the file's name, as ``callgate session export`` has them."""


async def export(terminal: Terminal, text: str) -> None:
    """Writes the session without secrets, in the format that the end of the name says."""
    session, config = session_of(terminal), config_of(terminal)
    if not session.id:
        raise UsageError("This session is not kept (--no-save), so it cannot be exported.")
    path = _place(text or f"callgate-{session.id}.md", config)
    shape = _SHAPES.get(path.suffix)
    if shape is None:
        raise UsageError(f"The name of the file says the format: {', '.join(_SHAPES)}, not {path.suffix or 'none'}.")
    await session.told_after(session.position)  # what is on its way is written first
    try:
        await asyncio.to_thread(_write, session, config, path, shape)
    except FileExistsError:
        raise UsageError(f"{path} is there already: choose another name.") from None
    said(terminal, f"Written to {path}. Secrets that were recognised are masked; read it before you share it.")


def _write(session: Session, config: Config, path: Path, shape: Shape) -> None:
    from callgate.admin.sessions import Archive, write_file

    shown = Archive(config.root, config.data).show(session.id)
    write_file(path, shown.written_as(shape).encode(), replace=False)


def _place(text: str, config: Config) -> Path:
    return config.root / os.path.expanduser(text)


def formats(_terminal: Terminal) -> Sequence[tuple[str, str]]:
    return [(f"session{end}", shape) for end, shape in _SHAPES.items()]
