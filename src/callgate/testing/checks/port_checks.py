"""Conformance checks of Tool, ToolSource, Gate, Journal, Clock, Host and Model."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar, cast, get_args

from callgate.conversation.ports import Journal, Model
from callgate.core.ports import Case, Clock, Gate, Host, Run, Target, Tool, ToolSource, Unknown
from callgate.testing.checks import promise, promise_kind, quietly
from callgate.testing.plain import PlainTool
from callgate.words import model as m
from callgate.words.calls import Accepted, Rejected, Result
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.decisions import Allow, Ask, Deny, Pattern, arguments_hash
from callgate.words.errors import ToolFailure
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


# ---- hosts and clocks ------------------------------------------------------------------------------------------------


C = TypeVar("C", bound=Clock)

NONSENSE = ("", ".", "..", "../" * 50, "~", " ", "\0", "a\0b", "\ud800", "//", "a" * 10_000, "a/" * 10_000, "\n")
"""Paths that models really write."""


async def check_clock(make: Callable[[], C], advance: Callable[[C, float], Awaitable[None]] | None = None) -> None:
    """Check that a clock meets the requirements of Clock. ``advance`` moves a manual clock; without it the check
    sleeps."""
    clock = make()

    async def passing(seconds: float) -> None:
        await (asyncio.sleep(seconds) if advance is None else advance(clock, seconds))

    promise(clock.now() > 0, "now() is in seconds since the epoch")
    before = clock.monotonic()
    fired: list[str] = []
    home: list[int] = []
    clock.call_later(0.02, lambda: fired.append("second"))
    clock.call_later(0.01, lambda: fired.append("first"))
    clock.call_later(0.01, lambda: home.append(threading.get_ident()))
    never = clock.call_later(0.01, lambda: fired.append("cancelled"))
    clock.call_later(3600, lambda: fired.append("too early"))
    clock.call_later(0, lambda: fired.append("zero"))
    promise(not fired, "call_later() never calls the function directly, even without delay")
    never.cancel()
    never.cancel()
    await passing(0.05)
    promise("zero" in fired, "a timer without delay fires as soon as time passes")
    promise("cancelled" not in fired, "a cancelled timer does not fire")
    promise("too early" not in fired, "a timer does not fire before its time")
    promise(fired == ["zero", "first", "second"], f"timers fire in the order of their times, not {fired}")
    promise(home == [threading.get_ident()], "timers fire once, on the event loop's thread")
    promise(clock.monotonic() - before >= 0.04, "monotonic() increases as time passes")
    never.cancel()


async def check_host(make: Callable[[], Host]) -> None:
    """Check that a host meets the requirements of Host. The check writes files below ``callgate-check`` in the
    workspace and removes them."""
    host = make()
    promise(host.clock is host.clock, "clock is one object")
    promise(host.locks is host.locks, "locks is one object, shared by every executor on the host")
    _check_normal(host)
    _check_place(host)
    await _check_keep(host)
    await _check_apply(host)


def _check_normal(host: Host) -> None:
    for path in NONSENSE:
        once = quietly(partial(host.normal, path), f"normal({path[:20]!r}) must not raise")
        promise(once == host.normal(path), f"normal({path[:20]!r}) is the same each time")
    root = host.normal(".")
    promise("/" in root and (root.startswith("/") or ":" in root), f"normal() is absolute and uses /, not {root!r}")
    promise(host.normal("a/b") == root.rstrip("/") + "/a/b", "relative paths start at the workspace")
    for spelling in ("./a/b", "a//b", "a/./b", "a/b/", "a/c/../b", host.normal("a/b")):
        promise(host.normal(spelling) == host.normal("a/b"), f"{spelling!r} has the normal form of its path")


def _check_place(host: Host) -> None:
    for path in NONSENSE:
        try:
            place = host.resolve_path(path)
        except Exception as error:
            raise AssertionError(f"broken promise: place({path[:20]!r}) must not raise {error!r}") from error
        promise(place == host.resolve_path(path), f"place({path[:20]!r}) is the same each time")
        promise(place.spelled == path, "a resolved path keeps the given path")
        promise(place.hops[-1:] == (place.resolved,), "the last hop is the resolved path")
    root = host.resolve_path(".")
    promise(root.inside and root.fault is None and root.kind == "folder", "the workspace is a folder inside itself")
    below = root.resolved.rstrip("/") + "/"
    inner = host.resolve_path("callgate-check/a/../none")
    promise(inner.hops[0] == below + "callgate-check/none", "the first hop is the path as given")
    promise(inner.inside and inner.kind == "missing", "a path that does not exist yet is inside the workspace")
    promise(host.resolve_path(inner.hops[0]).inside, "an absolute path inside the workspace is inside")
    promise(not host.resolve_path("../callgate-escape").inside, "a path beside the workspace is not inside")
    promise(
        not host.resolve_path(root.resolved + "-escape").inside, "a name that only starts like the workspace is outside"
    )
    for path in ("", "\0", "a\0b", "\ud800", "a\u202eb"):
        promise(host.resolve_path(path).fault, f"{path!r} must not be usable")


async def _check_keep(host: Host) -> None:
    paths = [await host.keep(name, b"data") for name in ("out.txt", "out.txt", "../../etc/x", "", "\0", "é" * 500)]
    promise(len(set(paths)) == len(paths), "keep() never overwrites: every artifact has its own path")


async def _check_apply(host: Host) -> None:
    one, two = "callgate-check/one.txt", "callgate-check/deep/two.txt"
    await host.apply(ChangeSet("create", (FileChange(one, None, b"1"), FileChange(two, None, b"2"))))
    promise(host.resolve_path(one).kind == "file", "a file that was made is a file")
    promise(host.resolve_path("callgate-check/deep").kind == "folder", "and its parent is a folder")
    stale = (FileChange(one, b"1", b"new"), FileChange(two, b"other", b"new"))
    await _refused(host, stale, "a file that changed since the preview")
    await _refused(host, (FileChange(one, None, b"new"),), "creating a file that exists")
    await _refused(host, (FileChange("callgate-check/none", b"", b"new"),), "replacing a file that does not exist")
    await _refused(host, (FileChange("../callgate-escape", None, b"x"),), "a file outside the workspace")
    await _refused(host, (FileChange(one, b"1", b"2"), FileChange("./" + one, b"1", b"3")), "changing a file twice")
    try:
        await host.apply(ChangeSet("replace", (FileChange(one, b"1", b""), FileChange(two, b"2", b"\r\n\0"))))
    except ToolFailure as error:
        raise AssertionError(f"broken promise: a refused change set changes nothing, but then: {error}") from error
    await host.apply(ChangeSet("delete", (FileChange(one, b"", None), FileChange(two, b"\r\n\0", None))))


async def _refused(host: Host, files: tuple[FileChange, ...], what: str) -> None:
    try:
        await host.apply(ChangeSet("refused", files))
    except ToolFailure as error:
        promise(str(error), f"a refusal says why ({what})")
        return
    raise AssertionError(f"broken promise: apply() refuses {what} with a ToolFailure")


# ---- models ----------------------------------------------------------------------------------------------------------


_REASONS: tuple[str, ...] = get_args(m.StopReason)
_KINDS = ("text", "thinking", "tool_call", "opaque")
_DELTAS: dict[type, str] = {m.TextDelta: "text", m.ThinkingDelta: "thinking", m.ArgumentsDelta: "tool_call"}


async def check_model(make: Callable[[], Model], request: m.Request | None = None) -> None:
    """Check that a model meets the requirements of Model, with two streams of the request: the first is read to its
    end, the second is closed after its first event."""
    request = request or m.Request("", (Message("m1", "user", (Text("Hello"),)),))
    model = make()
    promise(model.name, "a model has a name")
    promise_kind(model.abilities, m.Abilities, text="a model says what it can do with Abilities")
    events = [event async for event in _stream(model, request)]
    check_events(events)
    promise(events, "a stream yields MessageStarted, parts and MessageEnded, not nothing")
    _check_arguments(events)
    stream = _stream(make(), request)
    promise(await anext(stream, None) is not None, "a stream yields the same message each time, not nothing")
    close = getattr(stream, "aclose", None)
    promise(close is not None, "a stream can be closed at any point: it needs aclose()")
    if close is not None:
        await close()
        promise(await anext(stream, None) is None, "a closed stream yields no more events")


def _stream(model: Model, request: m.Request) -> AsyncIterator[m.ModelEvent]:
    stream = model.stream(request)
    if isinstance(stream, Coroutine):
        stream.close()
    promise(hasattr(stream, "__aiter__"), "stream() returns an async iterator: write it as an async generator")
    return aiter(stream)


def _check_arguments(events: Sequence[m.ModelEvent]) -> None:
    ended = {each.index for each in events if isinstance(each, m.PartEnded)}
    calls = [each for each in events if isinstance(each, m.PartStarted) and each.kind == "tool_call"]
    for index, name in ((each.index, each.name) for each in calls if each.index in ended):
        text = "".join(each.text for each in events if isinstance(each, m.ArgumentsDelta) and each.index == index)
        try:
            found = json.loads(text or "{}")
        except ValueError as error:
            raise AssertionError(
                f"broken promise: the arguments of the call {name} are JSON, but {text[:80]!r}: {error}"
            ) from error
        promise(isinstance(found, dict), f"the arguments of the call {name} are a JSON object, not {text[:80]!r}")


def check_events(events: Iterable[m.ModelEvent]) -> None:
    """Check the order of the events of one message. An interrupted message may lack its last events."""
    parts: dict[int, str] = {}
    closed: set[int] = set()
    ids: set[str] = set()
    last: m.ModelEvent | None = None
    for event in events:
        promise(not isinstance(last, m.MessageEnded), f"no event follows MessageEnded, but {event}")
        match event:
            case m.MessageStarted():
                promise(last is None, "MessageStarted comes once")
            case m.PartStarted(index, kind, id, name):
                promise(kind in _KINDS, f"a part is {', '.join(_KINDS)}, not {kind!r}")
                promise(index not in parts, f"part {index} starts once")
                promise(index == len(parts), f"parts are numbered from 0 without gaps, but after {len(parts)}: {index}")
                parts[index] = kind
                if kind == "tool_call":
                    promise(id and name, f"the call in part {index} has an id and a name")
                    promise(id not in ids, f"the call id {id} is used once in a message")
                    ids.add(id)
            case m.PartEnded(index):
                promise(index in parts and index not in closed, f"part {index} ends once, after it started")
                closed.add(index)
            case m.MessageEnded(reason):
                promise(reason in _REASONS, f"the stop reason is one of {', '.join(_REASONS)}, not {reason!r}")
                whole = reason in m.WHOLE
                promise(not whole or closed == set(parts), f"all parts are closed before a message ends with {reason}")
                promise(reason != "end" or not ids, "a message with calls ends with tool_calls")
            case m.OpaqueData(index):
                kind = parts.get(index)
                promise(kind in ("opaque", "tool_call"), f"{event} belongs to an open opaque or tool_call part")
                promise(index not in closed, f"part {index} is closed before {event}")
            case m.ModelNoted():  # allowed anywhere, also before the message
                continue
            case _:
                kind = _DELTAS.get(type(event), "")
                promise(kind, f"a stream yields model events (callgate.words.model), not {type(event).__name__}")
                promise(
                    isinstance(cast(object, event.text), str),
                    f"the text of {type(event).__name__} is a str, not {event.text!r}",
                )
                promise(parts.get(event.index) == kind, f"{event} belongs to an open {kind} part")
                promise(event.index not in closed, f"part {event.index} is closed before {event}")
        promise(last is not None or isinstance(event, m.MessageStarted), f"MessageStarted comes first, not {event}")
        last = event
