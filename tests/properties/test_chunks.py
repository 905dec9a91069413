"""However the same text is cut into deltas, the same message and the same calls come out."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Session
from callgate.assembly import DecisionGate
from callgate.core.ports import Case, Check, Verdict
from callgate.testing import MemoryHost, PlainTool, PlainToolbox, run_virtual
from callgate.words.decisions import Allow
from callgate.words.inputs import Prompt
from callgate.words.messages import Message
from callgate.words.model import (
    Abilities,
    ArgumentsDelta,
    MessageEnded,
    MessageStarted,
    ModelEvent,
    PartEnded,
    PartStarted,
    Request,
    TextDelta,
    ThinkingDelta,
)
from tests.properties.stage import VirtualClock

Written = tuple[str, str]
"""A part's kind and its text."""

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=4,
)
arguments = st.dictionaries(st.text(max_size=4), json_values, max_size=3).map(json.dumps)
parts = st.lists(
    st.one_of(
        st.tuples(st.just("text"), st.text(min_size=1, max_size=20)),
        st.tuples(st.just("thinking"), st.text(min_size=1, max_size=20)),
        st.tuples(st.just("tool_call"), st.one_of(arguments, arguments, st.text(max_size=10))),
    ),
    max_size=5,
)


class Recital:
    """A model that streams these parts once, and then says that it is done."""

    name = "recital"
    abilities = Abilities()

    def __init__(self, written: list[Written], cuts: list[list[int]], stop: str) -> None:
        self._turns = [list(streamed(written, cuts, stop)), list(streamed([("text", "Done.")], [[]], "end"))]

    def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        return recite(self._turns.pop(0))


async def recite(events: list[ModelEvent]) -> AsyncIterator[ModelEvent]:
    for event in events:
        await asyncio.sleep(0)
        yield event


def streamed(written: list[Written], cuts: list[list[int]], stop: str) -> list[ModelEvent]:
    delta: dict[str, Any] = {"text": TextDelta, "thinking": ThinkingDelta, "tool_call": ArgumentsDelta}
    events: list[ModelEvent] = [MessageStarted("m1", "recital")]
    for index, ((kind, text), cut) in enumerate(zip(written, cuts, strict=True)):
        events.append(PartStarted(index, kind, f"call_{index}", "Echo"))  # pyright: ignore[reportArgumentType]
        events += [delta[kind](index, piece) for piece in pieces(text, cut)]
        events.append(PartEnded(index))
    return [*events, MessageEnded(stop)]  # pyright: ignore[reportArgumentType]


def pieces(text: str, cut: list[int]) -> list[str]:
    """Cut at these places; empty pieces come too."""
    at = sorted(min(place, len(text)) for place in cut)
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


def _allow(_case: Case) -> Verdict:
    return Allow("all")


async def said(model: Recital) -> tuple[tuple[Message, ...], list[Any]]:
    ran: list[Any] = []
    tool = PlainTool("Echo", lambda arguments, _run: ran.append(dict(arguments)) or "echo")
    host = MemoryHost(clock=VirtualClock())
    async with Session(model, PlainToolbox(tool), gate=DecisionGate([Check("all", _allow)]), host=host) as session:
        await session.send(Prompt("Go."))
        return session.messages, ran


@pytest.mark.spec("TRN-1")
@given(parts, st.data(), st.sampled_from(("tool_calls", "end", "max_tokens")))
def test_any_split_of_the_same_text_gives_the_same_message_and_calls(
    written: list[Written], data: st.DataObject, stop: str
) -> None:
    cuts = [data.draw(st.lists(st.integers(0, len(text)), max_size=6)) for _, text in written]
    assert run_virtual(said(Recital(written, cuts, stop))) == run_virtual(
        said(Recital(written, [[]] * len(written), stop))
    )
