"""Calls the function of a tool, and its preview function, on the event loop, in a thread or as a generator.

**Generators.** Text (or a ``Progress``) that is yielded is sent at once as progress. The last item is the result unless
it is a ``Progress``; a result that is not text may be yielded only once, and only ``Progress`` may follow it. A plain
generator can also ``return`` its result. Texts are joined without a separator, so each line must end with a newline.
"""

from asyncio import CancelledError
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, isgeneratorfunction
from threading import Event
from typing import Any

from callgate.core.ports import Run
from callgate.host.threads import in_thread, threads_of
from callgate.tools.signature import Signature, code_of, read_signature
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolDefinitionError, ToolFailure
from callgate.words.noun import noun

Call = Callable[[Mapping[str, Any], Run], Awaitable[Any]]
"""Calls the author's function with keyword arguments and returns its value."""
Preview = Callable[[Mapping[str, Any], Run], Awaitable[ChangeSet]]
"""Returns the change that a preview makes for these arguments. Its ``tool`` is the tool's name unless the author set
another name."""


@noun
class Progress:
    """An item that a generator tool yields to report progress; it is never the result. ``text`` is appended to the
    earlier progress texts."""

    text: str = ""
    current: float | None = None
    total: float | None = None


def caller(fn: Callable[..., Any]) -> Call:
    """Return an async function that calls the tool's function. It never blocks the event loop, and nothing runs after
    the call ends."""
    kind = code_of(fn)
    if iscoroutinefunction(kind):
        return lambda values, run: fn(**values)
    if isasyncgenfunction(kind):
        return partial(_stream, fn)
    if isgeneratorfunction(kind):
        return partial(_stream_in_thread, fn)
    return partial(_in_thread, fn)


async def _in_thread(fn: Callable[..., Any], values: Mapping[str, Any], run: Run) -> Any:
    value = await in_thread(lambda: fn(**values), threads=threads_of(run.host))
    # A plain function can return a coroutine (a lambda, a decorator), which must run on the loop.
    return await value if isawaitable(value) else value


async def _stream(fn: Callable[..., AsyncGenerator[Any, None]], values: Mapping[str, Any], run: Run) -> Any:
    last = _Last(run)
    async with aclosing(fn(**values)) as items:
        async for item in items:
            last.take(item)
    return last.value


async def _stream_in_thread(fn: Callable[..., Generator[Any, None, Any]], values: Mapping[str, Any], run: Run) -> Any:
    stop = Event()

    def drain() -> Any:
        last = _Last(run)
        with closing(fn(**values)) as items:
            while not stop.is_set():
                try:
                    last.take(next(items))
                except StopIteration as end:
                    return last.value if end.value is None else end.value
        raise _Stopped

    try:
        return await in_thread(drain, on_cancel=stop.set, threads=threads_of(run.host))
    except _Stopped:
        raise CancelledError from None


class _Stopped(Exception):
    """Raised in the thread of a generator because the call was cancelled."""


class _Last:
    """Sends yielded progress, and stores the last item that is not progress as the result."""

    def __init__(self, run: Run) -> None:
        self.value: Any = None
        self._run = run

    def take(self, item: Any) -> None:
        if isinstance(item, Progress):
            self._run.progress(item.text, current=item.current, total=item.total)
            return
        if self.value is not None and not isinstance(self.value, str):
            kind = type(self.value).__name__
            raise ToolFailure(
                f"the tool yielded its result (a {kind}) and then another value; after the result only Progress "
                "is allowed"
            )
        self.value = item
        if isinstance(item, str):
            self._run.progress(item)


def read_preview(
    fn: Callable[..., Any] | None, tool: str, takes: Signature, scope: Mapping[str, Any], whole: str = ""
) -> Preview | None:
    """Return a function that calls the preview of a tool, or None if the tool has no preview function. For a schema
    tool, ``whole`` is the name of the parameter that receives all arguments. Raise ToolDefinitionError if the preview
    has a parameter that the tool does not have."""
    if fn is None:
        return None
    wants, call = read_signature(fn, tool, scope), caller(fn)
    names = {single(wants, tool): whole} if whole else {each: each for each in wants.names}
    missing = ", ".join(name for name in names.values() if name not in takes.names)
    if missing:
        raise ToolDefinitionError(f"tool {tool!r}: its preview has parameters that the tool does not have: {missing}")

    async def preview(values: Mapping[str, Any], run: Run) -> ChangeSet:
        own: dict[str, Any] = {theirs: values[ours] for theirs, ours in names.items() if ours in values}
        if wants.run is not None:
            own[wants.run] = run
        changes = await call(own, run)
        if not isinstance(changes, ChangeSet):
            kind = type(changes).__name__
            raise ToolDefinitionError(f"tool {tool!r}: its preview returned a {kind}, not a ChangeSet")
        return changes if changes.tool else replace(changes, tool=tool)

    return preview


def single(takes: Signature, tool: str) -> str:
    """Return the name of the only parameter. Raise ToolDefinitionError if there are several or none."""
    if len(takes.names) != 1:
        taken = ", ".join(takes.names) or "nothing"
        raise ToolDefinitionError(f"tool {tool!r}: its function must take one dict of arguments, not {taken}")
    return takes.names[0]
