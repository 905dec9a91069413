"""Finds and parses skills: instructions for a kind of task, each in a folder with a SKILL.md.

    .callgate/skills/release/SKILL.md

The front matter has ``name`` (the name of the folder) and ``description``; the text after it is sent to the model when
the skill is used. Names and descriptions are read once. The text is read at each use, so changes of it take effect at
once.
"""

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path

from callgate.host.files import NotRegular, read_regular
from callgate.policy.protected import is_beneath
from callgate.tools.front_matter import FrontMatterFault, MarkdownFile, read_markdown
from callgate.words.errors import ToolFailure
from callgate.words.late_pattern import late_pattern
from callgate.words.noun import noun

SKILL = "Skill"
"""The tool by which a model uses skills."""
FILE = "SKILL.md"
LARGEST = 100_000
MOST_SKILLS = 500
LONGEST_DESCRIPTION = 1_024
_NAME = late_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME = 64
_PLACES = (".callgate/skills", ".agents/skills", ".claude/skills")
_FILLED = late_pattern(r"\$(ARGUMENTS\b|[1-9](?![0-9]))")
_LISTED_CHARS = 12_000
_SHORT = 300

AnyPath = str | PathLike[str]


@noun
class SkillFolder:
    """A folder of skills. Files outside of the folder ``within`` are not read, even through links."""

    path: Path
    within: Path | None = None


@noun
class FoundSkill:
    name: str
    description: str
    path: Path
    folder: SkillFolder
    hidden: bool = False
    """The model cannot see or use it."""


@noun
class FoundSkills:
    """The skills by name. ``problems`` describe invalid skills, with file and line."""

    by_name: Mapping[str, FoundSkill]
    problems: tuple[str, ...] = ()


def skill_folders(
    root: AnyPath, *, home: AnyPath | None = None, own: AnyPath | None = None, project: bool = True
) -> tuple[SkillFolder, ...]:
    """Return the folders to search for skills. Of two skills with one name, the first is used.

    root     the workspace; ``project=False`` omits its skills, as for an untrusted repository
    own      the folder of the user's settings, ``config.folder``; its ``skills`` precede the folders in the home
    home     the user's home, with skills for other programs
    """
    base = Path(fspath(root))
    found = [SkillFolder(base / place, base) for place in _PLACES] if project else []
    if own is not None:
        found.append(SkillFolder(Path(fspath(own)) / "skills"))
    if home is not None:
        found += [SkillFolder(Path(fspath(home)) / place) for place in _PLACES]
    return tuple(found)


def find_skills(folders: Iterable[SkillFolder]) -> FoundSkills:
    """Return the skills in all folders. Blocks."""
    found: dict[str, FoundSkill] = {}
    problems: list[str] = []
    for folder in folders:
        for path in _files(folder, problems):
            try:
                skill = _described(path, folder)
            except (ToolFailure, FrontMatterFault) as fault:
                problems.append(f"{path}: {fault}")
            else:
                found.setdefault(skill.name, skill)
    return FoundSkills(found, tuple(problems))


def _files(folder: SkillFolder, problems: list[str]) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(folder.path))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        problems.append(f"{folder.path}: this folder of skills cannot be read: {error.strerror or error}")
        return
    if len(names) > MOST_SKILLS:
        problems.append(f"{folder.path}: only the first {MOST_SKILLS} of {len(names)} entries are read")
    for name in names[:MOST_SKILLS]:
        path = folder.path / name / FILE
        if not name.startswith(".") and os.path.lexists(path):
            yield path


def _described(path: Path, folder: SkillFolder) -> FoundSkill:
    values = _read(path, folder).values
    name, described = values.get("name", path.parent.name), values.get("description", "")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise ToolFailure(
            f"name must consist of lowercase letters, digits and single hyphens, at most {_LONGEST_NAME}: {name!r:.80}"
        )
    if name != path.parent.name:
        raise ToolFailure(f"name is {name!r}, but its folder is {path.parent.name!r}: both must have the same name")
    if not isinstance(described, str) or not described.strip() or len(described) > LONGEST_DESCRIPTION:
        raise ToolFailure(f"description must be a text of 1 to {LONGEST_DESCRIPTION:,} characters")
    hidden = values.get("disable-model-invocation", False)
    if not isinstance(hidden, bool):
        raise ToolFailure("disable-model-invocation must be true or false")
    return FoundSkill(name, " ".join(described.split()), path, folder, hidden)


def _read(path: Path, folder: SkillFolder) -> MarkdownFile:
    return read_markdown(read_prompt_file(path, folder.within))


def read_prompt_file(path: Path, within: Path | None) -> str:
    """Return the text of a file of at most ``LARGEST`` bytes. Raise ToolFailure if the file cannot be read, or if it is
    a link to a file outside of the folder ``within``."""
    try:
        real = os.path.realpath(path, strict=True)
        if within is not None and not is_beneath(real, os.path.realpath(within)):
            raise ToolFailure(f"it is a link to a place outside of {within}, so it is ignored")
        found = read_regular(real, LARGEST, follow=False)
    except NotRegular:
        raise ToolFailure("it is not a regular file") from None
    except OSError as error:
        raise ToolFailure(f"it cannot be read: {error.strerror or error}") from error
    if found.is_cut:
        raise ToolFailure(f"it has more than {LARGEST:,} bytes: move parts into other files of the folder")
    try:
        return found.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolFailure(f"it is not UTF-8 (byte {error.start})") from error


def body_of(skill: FoundSkill, arguments: str = "") -> str:
    """Return the current text of a skill with the arguments inserted. Blocks. Raise ToolFailure if the skill cannot be
    used."""
    try:
        now = _described(skill.path, skill.folder)
        body = _read(skill.path, skill.folder).body
    except (ToolFailure, FrontMatterFault) as fault:
        raise ToolFailure(f"The skill {skill.name} cannot be used: {skill.path}: {fault}") from fault
    if now.hidden:
        raise ToolFailure(f"The skill {skill.name} can only be used by the user, not by the model.")
    return filled_in(body, arguments)


def filled_in(body: str, arguments: str) -> str:
    """Return the text with ``$ARGUMENTS`` replaced by all arguments and ``$1`` to ``$9`` by single arguments. If the
    text has none of these placeholders, the arguments are appended. Inserted arguments are not expanded again."""
    if not _FILLED.search(body):
        return f"{body}\n\nArguments: {arguments}" if arguments.strip() else body
    single = _words(arguments)

    def value(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return arguments
        at = int(match[1]) - 1
        return single[at] if at < len(single) else ""

    return _FILLED.sub(value, body)


def _words(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:  # an open quote
        return text.split()


def described(prompt: str, found: FoundSkills) -> str:
    return f"{prompt}\n\n{listing(found.by_name.values()) or 'There are no skills.'}"


def listing(skills: Iterable[FoundSkill]) -> str:
    """Return the names and descriptions of the skills for the model. A description that exceeds the size limit is
    omitted; when a name exceeds the limit, the list ends with the number of remaining skills."""
    shown = sorted((each for each in skills if not each.hidden), key=lambda each: each.name)
    lines: list[str] = []
    room = _LISTED_CHARS
    for at, each in enumerate(shown):
        text = each.description if len(each.description) <= _SHORT else f"{each.description[: _SHORT - 1]}…"
        line = f"- {each.name}: {text}"
        if len(line) > room:
            line = f"- {each.name}"
        if len(line) > room:
            lines.append(f"and {len(shown) - at} more")
            break
        lines.append(line)
        room -= len(line) + 1
    return "\n".join(lines)
