"""Functions that several slash commands use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.tui.blocks import NoticeBlock
from callgate.tui.render.measures import seconds_text
from callgate.words.errors import StateError, UsageError

if TYPE_CHECKING:
    from callgate import Session
    from callgate.config import Config
    from callgate.tui.port import Terminal


def session_of(terminal: Terminal) -> Session:
    """Return the session of the terminal. Raise StateError if no session is open, for example during a change of
    sessions."""
    if terminal.session is None:
        raise StateError("The session is being opened; try again in a moment.")
    return terminal.session


def config_of(terminal: Terminal) -> Config:
    if terminal.config is None:
        raise StateError("The session is being opened; try again in a moment.")
    return terminal.config


def said(terminal: Terminal, text: str) -> None:
    terminal.show(NoticeBlock(text))


def count_of(text: str, default: int, what: str) -> int:
    """Parse a number, or return the default for an empty text. Raise UsageError if the text is not a number."""
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:9]) <= 100_000:
        raise UsageError(f"{what} must be a number from 1 on, not {text!r:.40}")
    return int(text)


def seconds(value: float) -> str:
    """Return a duration as text: 340 ms, 2.1 s, 3 min 5 s."""
    return f"{value * 1000:.0f} ms" if value < 1 else seconds_text(value)


def dollars(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"${value:.2f}" if value >= 1 else f"${value:.4f}"


def first_sentence(text: str) -> str:
    line = " ".join(text.strip().partition("\n\n")[0].split())
    end = line.find(". ")
    return line if end < 0 else line[: end + 1]
