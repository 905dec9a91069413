"""Staging from inside a call: what is pushed there belongs to that call, and goes to the session that runs it."""

# What is staged comes from outside and may not keep to its types.
# pyright: reportUnnecessaryIsInstance=false

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from inspect import signature
from typing import Any

from callgate.changes.pending import UNAVAILABLE, Callbacks, PendingAction, PendingStore
from callgate.core.ports import Run
from callgate.tools.values import plain
from callgate.words.changes import ChangeSet, FileChange
from callgate.words.errors import ToolFailure, UsageError

LONGEST_LABEL = 200

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


def unserved() -> Context:
    """A context for a session of its own: what its calls push is not pushed by the call around it."""
    context = copy_context()
    context.run(_served.set, None)
    context.run(_store.set, None)
    return context


def stages(store: PendingStore | None = None) -> bool:
    """Whether there is a place for what is pushed here."""
    return (_store.get() or store) is not None


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
    _check(label, act, source_tool_name)
    to = _store.get() or store
    if to is None:
        raise ToolFailure(f"{UNAVAILABLE} It needs a Session, and a tool that says stages=True.")
    if details is not None:
        details = plain(details, source_tool_name)
    served = _served.get()
    tool, lineage = ("", ()) if served is None else (served[0], tuple(served[1].lineage))
    shown = label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…"
    return to.push(PendingAction(shown, act, source_tool_name, details, tool, lineage))


def _check(label: Any, act: Any, source_tool_name: Any) -> None:
    for text in (label, source_tool_name):
        if not isinstance(text, str) or not text.strip():
            raise UsageError("a pending action needs a label, and the name of its tool, that are not blank")
    if isinstance(act, Callbacks):
        _check_callback("apply", act.apply)
        if act.reject is not None:
            _check_callback("reject", act.reject)
    elif not isinstance(act, ChangeSet):
        raise UsageError(f"what is staged is a ChangeSet or Callbacks, not {type(act).__name__}")
    elif not all(isinstance(each, FileChange) for each in act.files):
        raise UsageError("the files of a ChangeSet are FileChange")
    elif not act.files:
        raise ToolFailure(f"{label}: there is nothing to change")


def _check_callback(name: str, callback: Any) -> None:
    """Now, and not when somebody has looked at it and said yes."""
    if not callable(callback):
        raise UsageError(f"{name} must be a function of (reason, extra), not {callback!r}")
    try:
        signature(callback).bind("reason", None)
    except TypeError as error:
        raise UsageError(f"{name} must be a function of (reason, extra): {error}") from error
    except ValueError:  # one that does not tell what it takes
        return
