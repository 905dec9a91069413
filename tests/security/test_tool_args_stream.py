"""The rows of the argument corpus that are about streams and envelopes: they go through intake and the executor."""

import json
from typing import Any

import pytest

from callgate.assembly import DecisionGate, Executor
from callgate.conversation.intake import Intake, Refused
from callgate.conversation.ledger import Ledger
from callgate.conversation.record import MemoryJournal, Record
from callgate.core.ports import Check
from callgate.testing import MemoryHost, run_virtual
from callgate.tools.tool import schema_tool
from callgate.tools.toolbox import Toolbox
from callgate.words.calls import ToolCall
from callgate.words.decisions import Allow
from callgate.words.model import ArgumentsDelta, MessageEnded, PartEnded, PartStarted
from tests.rows import rows
from tests.security.test_tool_args import ROWS, SCHEMAS

OPEN = DecisionGate([Check("all", lambda case: Allow("test"))])

STREAM = [row for row in ROWS if row["class"] == "stream"]
ENVELOPES = [row for row in ROWS if row["class"] == "envelope"]
ran: list[str] = []


def toolbox() -> Toolbox:
    def echo(arguments: dict[str, Any]) -> str:
        ran.append(json.dumps(arguments))
        return "ran"

    return Toolbox(*(schema_tool(name, "A tool.", schema, echo, effects="none") for name, schema in SCHEMAS.items()))


async def outcomes(calls: list[tuple[str, str, list[str]]]) -> list[ToolCall]:
    """The settled calls of one message, in order."""
    ledger = Ledger()
    executor = Executor(toolbox(), OPEN, host=MemoryHost(), record=Record(MemoryJournal(), ledger))
    intake = Intake("m", ledger)
    for index, (call_id, name, chunks) in enumerate(calls):
        events = [PartStarted(index, "tool_call", call_id, name)]
        for event in [*events, *(ArgumentsDelta(index, chunk) for chunk in chunks), PartEnded(index)]:
            seen = intake.feed(event)
            if isinstance(seen, ToolCall):
                executor.add(seen)
            elif isinstance(seen, Refused):
                executor.add(seen.call, refused=seen.result)
    intake.feed(MessageEnded("tool_calls"))
    async with executor:
        executor.close("tool_calls")
        await executor.stalled()
        return list(executor.calls())


def verdict(calls: list[ToolCall]) -> str:
    if any(call.status != "success" for call in calls):
        return "rejected"
    return "repaired" if any(call.repairs for call in calls) else "accepted"


@pytest.mark.spec("TOOL-7")
@rows("row", STREAM, ids=lambda row: row["id"])
def test_arguments_in_pieces(row: dict[str, Any]) -> None:
    calls = run_virtual(outcomes([("t1", row["tool"], row["raw_chunks"])]))
    assert len(calls) == 1
    assert calls[0].result is not None
    assert verdict(calls) in row["accept"]


@pytest.mark.spec("TOOL-7", "EXE-9")
@rows("row", ENVELOPES, ids=lambda row: row["id"])
def test_calls_as_they_are_wrapped(row: dict[str, Any]) -> None:
    wrapped = row["envelope"] if isinstance(row["envelope"], list) else [row["envelope"]]
    parts = []
    for envelope in wrapped:
        arguments = envelope.get("arguments", "")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        parts.append((envelope.get("id", ""), envelope.get("name", ""), [text]))
    ran.clear()
    calls = run_virtual(outcomes(parts))
    assert len({call.id for call in calls}) == len(wrapped)
    assert all(call.result is not None for call in calls)
    assert verdict(calls) in row["accept"]
    if verdict(calls) == "rejected":
        assert len(ran) < len(wrapped), "what is rejected does not run"


def test_no_row_is_forgotten() -> None:
    assert STREAM
    assert ENVELOPES
    assert all("raw_chunks" in row for row in STREAM)
