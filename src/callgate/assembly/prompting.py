"""The system prompt of a session that a Config is for."""

from collections.abc import Collection, Sequence
from pathlib import Path

from callgate.config import Config
from callgate.prompt.environment_facts import describe_environment
from callgate.prompt.instructions import find_instructions
from callgate.prompt.prompt_part import PromptPart, SystemPrompt
from callgate.prompt.system_prompt import PromptFacts, PromptWishes, build_prompt
from callgate.words.modes import Mode
from callgate.words.noun import noun

__all__ = ["ENVIRONMENT", "PromptPart", "PromptSubject", "PromptWishes", "SystemPrompt", "environment_of", "prompt_for"]

ENVIRONMENT = "environment"
"""The metadata of a session that keeps the description of its place, so that a resumed session has the same prompt."""


@noun
class PromptSubject:
    """The session that a prompt is for. ``environment`` is the description that is on record, if there is one."""

    tools: Collection[str]
    mode: Mode
    model: str
    now: float
    attended: bool = True
    added: Sequence[Path] = ()
    environment: str | None = None


def prompt_for(
    config: Config, subject: PromptSubject, wishes: PromptWishes | None = None, *, project: bool = True
) -> SystemPrompt:
    """The system prompt, its notes about files that were not read among ``notes``. Blocks for small reads. Without
    ``project`` no instructions are read, neither those of the folder nor the person's own."""
    found, notes = list[PromptPart](), list[str]()
    if project:
        found, notes = find_instructions(config.root, own=config.folder, trusted=config.has_no_untrusted_files)
    environment = subject.environment or environment_of(config, subject)
    facts = PromptFacts(
        tools=subject.tools,
        mode=subject.mode,
        attended=subject.attended,
        folder=config.folder,
        instructions=found,
        environment=environment,
    )
    built = build_prompt(facts, wishes)
    return SystemPrompt(built.parts, (*built.notes, *notes))


def environment_of(config: Config, subject: PromptSubject) -> str:
    return describe_environment(config.root, model=subject.model, now=subject.now, added=subject.added)
