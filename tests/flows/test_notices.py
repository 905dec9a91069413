"""Notices that matter: each arises as an event of a real session, and the terminal shows it."""

from pathlib import Path
from typing import Any

import pytest

from callgate import ModelSetup, Prompt, Session
from callgate.config import load_config
from callgate.testing import ScriptedModel, fail, say, turn
from callgate.testing.script import stop
from callgate.tui.blocks import NoticeBlock
from callgate.tui.fold import ConversationFold
from callgate.words.errors import ModelError
from callgate.words.events import Event
from callgate.words.inputs import Compact
from callgate.words.messages import Usage
from callgate.words.model import Abilities
from tests.core.kit import virtual_host
from tests.flows.gated import DONE, hooked, session_of
from tests.flows.kit import Workspace
from tests.sessions import with_event
from tests.virtual import passes

BUSY = ModelError("the server is overloaded", kind="overloaded", retryable=True)


async def notices(session: Session, *inputs: Any) -> list[str]:
    """The texts of the notices that the terminal shows while these inputs are worked on."""
    events: list[Event] = []
    session.listen(with_event(events.append))
    for sent in inputs or (Prompt("go"),):
        await session.send(sent, until="idle")
    await session.aclose()
    fold = ConversationFold()
    fold.apply_all(events)
    return [block.text for block in fold.blocks if isinstance(block, NoticeBlock)]


async def test_a_retry_is_told_with_its_reason() -> None:
    model = ScriptedModel(turn(fail(BUSY)), DONE)
    (text,) = await notices(Session(model, host=virtual_host()))
    assert text.startswith("the server is overloaded: retrying")


async def test_the_fallback_is_told_by_name() -> None:
    model = ScriptedModel(*[turn(fail(BUSY))] * 3, name="large")
    told = await notices(
        Session(ModelSetup(model, fallback=ScriptedModel(DONE, name="other/small")), host=virtual_host())
    )
    assert "retrying from other/small" in told[-1]


async def test_a_compaction_is_told_with_its_size() -> None:
    model = ScriptedModel(DONE, turn(say("A summary.")))
    (text,) = await notices(Session(model, host=virtual_host()), Prompt("go"), Compact())
    assert text.startswith("The conversation was compacted: a summary replaces 2 messages, ")


async def test_a_context_that_is_nearly_full_is_told_once() -> None:
    large = turn(say("ok"), stop("end", Usage(input=165_000, output=10)))
    model = ScriptedModel(large, large, large, abilities=Abilities(context_tokens=200_000))
    session = Session(model, host=virtual_host())
    (text,) = await notices(session, *map(Prompt, ("one", "two", "three")))
    assert text.startswith("the context is nearly full: about 165,0")
    assert "of 180,000 tokens; automatic compaction at 167,000" in text


async def test_trust_that_is_needed_is_told_with_the_command(tmp_path: Path) -> None:
    (tmp_path / ".callgate").mkdir()
    (tmp_path / ".callgate" / "settings.toml").write_text("[[hooks.Stop]]\ncommand = 'true'\n")
    config = load_config(tmp_path, environ={"HOME": str(tmp_path.parent)}, managed=tmp_path / "none")
    session = Session(ScriptedModel(DONE), config=config)
    assert [note.rpartition("settings.toml:1: ")[2] for note in await notices(session)] == [
        "hooks are not run until you trust this folder: see callgate trust show"
    ]


@pytest.mark.spec("TUI-6")
async def test_a_slow_hook_is_told_with_its_time(tmp_path: Path) -> None:
    async def slow(_told: dict[str, Any]) -> None:
        await passes(0.7)

    session = session_of(Workspace(), hooked(tmp_path, "Stop"), {"Stop": slow}, DONE)
    assert await notices(session) == ["hook Stop Stop took 0.7 s"]
