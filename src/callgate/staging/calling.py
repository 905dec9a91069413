"""Runs an author's callbacks: plain functions in a thread, and shielded from the first cancel."""

from asyncio import CancelledError, ensure_future, shield
from collections.abc import Coroutine
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar

from callgate.host.threads import in_thread
from callgate.tools.staging import Callback
from callgate.words.errors import in_words

T = TypeVar("T")


async def called(callback: Callback, reason: str, extra: Any) -> Any:
    """Calls it and gives back its value. An exception passes as an Exception, so that it cannot end the program."""
    try:
        if iscoroutinefunction(callback):
            return await callback(reason, extra)
        value = await in_thread(partial(callback, reason, extra))
        return await value if isawaitable(value) else value
    except (Exception, CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(in_words(error)) from error


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Shields the work from the first cancel and gives back its value. A second cancel, which a loop sends when the
    program ends, stops the waiting."""
    task = ensure_future(work)
    try:
        return await shield(task)
    except CancelledError:
        if task.cancelled():
            raise
        return await shield(task)
