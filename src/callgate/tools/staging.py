"""Staging from inside a call: the function ``stage``, the types of actions, the store of pending actions, and tasks
that belong to no call."""

# Staged values come from outside and may have other types.
# pyright: reportUnnecessaryIsInstance=false

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from inspect import Signature, iscoroutinefunction, signature
from typing import Any, NamedTuple, Protocol

from callgate.core.ports import Run
from callgate.tools.values import plain
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.noun import noun

UNAVAILABLE = (
    "Pending action store unavailable for custom tools in this runtime. It needs a Session, and a tool with "
    "stages=True."
)
LONGEST_LABEL = 200

Callback = Callable[..., Any]
"""A plain or async function that receives the reason of a ``resolve``, or the reason and the extra."""


@noun
class Callbacks:
    """An action that is performed by functions of its author. It is lost when the process ends."""

    apply: Callback
    reject: Callback | None = None


@noun
class PendingAction:
    """An action to stage.

    details           the JSON value that is returned with the result
    source_tool_name  the tool name that the author passed
    tool              the tool that staged the action and whose rules apply to it
    lineage           the call that staged the action, with its ancestors
    """

    label: str
    act: Callbacks | ChangeSet
    source_tool_name: str
    details: Any = None
    tool: str = ""
    lineage: tuple[str, ...] = ()

    @property
    def call_id(self) -> str:
        return self.lineage[-1] if self.lineage else ""


class PendingStore(Protocol):
    def push(self, action: PendingAction) -> str:
        """Push the action onto the stack and return its id. Called from any thread; must not block.

        Contents of a ChangeSet may be ``Stored`` in the files that it changes. A store must copy such contents to keep
        them longer.
        """
        ...


class _Call(NamedTuple):
    tool: str
    lineage: tuple[str, ...]
    store: PendingStore


# The API that a custom tool's factory is given has no parameter for the call (see docs/decisions/0014).
_call: ContextVar[_Call | None] = ContextVar("callgate_staging_call", default=None)


@contextmanager
def serving(tool: str, run: Run, store: PendingStore) -> Generator[None]:
    """Return a context manager in which staged actions belong to this call and are pushed onto this store."""
    token = _call.set(_Call(tool, tuple(run.lineage), store))
    try:
        yield
    finally:
        _call.reset(token)


def outside_calls() -> Context:
    """Return a ``contextvars`` context in which no call is running, for tasks of a session."""
    context = copy_context()
    context.run(_call.set, None)
    return context


def stage(label: str, act: Callbacks | ChangeSet, *, source_tool_name: str, details: Any = None) -> str:
    """Push an action onto the stack of the session that runs the current call, and return its id. Raise ToolFailure if
    no session runs the call."""
    act = _checked(label, act, source_tool_name)
    call = _call.get()
    if call is None:
        raise ToolFailure(UNAVAILABLE)
    if details is not None:
        details = plain(details, source_tool_name)
    shown = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
    action = PendingAction(
        label=shown, act=act, source_tool_name=source_tool_name, details=details, tool=call.tool, lineage=call.lineage
    )
    return call.store.push(action)


def _checked(label: Any, act: Any, source_tool_name: Any) -> Callbacks | ChangeSet:
    for text in (label, source_tool_name):
        if not isinstance(text, str) or not text.strip():
            raise UsageError("a pending action needs a label and the name of its tool; neither may be blank")
    if isinstance(act, Callbacks):
        return checked_callbacks(act)
    if not isinstance(act, ChangeSet):
        raise UsageError(f"a pending action must be a ChangeSet or Callbacks, not {type(act).__name__}")
    if not all(isinstance(each, FileChange) for each in act.files):
        raise UsageError("the files of a ChangeSet must be FileChange objects")
    if not act.files:
        raise ToolFailure(f"{label}: the change is empty")
    return act


def checked_callbacks(act: Callbacks) -> Callbacks:
    """Return the functions, each callable with the reason and the extra. Raise UsageError if a function accepts neither
    ``(reason)`` nor ``(reason, extra)``. The check finds the error before the user approves the action."""
    reject = None if act.reject is None else _with_both("reject", act.reject)
    return Callbacks(_with_both("apply", act.apply), reject)


def _with_both(name: str, callback: Any) -> Callback:
    if not callable(callback):
        raise UsageError(f"{name} must be a function of (reason, extra), or only of the reason, not {callback!r}")
    try:
        takes = signature(callback)
    except (ValueError, TypeError):  # its parameters are unknown
        return callback
    if _binds(takes, "reason", None):
        return callback
    named = _binds(takes, "reason", extra=None)
    if not named and not _binds(takes, "reason"):
        raise UsageError(f"{name} must be a function of (reason, extra), or only of the reason; it takes {takes}")

    def call(reason: str, extra: Any) -> Any:
        return callback(reason, extra=extra) if named else callback(reason)

    async def call_async(reason: str, extra: Any) -> Any:
        return await call(reason, extra)

    return call_async if iscoroutinefunction(callback) else call


def _binds(takes: Signature, *positional: Any, **named: Any) -> bool:
    try:
        takes.bind(*positional, **named)
    except TypeError:
        return False
    return True


class TaskSet:
    """Keeps references to tasks until they end, and calls ``done`` after each task. The tasks run outside of any
    call."""

    def __init__(self, done: Callable[[], None] = lambda: None) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._call_done = done

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work, context=outside_calls())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def finished(self, *until: asyncio.Future[Any]) -> None:
        """Wait until all tasks have ended, or one of ``until`` is done."""
        while self._tasks and not any(each.done() for each in until):
            await asyncio.wait((*self._tasks, *until), return_when=asyncio.FIRST_COMPLETED)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        self._call_done()
