"""Closing a session while a hook runs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Continue, Prompt, Session
from callgate.assembly.settings import hooks_feature
from callgate.testing import ScriptedModel, settle
from callgate.words.inputs import Compact, Interrupt
from callgate.words.messages import Message
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, WRITES, Hook, KeptJournal, hooked, session_of, stuck
from tests.flows.kit import Workspace


async def test_a_session_that_is_closed_while_a_hook_looks_at_the_prompt_asks_the_model_nothing(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    space = Workspace()
    hooks: dict[str, Hook] = {"UserPromptSubmit": stuck(begun, let_go)}
    model = ScriptedModel(WRITES, DONE)
    config = hooked(tmp_path, *hooks)
    session = Session(
        model,
        space.toolbox(),
        host=virtual_host(),
        config=config,
        features=[hooks_feature(hooks)],
        journal=KeptJournal(),
    )
    session.post(Prompt("go"))
    await begun.wait()
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    let_go.set()
    done, _ = await asyncio.wait((closing,), timeout=1000)
    asked = len(model.requests)
    if not done:
        session.post(Interrupt())
        await closing
    assert done, "it closes without anybody's answer"
    assert asked == 0


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
async def test_an_interrupt_ends_the_wait_for_a_hook_of_the_session(event: str, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks = {event: stuck(begun, let_go)}
    session = session_of(Workspace(), hooked(tmp_path, event), hooks, DONE)
    session.post(Prompt("go"))
    await begun.wait()
    loop = asyncio.get_running_loop()
    before = loop.time()
    await session.send(Interrupt(), until="idle")
    waited = loop.time() - before
    let_go.set()
    await session.aclose()
    assert waited <= 10.0


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"])
async def test_a_stuck_hook_does_not_hold_up_the_end_for_long(event: str, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks = {event: stuck(begun, let_go)}
    session = session_of(Workspace(), hooked(tmp_path, event), hooks, DONE, summarize=lambda history, wish: "short")
    session.post(Prompt("go"))
    if event == "PreCompact":
        await session.send(Prompt("go on"), until="idle")
        session.post(Compact())
    if event == "SessionEnd":
        await settle()
    else:
        await begun.wait()
    loop = asyncio.get_running_loop()
    before = loop.time()
    await session.aclose()
    assert loop.time() - before <= 15.0


async def test_a_hook_that_hears_no_cancel_does_not_hold_up_the_end_for_ever(tmp_path: Path) -> None:
    let_go = asyncio.Event()

    async def deaf(_told: dict[str, Any]) -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    session = session_of(Workspace(), hooked(tmp_path, "SessionEnd"), {"SessionEnd": deaf}, DONE)
    await session.send(Prompt("go"))
    closing = asyncio.ensure_future(session.aclose())
    done, _ = await asyncio.wait((closing,), timeout=1000)
    let_go.set()
    await closing
    assert done


async def test_a_summary_is_not_begun_once_the_session_is_being_closed(tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"PreCompact": stuck(begun, let_go)}
    summed: list[int] = []

    def summarize(history: Sequence[Message], _wish: str) -> str:
        summed.append(len(history))
        return "short"

    session = session_of(Workspace(), hooked(tmp_path, *hooks), hooks, DONE, summarize=summarize)
    await session.send(Prompt("go"), until="idle")
    session.post(Compact())
    await begun.wait()
    closing = asyncio.ensure_future(session.aclose())
    await settle()
    let_go.set()
    await closing
    assert summed == []


@pytest.mark.parametrize("sent", [Prompt("one more"), Continue()], ids=["prompt", "continue"])
async def test_nothing_is_begun_while_the_last_hook_of_a_session_is_at_work(sent: Any, tmp_path: Path) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()
    hooks: dict[str, Hook] = {"SessionEnd": stuck(begun, let_go)}
    model = ScriptedModel(WRITES, DONE, DONE)
    config = hooked(tmp_path, *hooks)
    session = Session(
        model,
        Workspace().toolbox(),
        host=virtual_host(),
        config=config,
        features=[hooks_feature(hooks)],
        journal=KeptJournal(),
    )
    await session.send(Prompt("go"))
    before = len(model.requests)
    closing = asyncio.ensure_future(session.aclose())
    await begun.wait()
    session.post(sent)
    await settle()
    let_go.set()
    await closing
    await settle()
    assert len(model.requests) == before
    assert session.status == "closed"
