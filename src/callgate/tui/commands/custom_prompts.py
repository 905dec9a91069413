"""Prompt files that the user runs by name: Markdown files in a ``commands`` folder, and skills.

.callgate/commands/fix.md         /fix
.callgate/commands/db/migrate.md  /db:migrate

Files of a repository are read when the user trusts the folder. No code of a file is run: its text becomes a prompt.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Coroutine, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.config import Config
from callgate.policy.trust import Trusted
from callgate.tools.front_matter import FrontMatterFault, MarkdownFile, read_markdown
from callgate.tools.skills import FoundSkills, filled_in, find_skills, skill_folders
from callgate.tui.commands.command_table import COMMANDS, MISSING
from callgate.tui.port import SlashCommand
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.inputs import Prompt
from callgate.words.model import EFFORTS, RequestOptions, RunOptions, WantedEffort
from callgate.words.noun import noun

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


FOLDER = "commands"
LARGEST = 100_000
MOST_COMMANDS = 500
_DEEPEST = 4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEYS = ("description", "argument-hint", "effort")
"""The known keys of the front matter."""


@noun
class CustomPrompt:
    """A prompt file.

    kind    the origin of the file as text: your own, the folder's, a skill
    hint    the form of the arguments
    within  the folder that must contain the file after symbolic links are resolved
    """

    name: str
    description: str
    path: Path
    kind: str
    hint: str = ""
    effort: WantedEffort | None = None
    within: Path | None = None


@noun
class FoundPrompts:
    """The prompt files that were found. ``problems`` describes unusable files, unknown keys and names that are
    taken."""

    prompts: tuple[CustomPrompt, ...]
    problems: tuple[str, ...] = ()


def custom_prompts(config: Config, taken: Mapping[str, str]) -> FoundPrompts:
    """Return the prompts of the trusted folder, then the user's prompts, then skills. The first prompt with a name is
    used. Blocks.

    taken  names that may not be used, with their owners
    """
    found: dict[str, CustomPrompt] = {}
    problems: list[str] = []
    places: list[tuple[Path, str, Path | None]] = []
    if isinstance(config.trust, Trusted):
        places.append((config.root / ".callgate" / FOLDER, "of this folder", config.root))
    if config.folder is not None:
        places.append((config.folder / FOLDER, "your own", None))
    for folder, kind, within in places:
        for name, path in _files(folder, problems):
            if name in taken:
                problems.append(f"{path}: /{name} is already {taken[name]}; rename the file")
            elif name not in found:
                made = _prompt(name, path, kind, within, problems)
                if made is not None:
                    found[name] = made
    for skill in skills_of(config).by_name.values():
        if skill.name not in taken and skill.name not in found:
            found[skill.name] = CustomPrompt(
                name=skill.name,
                description=skill.description,
                path=skill.path,
                kind="skill",
                within=skill.folder.within,
            )
    return FoundPrompts(tuple(found.values()), tuple(problems))


def skills_of(config: Config) -> FoundSkills:
    trusted = isinstance(config.trust, Trusted)
    return find_skills(skill_folders(config.root, home=config.home, own=config.folder, project=trusted))


def prompt_text(prompt: CustomPrompt, arguments: str) -> str:
    """Return the text of a prompt file with the arguments inserted. Blocks. Raise UsageError if the file cannot be
    read.

    ``$ARGUMENTS`` is replaced by the whole text after the name, ``$1`` to ``$9`` by single words. Without
    placeholders the arguments are appended.
    """
    try:
        body = _read(prompt.path, prompt.within).body.strip()
    except (ToolFailure, FrontMatterFault) as fault:
        raise UsageError(f"/{prompt.name} cannot be used: {prompt.path}: {fault}") from None
    if not body:
        raise UsageError(f"/{prompt.name} cannot be used: {prompt.path} has no text")
    return filled_in(body, arguments)


def _files(folder: Path, problems: list[str]) -> Iterator[tuple[str, Path]]:
    count = 0
    for place, folders, files in os.walk(folder):
        parts = Path(place).relative_to(folder).parts
        folders[:] = sorted(each for each in folders if _NAME.fullmatch(each) and len(parts) < _DEEPEST)
        for file in sorted(files):
            if not file.endswith(".md"):
                continue
            count += 1
            if count > MOST_COMMANDS:
                problems.append(f"{folder}: only the first {MOST_COMMANDS} commands are read")
                return
            stem = file.removesuffix(".md")
            if _NAME.fullmatch(stem):
                yield ":".join((*parts, stem)), Path(place) / file
            else:
                problems.append(f"{Path(place) / file}: a name must consist of at most 64 letters, digits, - and _")


def _prompt(name: str, path: Path, kind: str, within: Path | None, problems: list[str]) -> CustomPrompt | None:
    try:
        read = _read(path, within)
    except (ToolFailure, FrontMatterFault) as fault:
        problems.append(f"{path}: {fault}")
        return None
    values = read.values
    problems += [f"{path}: {key} has no effect here" for key in values if key not in _KEYS]
    effort = values.get("effort")
    if effort is not None and effort not in (*EFFORTS, "auto"):
        problems.append(f"{path}: effort must be one of {', '.join(EFFORTS)} or auto, not {effort!r:.40}")
        effort = None
    described = values.get("description") or next(iter(read.body.strip().splitlines()), "")
    return CustomPrompt(
        name=name,
        description=" ".join(str(described).lstrip("# ").split())[:200],
        path=path,
        kind=kind,
        hint=str(values.get("argument-hint") or ""),
        effort=effort,  # pyright: ignore[reportArgumentType]
        within=within,
    )


def _read(path: Path, within: Path | None) -> MarkdownFile:
    try:
        real = os.path.realpath(path, strict=True)
        if within is not None and not Path(real).is_relative_to(os.path.realpath(within)):
            raise ToolFailure(f"it is a link to a place outside of {within}, so it is ignored")
        if not os.path.isfile(real):
            raise ToolFailure("it is not a regular file")
        with open(real, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise ToolFailure(f"it cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST:
        raise ToolFailure(f"it has more than {LARGEST:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailure(f"it is not UTF-8 (byte {error.start})") from error
    if not text.removeprefix("\ufeff").startswith("---"):
        return MarkdownFile({}, text)
    return read_markdown(text)


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
