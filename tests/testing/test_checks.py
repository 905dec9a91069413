"""The checks find what they are made to find."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any, cast

import pytest

from callgate.assembly import DecisionGate
from callgate.conversation.record import MemoryJournal
from callgate.core.gate import CheckGate
from callgate.core.ports import Case, Target, Unknown
from callgate.host.clock import LoopClock
from callgate.policy.checks import standard_checks
from callgate.testing import (
    MemoryHost,
    PlainTool,
    PlainToolbox,
    ScriptedModel,
    check_clock,
    check_events,
    check_gate,
    check_host,
    check_journal,
    check_model,
    check_tool,
    check_toolbox,
    run_virtual,
)
from callgate.words.calls import Accepted, Rejected
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Choice
from callgate.words.events import Durable
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
)

START, END = MessageStarted("m"), MessageEnded("end")
CALL: list[Any] = [START, PartStarted(0, "tool_call", "a", "A"), PartEnded(0), MessageEnded("tool_calls")]


def broken(check: Coroutine[Any, Any, None], match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        run_virtual(check)


def test_a_clock_that_fires_at_once_is_found() -> None:
    class Hasty(LoopClock):
        def call_later(self, delay: float, callback: Any) -> Any:
            callback()
            return super().call_later(delay, callback)

    broken(check_clock(Hasty), "never calls the function directly")


def test_a_clock_that_cannot_cancel_is_found() -> None:
    class Stubborn(LoopClock):
        def call_later(self, delay: float, callback: Any) -> Any:
            super().call_later(delay, callback)
            return asyncio.get_running_loop().call_later(0, int)

    broken(check_clock(Stubborn), "cancelled timer does not fire")


def test_a_host_that_writes_half_of_a_change_is_found() -> None:
    class Sloppy(MemoryHost):
        async def apply(self, changes: ChangeSet) -> ChangeSet:
            first = ChangeSet(changes.label, changes.files[:1])
            if len(changes.files) > 1 and changes.label == "refused":
                await super().apply(first)
            return await super().apply(changes)

    broken(check_host(Sloppy), "changes nothing")


def test_a_host_with_several_spellings_is_found() -> None:
    class Literal(MemoryHost):
        def normal(self, path: str) -> str:
            return path if path.startswith("/") else f"/workspace/{path}".removesuffix("/.")

    broken(check_host(Literal), "normal form")


def test_a_host_that_raises_on_nonsense_is_found() -> None:
    class Strict(MemoryHost):
        def normal(self, path: str) -> str:
            if "\0" in path:
                raise ValueError("NUL")
            return super().normal(path)

    broken(check_host(Strict), "must not raise")


@pytest.mark.parametrize(
    ("events", "match"),
    [
        ([END], "MessageStarted comes first"),
        ([START, START], "MessageStarted comes once"),
        ([START, END, START], "no event follows MessageEnded"),
        ([START, TextDelta(0, "x")], "open text part"),
        ([START, PartStarted(0, "thinking"), TextDelta(0, "x")], "open text part"),
        ([START, PartStarted(0, "text"), PartEnded(0), TextDelta(0, "x")], "is closed"),
        ([START, PartStarted(0, "text"), PartEnded(0), PartEnded(0)], "ends once"),
        ([START, PartStarted(1, "text")], "without gaps"),
        ([START, PartStarted(0, "text"), END], "closed before a message ends"),
        ([START, PartStarted(0, "tool_call", "", "A")], "has an id and a name"),
        ([START, PartStarted(0, "tool_call", "a", "A"), PartStarted(1, "tool_call", "a", "A")], "used once"),
        ([START, PartStarted(0, "tool_call", "a", "A"), PartEnded(0), END], "ends with tool_calls"),
    ],
)
def test_a_stream_against_the_grammar_is_found(events: list[ModelEvent], match: str) -> None:
    with pytest.raises(AssertionError, match=match):
        check_events(events)


def test_a_stream_that_was_cut_off_keeps_the_grammar() -> None:
    check_events([])
    check_events([START, PartStarted(0, "tool_call", "a", "A")])
    check_events([START, PartStarted(0, "tool_call", "a", "A"), MessageEnded("max_tokens")])


def test_a_model_whose_stream_cannot_be_closed_is_found() -> None:
    class Endless:
        def __init__(self) -> None:
            self.events = iter((START, END))

        def __aiter__(self) -> AsyncIterator[ModelEvent]:
            return self

        async def __anext__(self) -> ModelEvent:
            for event in self.events:
                return event
            raise StopAsyncIteration

    class Model:
        name = "endless"
        abilities = Abilities()

        def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
            return Endless()

    broken(check_model(Model), "needs aclose")


MODELS: list[tuple[list[Any], str]] = [
    ([], "a stream yields MessageStarted, parts and MessageEnded, not nothing"),
    ([START, MessageEnded(cast(Any, "stop"))], "the stop reason is one of end, tool_calls, .* not 'stop'"),
    ([START, PartStarted(0, cast(Any, "function"), "a", "A")], "a part is text, .* not 'function'"),
    ([START, "hello"], "a stream yields model events .*, not str"),
    ([START, PartStarted(0, "text"), TextDelta(0, cast(Any, None))], "the text of TextDelta is a str, not None"),
    ([*CALL[:2], ArgumentsDelta(0, '{"a": '), *CALL[2:]], "the arguments of the call A are JSON, but '{\"a\": '"),
    ([*CALL[:2], ArgumentsDelta(0, "[1]"), *CALL[2:]], "are a JSON object, not '\\[1\\]'"),
]


def test_a_model_that_breaks_a_promise_is_found_in_words() -> None:
    class Fixed(ScriptedModel):
        events: list[Any]

        async def stream(self, request: Request) -> AsyncIterator[Any]:
            for event in self.events:
                yield event

    for events, match in MODELS:
        Fixed.events = events
        broken(check_model(Fixed), match)
    Fixed.events = CALL
    asyncio.run(check_model(Fixed))


def test_a_stream_that_has_to_be_awaited_is_found() -> None:
    class Awaited(ScriptedModel):
        async def stream(self, request: Request) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
            return ()

    broken(check_model(cast(Any, Awaited)), "write it as an async generator")


def test_a_tool_that_raises_on_garbage_is_found() -> None:
    class Fragile(PlainTool):
        def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
            return super().read(raw) if raw else Accepted({}["missing"])

    broken(check_tool(Fragile("A"), {"a": 1}), "must not raise")


def test_a_tool_that_refuses_its_example_is_found() -> None:
    class Refusing(PlainTool):
        def read(self, raw: str | Mapping[str, Any]) -> Accepted | Rejected:
            return Rejected(("$: no",))

    broken(check_tool(Refusing("A"), {}), "accepts its example")


def test_a_toolbox_with_one_name_twice_or_too_much_advice_is_found() -> None:
    class Talkative(PlainToolbox):
        def resolve(self, name: str, raw: str | Mapping[str, Any]) -> Target | Unknown:
            found = super().resolve(name, raw)
            return Unknown(name, ("a", "b", "c", "d")) if isinstance(found, Unknown) else found

    broken(check_toolbox(lambda: PlainToolbox(PlainTool("A"), PlainTool("A"))), "different names")
    broken(check_toolbox(lambda: Talkative(PlainTool("A"))), "at most three")


def test_a_gate_that_raises_is_found() -> None:
    class Broken(DecisionGate):
        def judge(self, case: Case) -> Allow:
            if case.mode == "plan":
                raise KeyError(case.mode)
            return Allow("me")

    broken(check_gate(Broken), "judge.. must not raise")
    wide = (Choice("everything"),)
    broken(
        check_gate(lambda: CheckGate(standard_checks(), choices=lambda case: wide)),
        "narrowest choice is exactly these arguments",
    )


def test_a_journal_that_forgets_is_found() -> None:
    class Forgetful(MemoryJournal):
        def append(self, event: Durable) -> None:
            if event not in self.events:
                super().append(event)

    broken(check_journal(Forgetful), "equal events apart")
