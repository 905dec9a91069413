"""Actions that were staged, as the code that stages and finishes them sees them."""

from asyncio import CancelledError, ensure_future, shield
from collections.abc import Callable, Coroutine
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Protocol, TypeVar

from callgate.host.threads import in_thread
from callgate.words.changes import ChangeSet
from callgate.words.errors import in_words
from callgate.words.noun import noun

UNAVAILABLE = "Pending action store unavailable for custom tools in this runtime."

T = TypeVar("T")

Callback = Callable[[str, Any], Any]
"""Called with the reason and the extra of a ``resolve``; a plain function or an async one."""


@noun
class Callbacks:
    """An action that only its author's functions can finish. It ends with the program."""

    apply: Callback
    reject: Callback | None = None


@noun
class PendingAction:
    """What is to be staged. ``details`` are JSON, for the result. ``source_tool_name`` is what the author says;
    ``tool`` is the tool that was really running, by whose rules the action is to be judged, and ``lineage`` its call.
    Both are empty for an action that was pushed outside of any call."""

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
        """Put it on the stack and give its id. Called from any thread; must not block. Contents of a ChangeSet may be
        ``Stored`` in the very files it changes: who keeps it for longer copies them."""
        ...


async def called(callback: Callback, reason: str, extra: Any) -> Any:
    """What the callback gives back; a plain function runs in a thread. What it raises passes, as an Exception: it must
    not end the program."""
    try:
        if iscoroutinefunction(callback):
            return await callback(reason, extra)
        value = await in_thread(partial(callback, reason, extra))
        return await value if isawaitable(value) else value
    except (Exception, CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(in_words(error)) from error


async def through(work: Coroutine[Any, Any, T]) -> T:
    """See it through: a cancel does not end it, and what became of it is what comes out. Only a second cancel, as a
    loop sends it when the program ends, stops the waiting."""
    task = ensure_future(work)
    try:
        return await shield(task)
    except CancelledError:
        if task.cancelled():
            raise
        return await shield(task)
