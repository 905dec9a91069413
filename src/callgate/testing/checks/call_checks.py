"""Conformance checks of Tool, ToolSource, Gate and Journal."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from callgate.conversation.ports import Journal
from callgate.core.ports import Case, Gate, Run, Target, Tool, ToolSource, Unknown
from callgate.testing.checks import promise, promise_kind, quietly
from callgate.testing.plain import PlainTool
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet
from callgate.words.decisions import Allow, Ask, Deny, Pattern, arguments_hash
from callgate.words.events import Durable, MessageAdded, Noted
from callgate.words.messages import Message, Text
from callgate.words.modes import MODES, Mode
from callgate.words.traits import Effects, Traits
from callgate.words.turns import Rewound

T = TypeVar("T")

GARBAGE = ("", " ", "{", "[]", "null", "1", '{"a":', "{} {}", "\0", "\ud800", "[" * 50_000, '{"a":NaN}', "```\n{}")
"""Arguments that models really write."""


async def check_tool(tool: Tool, example: Mapping[str, Any], run: Run | None = None) -> None:
    """Check that a tool meets the requirements of Tool.

    example  arguments that the tool accepts
    run      if given, the tool is also executed with ``example``
    """
    name = tool.spec.name
    promise(name and name == name.strip(), "a tool has a name")
    promise(isinstance(json.loads(json.dumps(tool.spec.parameters)), dict), f"{name}: parameters are JSON Schema")
    promise(name not in tool.aliases, f"{name}: aliases are other names")
    accepted = _accepted(tool, example)
    from_text = _accepted(tool, json.dumps(example))
    promise(accepted == from_text, f"{name}: an object and its JSON text give the same arguments")
    promise(_accepted(tool, accepted) == accepted, f"{name}: reading the arguments again does not change them")
    for raw in GARBAGE:
        answer = quietly(lambda raw=raw: tool.read(raw), f"{name}: read({raw[:20]!r}) must not raise")
        promise_kind(answer, Accepted, Rejected, text=f"{name}: read() gives Accepted or Rejected")
        promise(not isinstance(answer, Rejected) or answer.errors, f"{name}: a rejection says why")
    traits = tool.traits(accepted)
    promise_kind(traits, Traits, text=f"{name}: traits() gives Traits")
    promise(not traits.failed, f"{name}: its traits can be evaluated: {traits.failed}")
    promise(traits.timeout is None or traits.timeout > 0, f"{name}: a timeout is positive")
    if run is not None:
        before = json.dumps(accepted, sort_keys=True)
        if tool.previews:
            promise_kind(await tool.preview(accepted, run), ChangeSet, text=f"{name}: preview() gives a ChangeSet")
        promise_kind(await tool.run(accepted, run), Result, text=f"{name}: run() gives a Result")
        promise(json.dumps(accepted, sort_keys=True) == before, f"{name}: the arguments on record are not changed")


def _accepted(tool: Tool, raw: str | Mapping[str, Any]) -> dict[str, Any]:
    answer = tool.read(raw)
    if isinstance(answer, Accepted):
        return answer.arguments
    raise AssertionError(f"broken promise: {tool.spec.name} accepts its example {raw!r}, but: {answer.errors}")


async def check_toolbox(make: Callable[[], ToolSource]) -> None:
    toolbox = make()
    names = [tool.spec.name for tool in toolbox.tools()]
    promise(names == [tool.spec.name for tool in toolbox.tools()], "tools() has a stable order")
    promise(len(set(names)) == len(names), f"tools have different names, not {names}")
    for tool in toolbox.tools():
        for name in (tool.spec.name, *tool.aliases):
            found = quietly(lambda name=name: toolbox.resolve(name, "{}"), f"resolve({name!r}) must not raise")
            promise(isinstance(found, Target), f"{name} is found: by its name and by its aliases")
    for name in ("", "no such tool", "\0", "\ud800", "x" * 10_000, *(name + "x" for name in names[:20])):
        found = quietly(lambda name=name: toolbox.resolve(name, "{}"), f"resolve({name[:20]!r}) must not raise")
        promise_kind(found, Unknown, Target, text="resolve() gives Target or Unknown")
        if isinstance(found, Unknown):
            promise(found.name == name, "Unknown has the requested name")
            promise(len(found.close) <= 3, f"at most three close names are offered, not {len(found.close)}")


async def check_gate(make: Callable[[], Gate]) -> None:
    """Check that a gate returns a decision for every kind of call in every permission mode, and never raises."""
    gate = make()
    effects: tuple[Effects, ...] = ("none", "idempotent", "mutating")
    modes: tuple[Mode, ...] = tuple(MODES)
    for case in [_case(effect, mode) for effect in effects for mode in modes]:
        shown = f"{case.traits.effects} in mode {case.mode}"
        decision = await _when(quietly(lambda case=case: gate.judge(case), f"judge() must not raise ({shown})"))
        promise_kind(decision, Allow, Ask, Deny, text=f"judge() decides ({shown})")
        promise(isinstance(decision, Allow) or decision.by, f"a decision names who made it ({shown})")
        again = await _when(
            quietly(lambda case=case: gate.judge_again(case), f"judge_again() must not raise ({shown})")
        )
        promise_kind(again, Ask, Deny, type(None), text=f"judge_again() never allows ({shown})")
        asked = await _when(quietly(lambda case=case: gate.requested(case, Ask("check")), "requested() must not raise"))
        promise_kind(asked, Allow, Deny, type(None), text="requested() returns an answer for the user, or None")
        kept = quietly(lambda case=case: gate.remembered(case), f"remembered() must not raise ({shown})")
        promise_kind(kept, Allow, type(None), text="remembered() returns Allow or None")
        choices = quietly(lambda case=case: gate.choices(case), f"choices() must not raise ({shown})")
        narrowest = Pattern("exact", case.arguments_hash)
        promise(choices and choices[0].pattern == narrowest, "the narrowest choice is exactly these arguments")
        result = await _when(gate.after(case, Result((Text("done"),))))
        promise_kind(result, Result, text="after() gives a Result")


def _case(effects: Effects, mode: Mode) -> Case:
    tool = PlainTool("Check", traits=Traits(effects=effects))
    arguments = {"path": "a.py", "command": "rm -rf / ; \0"}
    hashed = arguments_hash("Check", arguments)
    return Case(
        call_id="call_1",
        tool=tool,
        name="Check",
        arguments=arguments,
        arguments_hash=hashed,
        traits=tool.traits(arguments),
        mode=mode,
    )


async def check_journal(make: Callable[[], Journal | Awaitable[Journal]]) -> None:
    """Check that a journal meets the requirements of Journal. ``make`` returns a journal without messages."""
    journal = await _when(make())
    promise(not any(isinstance(event, MessageAdded) for event in journal.read()), "a new journal is empty")
    said = [MessageAdded(float(n), Message(f"m{n}", "user", (Text(f"{n}"),))) for n in range(3)]
    notes = [Noted(float(number), f"note {number}") for number in (3, 1, 2)]
    events: list[Durable] = [*said, *notes, notes[0]]
    first = journal.number
    for event in events:
        promise(journal.append(event) is None, "append() is synchronous, not a coroutine")
    await _when(journal.room())
    await _when(journal.barrier())
    promise(_last(await journal.live(), events), "live() gives everything appended in order, equal events apart")
    promise(journal.number == first + len(events), "number grows by one with each event")
    await _when(journal.barrier())
    promise(_last(await journal.live(), events), "reading does not remove events")
    promise(await journal.recall("m1") == said[1].message, "recall() finds a message by its id")
    promise(await journal.recall("?") is None, "recall() of an unknown message is None")
    moved = Rewound(9.0, "m2")
    journal.append(moved)
    promise(said[2] not in await journal.live(), "after a rewind the message is not live")
    promise(said[1] in await journal.live(), "the messages before it are still live")
    promise(await journal.recall("m2") == said[2].message, "events that are not live are still recorded")
    since = [(first + n, event) for n, event in enumerate((*events, moved), 1)]
    promise(list(await journal.after(first + 2)) == since[2:], "after() returns all later events with their numbers")
    promise(not await journal.after(journal.number), "after() of the last number is empty")
    journal.draft("m9", ((0, "half a sent"),))
    await journal.aclose()


def _last(events: Sequence[Durable], wanted: Sequence[Durable]) -> bool:
    return list(events[-len(wanted) :]) == list(wanted)


async def _when(value: T | Awaitable[T]) -> T:
    return await value if isawaitable(value) else value  # pyright: ignore[reportReturnType]
