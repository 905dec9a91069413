"""A trait that fails for the arguments a model chose must not open the gate."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Prompt, Session, tool
from callgate.testing import ScriptedModel, call, say, turn

FAILING: dict[str, dict[str, Any]] = {
    "timeout": {"timeout": lambda a: int(a.secs)},
    "effects": {"effects": lambda a: {"1": "none"}[a.secs]},
    "locks": {"locks": lambda a: 1 / 0},
    "needs_no_question": {"needs_no_question": lambda a: int(a.secs) > 0},
    "requires_interaction": {"requires_interaction": lambda a: int(a.secs) > 0},
    "another part": {"reads": lambda a: a.nothing},
    "the command": {"command": lambda a: a.line[int(a.secs)]},
}


@pytest.mark.spec("EXE-28")
@pytest.mark.parametrize("options", FAILING.values(), ids=FAILING)
@pytest.mark.parametrize("line", ["rm -rf ~/.ssh", "echo x >> .envrc"])
async def test_a_call_with_a_failing_trait_is_still_judged_by_its_subject(
    options: dict[str, Any], line: str, tmp_path: Path
) -> None:
    ran: list[str] = []
    traits: Any = {"command": "line", **options}

    @tool(**traits)
    def terminal(line: str, secs: str) -> None:
        """Run a command."""
        ran.append(line)

    model = ScriptedModel(turn(call("terminal", line=line, secs="x")), turn(say("done")))
    async with Session(model, [terminal], host=tmp_path, mode="bypass") as session:
        await session.send(Prompt("go"))
        assert len(session.questions) == 1
    assert not ran


@pytest.mark.spec("EXE-28")
async def test_a_failing_timeout_leaves_the_other_traits_as_they_are() -> None:
    @tool(command="line", effects="none", timeout=lambda a: int(a.line), max_timeout=9, cascade=True)
    def terminal(line: str) -> None:
        """Run a command."""

    traits = terminal.traits({"line": "ls"})
    assert (traits.declared.command, traits.effects, traits.timeout, traits.cascade) == ("ls", "none", 9, True)
    assert "timeout failed" in traits.failed
    assert not terminal.traits({"line": "5"}).failed
