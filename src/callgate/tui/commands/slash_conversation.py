"""Commands that send a prompt: /init and /review. The texts are the Markdown files in this folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from callgate.words.inputs import Continue, Prompt

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


def init(terminal: Terminal, text: str) -> None:
    more = f"\n\nThe person adds: {text}" if text else ""
    terminal.post(Prompt(_text("init") + more))


def review(terminal: Terminal, text: str) -> None:
    """Send the prompt to review a range of commits, or the uncommitted changes."""
    place = f"`{text}`" if text else "the working tree (staged, unstaged and new files) against the last commit"
    terminal.post(Prompt(_text("review").replace("{range}", place)))


def go_on(terminal: Terminal, _text: str) -> None:
    terminal.post(Continue())


def _text(name: str) -> str:
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
