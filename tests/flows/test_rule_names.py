"""Rules whose names are close to the name of a tool of the session are reported at its start."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Session, load_config, tool
from callgate.testing import ScriptedModel

NAMES: list[tuple[str, str | None]] = [
    ("depoly", "deploy"),
    ("Deploy", "deploy"),
    ("deploy_", "deploy"),
    ("deplyo(prod)", "deploy"),
    ("look_p", "look_up"),
    ("LookUp", "look_up"),
    ("lookup", "look_up"),
    ("deploy", None),
    ("look_up(x)", None),
    ("Bash(ls:*)", None),
    ("unrelated", None),
    ("mcp__hub__deploy", None),
]


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
async def test_a_misspelt_name_of_a_tool_of_the_session_is_reported_at_its_start(effect: str, tmp_path: Path) -> None:
    @tool(effects="none")
    def deploy(target: str) -> str:
        """Deploy."""
        return target

    @tool(effects="none")
    def look_up(word: str) -> str:
        """Look a word up."""
        return word

    wrong: list[str] = []
    for rule, meant in NAMES:
        rules: Any = {effect: [rule]}
        config = load_config(tmp_path, home=tmp_path, **rules)
        async with Session(ScriptedModel(), [deploy, look_up], config=config) as session:
            found = [note for note in session.controls.notes if rule in note]
        if (meant is None) is not (found == []) or not all(f"did you mean {meant}?" in note for note in found):
            wrong.append(f"{rule}: {found}")
    assert not wrong, "\n".join(wrong)
