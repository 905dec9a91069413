"""Custom commands and skills as slash commands."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.tui.commands.command_table import COMMANDS, MISSING
from callgate.tui.commands.custom_prompts import CustomPrompt, custom_prompts, prompt_text
from callgate.tui.port import SlashCommand
from callgate.words.inputs import Prompt
from callgate.words.model import RequestOptions, RunOptions

if TYPE_CHECKING:
    from callgate.config import Config
    from callgate.tui.port import Terminal


def custom_commands(config: Config) -> tuple[tuple[SlashCommand, ...], tuple[str, ...]]:
    """Return the custom commands, and warnings about unusable files. Blocks."""
    names = [word for each in COMMANDS for word in (each.name, *each.aliases)]
    found = custom_prompts(config, dict.fromkeys((*names, *MISSING), "a command of Callgate"))
    return tuple(_command(each) for each in found.prompts), found.problems


def _command(prompt: CustomPrompt) -> SlashCommand:
    about = f"{prompt.description or 'no description'} ({prompt.kind})"
    return SlashCommand(prompt.name, about, partial(_send, prompt), arguments=prompt.hint)


def _send(prompt: CustomPrompt, terminal: Terminal, text: str) -> Coroutine[Any, Any, None]:
    async def send() -> None:
        said = await asyncio.to_thread(prompt_text, prompt, text)
        options = None if prompt.effort is None else RunOptions(request=RequestOptions(effort=prompt.effort))
        terminal.post(Prompt(said, options=options))

    return send()
