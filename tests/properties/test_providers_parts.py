"""A provider's own parts survive: intake, record, restart and the next request give them back unchanged."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Prompt, Session, Store, tool
from callgate.testing import ScriptedModel, raw_call, say, think, turn
from callgate.words.messages import CallPart, Message, Opaque, Part, Text, Thinking
from tests.profiles import fewer

SECRETS = ("sk-ant-api03-" + "a1B2" * 20, "AKIAIOSFODNN7EXAMPLE", "ghp_" + "A1b2" * 9, "password=hunter2hunter2")
texts = st.one_of(st.text(max_size=12), st.sampled_from(SECRETS))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
owned = st.builds(
    Opaque, st.sampled_from(("anthropic", "openai", "gemini")), st.dictionaries(texts, values, max_size=4)
)
hidden = owned | st.builds(Opaque, st.just("gemini"), st.binary(max_size=40))
steps = st.lists(
    st.one_of(
        hidden,
        st.builds(lambda kept: raw_call("look", {}, kept=kept), st.none() | hidden),
        st.sampled_from((say("so"), think("hm", signature=SECRETS[0]), think("plain"))),
    ),
    min_size=1,
    max_size=6,
)


@tool(effects="none")
def look() -> str:
    """Look."""
    return "seen"


def expected(said: list[Any]) -> list[Part]:
    """The parts that the steps stand for; neighbours of one kind join."""
    parts: list[Part] = []
    for step in said:
        last = parts[-1] if parts else None
        if isinstance(step, Opaque):
            parts.append(step)
        elif hasattr(step, "name"):
            parts.append(CallPart("", step.name, {}, None, step.kept))
        elif step.kind == "text":
            parts[len(parts) - isinstance(last, Text) :] = [Text((last.text if isinstance(last, Text) else "") + "so")]
        else:
            joined = isinstance(last, Thinking)
            text = (last.text if isinstance(last, Thinking) else "") + step.text
            signature = step.signature or (last.signature if isinstance(last, Thinking) else None)
            parts[len(parts) - joined :] = [Thinking(text, signature)]
    return parts


def shown(message: Message) -> list[tuple[str, Any]]:
    """Its parts, in a form in which 1, 1.0 and True differ and so does the order of keys; ids are the model's own."""
    return [(type(part).__name__, repr(part)) for part in map(without_id, message.parts)]


def without_id(part: Part) -> Part:
    return CallPart("", part.name, {}, None, part.kept) if isinstance(part, CallPart) else part


@pytest.mark.spec("PRV-13")
@given(steps)
@fewer(25)
def test_a_providers_own_parts_come_back_byte_for_byte_in_their_place(said: list[Any]) -> None:
    wanted = shown(Message("", "assistant", tuple(expected(said))))

    async def main(folder: Path) -> None:
        store = Store(folder / "kept")
        model = ScriptedModel(turn(*said), otherwise=turn(say("done")))
        async with Session(model, [look], journal=await store.create(), host=folder) as session:
            await session.send(Prompt("go"))
            await session.send(Prompt("on"))
        again = ScriptedModel(otherwise=turn(say("done")))
        async with Session(again, [look], journal=await store.open(), host=folder) as session:
            await session.send(Prompt("and now"))
        for request in (*model.requests[1:], *again.requests):
            first = next(message for message in request.messages if message.role == "assistant")
            assert shown(first) == wanted

    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))


class ForeignModel(ScriptedModel):
    """A model of another package: its events are checked."""


@pytest.mark.spec("PRV-13")
def test_data_that_a_record_would_change_is_an_error_of_the_provider() -> None:
    wrong: list[Any] = [{"a": float("nan")}, {"a": object()}, {"a": b"nested"}, {1: "a"}, ["a"], "text", {"a": (1, 2)}]

    async def kept(data: Any) -> bool:
        async with Session(ForeignModel(turn(Opaque("x", data)))) as session:
            await session.send(Prompt("go"))
            return len(session.messages) > 1

    async def main() -> list[Any]:
        return [data for data in wrong if await kept(data)]

    assert asyncio.run(main()) == []
