"""Results of one message together: the largest go to artifacts, and what was cut stays cut."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Nesting, Prompt, Session, SessionLimits
from callgate.conversation.record import MemoryJournal
from callgate.core.ports import Run
from callgate.core.sizes import bounded_together, encodable, size_of
from callgate.testing import MemoryHost, PlainTool, ScriptedModel, call, say, turn
from callgate.words.calls import Result
from callgate.words.limits import ExecutorSettings
from callgate.words.messages import Image, Message, ResultPart, Text
from callgate.words.model import Abilities
from callgate.words.traits import Traits, shared


def text_of(part: ResultPart) -> str:
    return "".join(each.text for each in part.content if isinstance(each, Text))


@pytest.mark.spec("CMP-7")
@given(st.lists(st.integers(0, 5_000), max_size=12), st.integers(0, 30_000))
def test_the_largest_are_cut_to_one_length_and_the_whole_is_kept(sizes: list[int], limit: int) -> None:
    host = MemoryHost()
    given_results = [("Look", f"c{n}", Result((Text(chr(97 + n) * size),))) for n, size in enumerate(sizes)]
    bounded = asyncio.run(bounded_together(given_results, limit, host))
    assert [each[:2] for each in bounded] == [each[:2] for each in given_results]
    cut = [n for n, each in enumerate(bounded) if each[2] is not given_results[n][2]]
    if sum(sizes) <= limit:
        assert not cut
        return
    whole = max((sizes[n] for n in range(len(sizes)) if n not in cut), default=0)
    assert all(sizes[n] > whole - 1 for n in cut), "smaller results are left alone"
    assert sum(size_of(result) for _, _, result in bounded) <= max(limit, 300 * len(sizes))
    assert all(size_of(bounded[n][2]) < sizes[n] for n in cut)
    for n in cut:
        (artifact,) = bounded[n][2].artifacts
        assert artifact.path in bounded[n][2].text
        assert artifact.size == sizes[n]


async def many(arguments: Mapping[str, Any], run: Run) -> str:
    return str(arguments["letter"]) * int(arguments["size"])


LOOK = PlainTool("Look", many, traits=Traits("none", shared))
CALLS = turn(
    call("Look", letter="a", size=500), call("Look", letter="b", size=4_000), call("Look", letter="c", size=20)
)


@pytest.mark.spec("CMP-7")
async def test_it_is_decided_once_and_every_later_request_has_the_same_bytes() -> None:
    journal, settings = MemoryJournal(), ExecutorSettings(max_message_chars=2_000)
    model = ScriptedModel(CALLS, turn(say("well")), turn(say("good")), turn(say("again")))
    host = MemoryHost()
    async with Session(model, [LOOK], host=host, journal=journal, limits=SessionLimits(calls=settings)) as session:
        await session.send(Prompt("go"))
        await session.send(Prompt("on"))
    async with Session(model, [LOOK], host=host, journal=journal) as again:  # without that limit
        await again.send(Prompt("and on"))
    told: list[Message] = [
        message for request in model.requests for message in request.messages if message.role == "tool"
    ]
    assert len(told) == 3
    assert told[0] == told[1] == told[2]
    parts = [part for part in told[0].parts if isinstance(part, ResultPart)]
    assert text_of(parts[0]) == "a" * 500
    assert text_of(parts[2]) == "c" * 20
    cut = text_of(parts[1])
    assert len(cut) < 1_500
    assert cut.startswith("bbb")
    assert cut.endswith("bbb")
    assert "the full text is in" in cut


@pytest.mark.spec("CMP-7")
async def test_a_nested_session_is_bounded_too() -> None:
    inner: list[ScriptedModel] = []

    async def delegate(arguments: Mapping[str, Any], run: Run) -> str:
        model = ScriptedModel(CALLS, turn(say("done")))
        inner.append(model)
        settings = ExecutorSettings(max_message_chars=2_000)
        async with Session(model, [LOOK], nesting=Nesting(parent=outer), limits=SessionLimits(calls=settings)) as child:
            await child.send(Prompt("go"))
        return "done"

    model = ScriptedModel(turn(call("Delegate")), turn(say("well")))
    tools = [PlainTool("Delegate", delegate, traits=Traits("none", shared))]
    async with Session(model, tools, host=MemoryHost()) as outer:
        await outer.send(Prompt("go"))
    results = [part for part in inner[0].requests[1].messages[-1].parts if isinstance(part, ResultPart)]
    assert sum(len(text_of(part)) for part in results) <= 2_000


@pytest.mark.spec("CMP-7")
async def test_in_a_small_window_results_have_less_room() -> None:
    model = ScriptedModel(CALLS, turn(say("well")), abilities=Abilities(context_tokens=4_000))
    async with Session(model, [LOOK], host=MemoryHost()) as session:
        await session.send(Prompt("go"))
        results = [part for message in session.messages for part in message.parts if isinstance(part, ResultPart)]
    assert 1_000 < sum(len(text_of(part)) for part in results) <= 2_000
    bound = ExecutorSettings().message_chars
    assert [bound(size) for size in (None, 8_000, 64_000, 200_000, 1_000_000)] == [
        200_000,
        4_000,
        64_000,
        *[200_000] * 2,
    ]


def test_half_characters_are_escaped_and_whole_ones_stay() -> None:
    broken = Result((Text("a\ud800b \udcff é 😀"), Image("image/png", b"x")), details={"n": 1})
    mended = encodable(broken)
    assert mended.text == "a\\ud800b \\udcff é 😀"
    mended.text.encode()
    assert mended.details == broken.details
    whole = Result((Text("é 😀"),))
    assert encodable(whole) is whole
