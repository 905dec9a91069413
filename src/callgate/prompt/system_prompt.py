"""Composes the system prompt.

An override is the whole prompt. Otherwise the prompt begins with the text of a coordinator, of the chosen agent, or of
the user; without such a text, with the shipped text. Then follow appended text, the text about the tools, the note
about the mode, instructions from files, and the description of the environment.

The shipped text has sections, one file for each section. A file with the same name in the folder ``prompt`` of the
user's settings replaces a section; an empty file removes the section. A line that begins with ``{Bash}`` or
``{Read,Grep}`` is included only if the session has these tools.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from callgate.words.errors import UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.modes import Mode
from callgate.words.noun import noun


@noun
class PromptPart:
    """A part of a system prompt.

    origin  the file of the text, or a description of its source
    """

    name: str
    text: str
    origin: str


@noun
class SystemPrompt:
    """A system prompt, as a list of its parts.

    notes  notes for the user about texts that were left out or truncated
    """

    parts: tuple[PromptPart, ...]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The whole prompt as it is sent to the model."""
        return "\n\n".join(part.text for part in self.parts)


def enclosed(tag: str, text: str, **attributes: str) -> str:
    """Return the text between an opening and a closing tag. A closing tag inside the text is escaped."""
    said = "".join(f' {name}="{value.replace(chr(34), "’")}"' for name, value in attributes.items())
    return f"<{tag}{said}>\n{text.replace(f'</{tag}', f'‹/{tag}')}\n</{tag}>"


def enclosed_length(tag: str, text: str) -> int:
    """Return the number of characters between the tags with this name in a prompt, including the tags."""
    found = re.finditer(rf"<{tag}(?: [^>\n]*)?>\n.*?\n</{tag}>", text, re.DOTALL)
    return sum(match.end() - match.start() for match in found)


SECTIONS = ("role", "work", "code", "gate", "sources", "answers")
"""The shipped sections in their order; another prompt replaces all of them."""
SHORT_SECTIONS = ("role", "small")
"""The sections of a short prompt, for a model with a small context window."""
OWN_FILE = "system-prompt.md"
"""The user's own prompt in the settings folder, which replaces the shipped sections."""
_NEEDS = late_pattern(r"^\{(\w+(?:,\w+)*)\}")


@noun
class PromptWishes:
    """The texts that the user requested for a prompt.

    override                the whole prompt
    coordinator, agent, own  texts that replace the shipped text
    appended                text that follows the first text
    """

    override: PromptPart | None = None
    coordinator: PromptPart | None = None
    agent: PromptPart | None = None
    own: PromptPart | None = None
    appended: PromptPart | None = None


@noun
class PromptFacts:
    """The facts about a session that its prompt depends on.

    attended  True if a user is present
    folder    the folder of the user's settings
    short     True for a prompt without the longer sections
    """

    tools: Collection[str] = ()
    mode: Mode = "default"
    attended: bool = True
    folder: Path | None = None
    instructions: Sequence[PromptPart] = ()
    environment: str = ""
    short: bool = False


def build_prompt(facts: PromptFacts, wishes: PromptWishes | None = None) -> SystemPrompt:
    """Return the system prompt of a session. The prompt does not change during the session. Blocks for small reads.
    Raise UsageError if the wishes conflict."""
    wished = wishes or PromptWishes()
    if wished.coordinator is not None and wished.agent is not None:
        raise UsageError(
            f"coordinator mode and an agent cannot be combined: remove the agent ({wished.agent.origin}) "
            "or the coordinator mode"
        )
    if wished.override is not None:
        return SystemPrompt((wished.override,))
    notes: list[str] = []
    chosen = wished.coordinator or wished.agent or wished.own
    if chosen is None and facts.folder is not None:
        chosen = _replacement(facts.folder / OWN_FILE, "own", notes)
    names = SHORT_SECTIONS if facts.short else SECTIONS
    parts = [_section(name, f"{name}.md", facts, notes) for name in names] if chosen is None else [chosen]
    if wished.appended is not None:
        parts.append(wished.appended)
    parts += _situation(facts, notes)
    parts += facts.instructions
    if facts.environment:
        parts.append(PromptPart("environment", facts.environment, "this machine"))
    return SystemPrompt(tuple(part for part in parts if part.text.strip()), tuple(notes))


def _situation(facts: PromptFacts, notes: list[str]) -> list[PromptPart]:
    found = [_section("calls", "calls.md", facts, notes)] if facts.tools and not facts.short else []
    if facts.mode != "default":
        found.append(_section("mode", f"modes/{facts.mode}.md", facts, notes))
    return found if facts.attended else [*found, _section("unattended", "unattended.md", facts, notes)]


def _section(name: str, file: str, facts: PromptFacts, notes: list[str]) -> PromptPart:
    given = None if facts.folder is None else _replacement(facts.folder / "prompt" / file, name, notes)
    if given is None:
        text = Path(__file__).with_name("texts").joinpath(file).read_text(encoding="utf-8")
        given = PromptPart(name, text, f"callgate: {file}")
    return PromptPart(name, _for_tools(given.text, facts.tools), given.origin)


def _replacement(path: Path, name: str, notes: list[str]) -> PromptPart | None:
    try:
        return PromptPart(name, path.read_text(encoding="utf-8").strip(), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        notes.append(f"{path} was not read, so the built-in text is used: {getattr(error, 'strerror', None) or error}")
        return None


def _for_tools(text: str, tools: Collection[str]) -> str:
    kept: list[str] = []
    for line in text.strip().split("\n"):
        needed = _NEEDS.match(line)
        if needed is None:
            kept.append(line)
        elif all(name in tools for name in needed[1].split(",")):
            kept.append(line[needed.end() :])
    return "\n".join(kept)
