"""Slash commands about the screen and the input line: /copy, /theme, /view, /vim."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from callgate.formats.display import counted
from callgate.host.environment import find_program
from callgate.tui.commands.command_table import THEMES
from callgate.tui.commands.slash_support import config_of, said, session_of
from callgate.tui.theme import theme_for
from callgate.words.errors import UsageError

if TYPE_CHECKING:
    from callgate.tui.port import Terminal, ViewName


VIEWS: tuple[ViewName, ...] = ("inline", "full")


async def theme(terminal: Terminal, text: str) -> None:
    """Change the colours and store the theme in the settings. Without a name, show the theme."""
    if not text:
        said(terminal, f"The colours are {terminal.theme.name}. /theme {'|'.join(THEMES)} changes them.")
        return
    if text not in THEMES:
        raise UsageError(f"Unknown theme {text!r:.40}. Use {', '.join(THEMES)}.")
    terminal.theme = theme_for(encoding=sys.stdout.encoding, name=text)
    await _set(terminal, "tui.theme", text)


async def vim(terminal: Terminal, text: str) -> None:
    """Switch the vim keys of the input line on or off, and store the choice in the settings."""
    if text not in ("", "on", "off"):
        raise UsageError(f"/vim accepts on or off, not {text!r:.40}.")
    terminal.use_vim(not terminal.vim if not text else text == "on")
    await _set(terminal, "tui.editing", "vim" if terminal.vim else "emacs")


async def copy(terminal: Terminal, _text: str) -> None:
    """Copy the last answer of the model to the clipboard."""
    texts = (each.text.strip() for each in reversed(session_of(terminal).messages) if each.role == "assistant")
    text = next((each for each in texts if each), "")
    if not text:
        raise UsageError("There is no answer to copy yet.")
    terminal.copy(text)
    program = await asyncio.to_thread(_copy_with_program, text)
    through = program or "the terminal, if it accepts OSC 52"
    said(terminal, f"Copied the last answer ({counted(len(text.splitlines()), 'line')}) with {through}.")


_PROGRAMS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard", "-in")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""Programs that write to the clipboard, each with the variable without which it does not work."""


def _copy_with_program(text: str) -> str:
    """Write the text to the clipboard of this machine. Return the name of the program, or "" if none works."""
    for variable, (name, *arguments) in _PROGRAMS:
        program = find_program(name, os.environ.get("PATH", ""), avoid=os.getcwd())
        if program is None or (variable and not os.environ.get(variable)):
            continue
        try:
            quiet = subprocess.DEVNULL  # xclip keeps running in the background, with its output open
            ran = subprocess.run(
                (program, *arguments), input=text.encode(), stdout=quiet, stderr=quiet, timeout=5, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if ran.returncode == 0:
            return name
    return ""


async def view(terminal: Terminal, text: str) -> None:
    """Change the view (inline or full screen) and store it in the settings."""
    if text in ("", "status"):
        said(terminal, f"The view is {terminal.viewed}. /view inline or /view full changes it.")
        return
    if text not in VIEWS:
        raise UsageError(f"Unknown view {text!r:.40}. Use {', '.join(VIEWS)}.")
    terminal.view(text)
    await _set(terminal, "tui.view", text)


async def _set(terminal: Terminal, name: str, value: str) -> None:
    from callgate.admin.settings_change import change_setting

    changed = await asyncio.to_thread(change_setting, config_of(terminal), name, [value], "user")
    said(terminal, f"{name} is now {value} ({changed.file}).")
