"""Context that hooks add for the model."""

from pathlib import Path
from typing import Any

import pytest

from callgate import Answer, Prompt
from callgate.words.inputs import Interrupt
from tests.flows.gated import DONE, WRITES, Hook, hooked, session_of
from tests.flows.kit import Workspace, check_history, results


@pytest.mark.spec("EXE-24")
async def test_a_hook_at_the_end_knows_that_it_has_put_off_the_end_before(tmp_path: Path) -> None:
    told: list[bool] = []

    async def more(about: dict[str, Any]) -> dict[str, Any] | None:
        told.append(about["stop_hook_active"])
        return None if about["stop_hook_active"] else {"decision": "block", "reason": "run the tests"}

    session = session_of(Workspace(), hooked(tmp_path, "Stop"), {"Stop": more}, *[DONE] * 5)
    await session.send(Prompt("go"), until="idle")
    await session.aclose()
    assert told == [False, True]


@pytest.mark.spec("EXE-24")
async def test_what_a_hook_adds_reaches_the_model_whoever_allows_the_call(tmp_path: Path) -> None:
    async def before(_told: dict[str, Any]) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "mind the gap"}}

    async def allow(_told: dict[str, Any]) -> dict[str, Any]:
        return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}

    async def plainly(_told: dict[str, Any]) -> dict[str, Any]:
        return {"decision": "approve"}

    for answer in (allow, plainly):
        hooks: dict[str, Hook] = {"PreToolUse": before, "PermissionRequest": answer}
        space = Workspace()
        session = session_of(space, hooked(tmp_path, *hooks), hooks, WRITES, DONE)
        await session.send(Prompt("go"))
        if session.questions:
            session.post(Interrupt())
            await session.aclose()
            continue
        await session.aclose()
        assert space.done == ["write a.py"]
        assert "mind the gap" in results(session)[0]
        return
    raise AssertionError("no answer of the hook was understood")


@pytest.mark.spec("EXE-24")
async def test_what_a_hook_adds_survives_a_question_about_its_own_change(tmp_path: Path) -> None:
    async def before(_told: dict[str, Any]) -> dict[str, Any]:
        said = {"updatedInput": {"path": ".git/config"}, "additionalContext": "mind the gap"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}}

    space = Workspace()
    session = session_of(space, hooked(tmp_path, "PreToolUse"), {"PreToolUse": before}, WRITES, DONE)
    await session.send(Prompt("go"))
    (question,) = session.questions
    assert question.by == "hard safety"
    await session.send(Answer(question.yes()), until="idle")
    await session.aclose()
    check_history(session.messages)
    assert space.done == ["write .git/config"]
    assert "mind the gap" in results(session)[0]
