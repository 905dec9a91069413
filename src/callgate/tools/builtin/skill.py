"""The tool Skill: loads the instructions of a SKILL.md by name. ``tools/skills`` finds and parses the files."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints

from callgate.tools.builtin import builtin_tool, prompt_text
from callgate.tools.skills import LARGEST, FoundSkills, SkillFolder, body_of, described, find_skills, skill_folders
from callgate.tools.tool import FunctionTool
from callgate.words.calls import Result
from callgate.words.errors import ToolFailure
from callgate.words.messages import Text
from callgate.words.traits import shared


def skill(folders: Iterable[SkillFolder] | None = None) -> FunctionTool[Any]:
    """Make the tool ``Skill`` with the current skills in the folders. Blocks.

    folders  the result of ``skill_folders``; by default only the folders in the home, because a project may be
             untrusted
    """
    if folders is None:
        folders = skill_folders(os.curdir, home=Path.home(), project=False)
    found = find_skills(folders)

    def skill(
        skill: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)],
        args: Annotated[str, StringConstraints(max_length=10_000)] = "",
    ) -> Result:
        """Load.

        Args:
            skill: the name of the skill
            args: what the skill is to work on
        """
        meant = found.by_name.get(skill)
        if meant is None:
            raise ToolFailure(_unknown(skill, found))
        text = body_of(meant, args)
        return Result((Text(f"Skill {meant.name}, folder {meant.path.parent}\n\n{text}"),))

    return builtin_tool(
        skill,
        description=described(prompt_text("Skill"), found),
        title="Use a skill",
        icon="read",
        label="skill",
        effects="none",
        locks=shared,
        max_result_chars=LARGEST + 20_000,
    )


def _unknown(name: str, found: FoundSkills) -> str:
    names = sorted(each.name for each in found.by_name.values() if not each.hidden)
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    broken = [problem for problem in found.problems if f"{os.sep}{name}{os.sep}" in problem]
    if broken:
        return f"The skill {name} cannot be used: {broken[0]}"
    hint = f"Did you mean {', '.join(close)}?" if close else "The description of this tool lists the skills."
    return f"There is no skill {name!r:.80}{f'. {hint}' if names else ', and no other skill.'}"
