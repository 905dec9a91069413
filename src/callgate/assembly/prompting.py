"""The system prompt of a session with a Config."""

from collections.abc import Collection, Sequence
from pathlib import Path

from callgate.config import Config
from callgate.prompt.environment_facts import describe_environment
from callgate.prompt.instructions import find_instructions
from callgate.prompt.system_prompt import PromptFacts, PromptPart, PromptWishes, SystemPrompt, build_prompt
from callgate.words.modes import Mode
from callgate.words.noun import noun

__all__ = ["ENVIRONMENT", "PromptPart", "PromptSubject", "PromptWishes", "SystemPrompt", "environment_of", "prompt_for"]

ENVIRONMENT = "environment"
"""The metadata key of the recorded environment description, so that a resumed session has the same prompt."""


@noun
class PromptSubject:
    """The facts about a session that its system prompt states.

    environment  the recorded description of the environment; None for a new session
    short        True for a model with a small context window
    """

    tools: Collection[str]
    mode: Mode
    model: str
    now: float
    attended: bool = True
    added: Sequence[Path] = ()
    environment: str | None = None
    short: bool = False


def prompt_for(
    config: Config, subject: PromptSubject, wishes: PromptWishes | None = None, *, project: bool = True
) -> SystemPrompt:
    """Return the system prompt, with notes about files that were not read. Without ``project``, no instructions of
    the workspace or of the user are read. Blocks for small reads."""
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
        short=subject.short,
    )
    built = build_prompt(facts, wishes)
    return SystemPrompt(built.parts, (*built.notes, *notes))


def environment_of(config: Config, subject: PromptSubject) -> str:
    return describe_environment(config.root, model=subject.model, now=subject.now, added=subject.added)
