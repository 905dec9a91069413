"""The order of a system prompt: an override is all of it; otherwise the text of a coordinator, of the chosen agent, the
person's own or the shipped one, then appended text, the text about the tools, the note on the mode, instructions from
files, and the environment.

The shipped text has sections, one file each. A file of the same name in the folder ``prompt`` of the person's settings
takes the place of a section; an empty one removes it. A line that begins with ``{Bash}`` or ``{Read,Grep}`` is there
only if the session has those tools, so a prompt never speaks of a tool that is missing.
"""

from collections.abc import Collection, Sequence
from pathlib import Path

from callgate.prompt.prompt_part import PromptPart, SystemPrompt
from callgate.words.errors import UsageError
from callgate.words.late_pattern import late_pattern
from callgate.words.modes import Mode
from callgate.words.noun import noun

SECTIONS = ("role", "work", "code", "gate", "sources", "answers")
"""The shipped sections that another prompt takes the place of, in their order."""
OWN_FILE = "system-prompt.md"
"""In the folder of the person's settings: their own prompt, in place of the shipped sections."""
_NEEDS = late_pattern(r"^\{(\w+(?:,\w+)*)\}")


@noun
class PromptWishes:
    """Texts that were asked for, each as a part with its origin. ``override`` is the whole prompt; ``coordinator``,
    ``agent`` and ``own`` take the place of the shipped text; ``appended`` follows it."""

    override: PromptPart | None = None
    coordinator: PromptPart | None = None
    agent: PromptPart | None = None
    own: PromptPart | None = None
    appended: PromptPart | None = None


@noun
class PromptFacts:
    """The session that the prompt is for. ``folder`` is that of the person's settings; ``attended``: a person reads
    along; ``instructions`` and ``environment`` as their modules give them."""

    tools: Collection[str] = ()
    mode: Mode = "default"
    attended: bool = True
    folder: Path | None = None
    instructions: Sequence[PromptPart] = ()
    environment: str = ""


def build_prompt(facts: PromptFacts, wishes: PromptWishes | None = None) -> SystemPrompt:
    """The prompt of a session, the same for its whole life. Blocks for small reads."""
    wished = wishes or PromptWishes()
    if wished.coordinator is not None and wished.agent is not None:
        raise UsageError(
            f"the coordinator gives work to agents and is none itself: leave out the agent ({wished.agent.origin}), "
            "or the coordinator mode"
        )
    if wished.override is not None:
        return SystemPrompt((wished.override,))
    notes: list[str] = []
    chosen = wished.coordinator or wished.agent or wished.own or _own_file(facts.folder, notes)
    parts = _sections(facts, notes) if chosen is None else [chosen]
    if wished.appended is not None:
        parts.append(wished.appended)
    parts += _situation(facts, notes)
    parts += facts.instructions
    if facts.environment:
        parts.append(PromptPart("environment", facts.environment, "this machine"))
    return SystemPrompt(tuple(part for part in parts if part.text.strip()), tuple(notes))


def _own_file(folder: Path | None, notes: list[str]) -> PromptPart | None:
    return None if folder is None else _replacement(folder / OWN_FILE, "own", notes)


def _sections(facts: PromptFacts, notes: list[str]) -> list[PromptPart]:
    return [_section(name, f"{name}.md", facts, notes) for name in SECTIONS]


def _situation(facts: PromptFacts, notes: list[str]) -> list[PromptPart]:
    """The texts that hold whatever the prompt is: on the tools, the mode at the start, a session without a person."""
    found = [_section("calls", "calls.md", facts, notes)] if facts.tools else []
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
        notes.append(f"{path} was not read, so the shipped text counts: {getattr(error, 'strerror', None) or error}")
        return None


def _for_tools(text: str, tools: Collection[str]) -> str:
    """The text without the lines for tools that are missing."""
    kept: list[str] = []
    for line in text.strip().split("\n"):
        needed = _NEEDS.match(line)
        if needed is None:
            kept.append(line)
        elif all(name in tools for name in needed[1].split(",")):
            kept.append(line[needed.end() :])
    return "\n".join(kept)
