"""Staging from inside a call: what is pushed there belongs to that call, and goes to the session that runs it."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from callgate.changes.pending import UNAVAILABLE, Callbacks, PendingAction, PendingStore
from callgate.core.ports import Run
from callgate.tools.values import plain
from callgate.words.changes import ChangeSet
from callgate.words.errors import ToolFailure

# A tool may serve several sessions at once, and what an author calls to stage has no parameter for the call.
_served: ContextVar[tuple[str, Run] | None] = ContextVar("callgate_served", default=None)
_store: ContextVar[PendingStore | None] = ContextVar("callgate_pending_store", default=None)


@contextmanager
def serving(tool: str, run: Run, store: PendingStore | None = None) -> Generator[None]:
    """What is pushed inside was pushed by this call; without a ``store`` it goes where it went before."""
    served = _served.set((tool, run))
    stored = _store.set(store if store is not None else _store.get())
    try:
        yield
    finally:
        _store.reset(stored)
        _served.reset(served)


def stage(
    label: str,
    act: Callbacks | ChangeSet,
    *,
    source_tool_name: str,
    details: Any = None,
    store: PendingStore | None = None,
) -> str:
    """Push an action onto the stack of the session that runs this call, or else onto ``store``; gives its id.
    ToolFailure where there is neither."""
    if isinstance(act, ChangeSet) and not act.files:
        raise ToolFailure(f"{label}: there is nothing to change")
    to = _store.get() or store
    if to is None:
        raise ToolFailure(UNAVAILABLE)
    if details is not None:
        details = plain(details, source_tool_name)
    served = _served.get()
    tool, lineage = ("", ()) if served is None else (served[0], tuple(served[1].lineage))
    return to.push(PendingAction(label, act, source_tool_name, details, tool, lineage))
