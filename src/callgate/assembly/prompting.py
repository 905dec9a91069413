"""The system prompt of a session with a Config."""

from dataclasses import replace

from callgate.config import Config
from callgate.prompt.environment_facts import describe_environment
from callgate.prompt.instructions import find_instructions
from callgate.prompt.system_prompt import PromptFacts, PromptPart, PromptWishes, SystemPrompt, build_prompt

__all__ = ["ENVIRONMENT", "PromptFacts", "PromptPart", "PromptWishes", "describe_environment", "prompt_for"]

ENVIRONMENT = "environment"
"""The metadata key of the recorded environment description, so that a resumed session has the same prompt."""


def prompt_for(
    config: Config, facts: PromptFacts, wishes: PromptWishes | None = None, *, project: bool = True
) -> SystemPrompt:
    """Return the system prompt, with notes about files that were not read. Without ``project``, no instructions of
    the workspace or of the user are read. Blocks for small reads."""
    found, notes = list[PromptPart](), list[str]()
    if project:
        found, notes = find_instructions(config.root, own=config.folder, trusted=config.has_no_untrusted_files)
    built = build_prompt(replace(facts, folder=config.folder, instructions=found), wishes)
    return SystemPrompt(built.parts, (*built.notes, *notes))
