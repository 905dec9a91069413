"""The system prompt for the command that shows it. Everything here blocks."""

from collections.abc import Collection
from time import time

from callgate.assembly.prompting import PromptPart, PromptSubject, PromptWishes, SystemPrompt, prompt_for
from callgate.config import load_config
from callgate.tools.builtin import BUILTIN, builtin_tools
from callgate.words.modes import Mode

__all__ = ["PromptPart", "SystemPrompt", "built_prompt"]


def built_prompt(
    wishes: PromptWishes, *, tools: Collection[str] = (), mode: Mode | None = None, model: str = "", attended: bool
) -> SystemPrompt:
    """The prompt that a session in the current folder would get with these tools; without names all that ship."""
    config = load_config(mode=mode)
    names = tuple(tool.spec.name for tool in builtin_tools(*tools)) if tools else tuple(BUILTIN)
    subject = PromptSubject(
        tools=names, mode=config.mode, model=model or "the one that is chosen", now=time(), attended=attended
    )
    return prompt_for(config, subject, wishes)
