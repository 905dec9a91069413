"""Prompt files that the user runs by name: Markdown files in a ``commands`` folder, and skills.

.callgate/commands/fix.md         /fix
.callgate/commands/db/migrate.md  /db:migrate

Files of a repository are read when the user trusts the folder. No code of a file is run: its text becomes a prompt.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.config import Config
from callgate.policy.trust import Trusted
from callgate.tools.front_matter import FrontMatterFault, MarkdownFile, read_markdown
from callgate.tools.skills import FoundSkills, filled_in, find_skills, read_prompt_file, skill_folders
from callgate.tui.commands.command_table import COMMANDS, MISSING
from callgate.tui.port import SlashCommand
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.inputs import Prompt
from callgate.words.model import EFFORTS, RequestOptions, RunOptions, WantedEffort

if TYPE_CHECKING:
    from callgate.tui.port import Terminal


FOLDER = "commands"
MOST_COMMANDS = 500
_DEEPEST = 4
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KEYS = ("description", "argument-hint", "effort")
"""The known keys of the front matter."""


def custom_commands(config: Config) -> tuple[tuple[SlashCommand, ...], tuple[str, ...]]:
    """Return the commands of the trusted folder, then the user's commands, then skills, and warnings about unusable
    files. The first command with a name is used. Blocks."""
    found: dict[str, SlashCommand] = {}
    problems: list[str] = []
    taken = {*MISSING, *(word for each in COMMANDS for word in (each.name, *each.aliases))}
    places: list[tuple[Path, str, Path | None]] = []
    if isinstance(config.trust, Trusted):
        places.append((config.root / ".callgate" / FOLDER, "of this folder", config.root))
    if config.folder is not None:
        places.append((config.folder / FOLDER, "your own", None))
    for folder, kind, within in places:
        for name, path in _files(folder, problems):
            if name in taken:
                problems.append(f"{path}: /{name} is already a command of Callgate; rename the file")
            elif name not in found:
                try:
                    found[name] = _command(name, path, kind, within, problems)
                except (ToolFailure, FrontMatterFault) as fault:
                    problems.append(f"{path}: {fault}")
    for skill in skills_of(config).by_name.values():
        if skill.name not in taken:
            run = partial(_send, skill.name, skill.path, skill.folder.within, None)
            found.setdefault(skill.name, SlashCommand(skill.name, f"{skill.description} (skill)", run))
    return tuple(found.values()), tuple(problems)


def skills_of(config: Config) -> FoundSkills:
    trusted = isinstance(config.trust, Trusted)
    return find_skills(skill_folders(config.root, home=config.home, own=config.folder, project=trusted))


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


def _command(name: str, path: Path, kind: str, within: Path | None, problems: list[str]) -> SlashCommand:
    read = _read(path, within)
    values = read.values
    problems += [f"{path}: {key} has no effect here" for key in values if key not in _KEYS]
    effort = values.get("effort")
    if effort is not None and effort not in (*EFFORTS, "auto"):
        problems.append(f"{path}: effort must be one of {', '.join(EFFORTS)} or auto, not {effort!r:.40}")
        effort = None
    described = values.get("description") or next(iter(read.body.strip().splitlines()), "")
    about = " ".join(str(described).lstrip("# ").split())[:200] or "no description"
    run = partial(_send, name, path, within, effort)
    return SlashCommand(name, f"{about} ({kind})", run, arguments=str(values.get("argument-hint") or ""))


def _read(path: Path, within: Path | None) -> MarkdownFile:
    text = read_prompt_file(path, within)
    return read_markdown(text) if text.removeprefix("\ufeff").startswith("---") else MarkdownFile({}, text)


async def _send(
    name: str, path: Path, within: Path | None, effort: WantedEffort | None, terminal: Terminal, text: str
) -> None:
    """Send the text of a prompt file with the arguments inserted. Raise UsageError if the file cannot be used."""
    try:
        body = (await asyncio.to_thread(_read, path, within)).body.strip()
    except (ToolFailure, FrontMatterFault) as fault:
        raise UsageError(f"/{name} cannot be used: {path}: {fault}") from None
    if not body:
        raise UsageError(f"/{name} cannot be used: {path} has no text")
    options = None if effort is None else RunOptions(request=RequestOptions(effort=effort))
    terminal.post(Prompt(filled_in(body, text), options=options))
