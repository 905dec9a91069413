"""What a factory of custom tools is given: where it is, and a way to stage what a person or the model resolves."""

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from hashlib import sha256
from inspect import isawaitable, iscoroutinefunction, signature
from pathlib import Path
from typing import Any, Protocol

from callgate.core.ports import Run
from callgate.host.paths import Resolver
from callgate.host.threads import Threads, in_thread
from callgate.tools.signature import code_of
from callgate.tools.values import plain, to_result
from callgate.words.calls import Result
from callgate.words.changes import ChangeSet, Content, FileChange, Stored
from callgate.words.errors import ToolFailure, UsageError
from callgate.words.noun import noun

UNAVAILABLE = "Pending action store unavailable for custom tools in this runtime."
LARGE = 1_000_000
"""Content of more bytes is not carried along."""

Callback = Callable[[str, Any], Any]
"""Called with the reason and the extra of a ``resolve``; a plain function or an async one."""

_CHUNK = 1 << 20


@noun
class Callbacks:
    """An action that only its author's functions can finish. It ends with the program."""

    apply: Callback
    reject: Callback | None = None


@noun
class PendingAction:
    """What was staged. ``details`` are JSON, for the result. ``source_tool_name`` is what the author says; ``tool`` is
    the tool that was really running, by whose rules the action is to be judged, and ``lineage`` its call. Both are
    empty for an action that was pushed outside of any call."""

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


class Api:
    """``root`` is the workspace, ``session`` the id of the session, empty where there is none."""

    def __init__(self, root: Path, session: str = "", store: PendingStore | None = None) -> None:
        self._root = Path(root)
        self._session = session
        self._store = store

    @property
    def root(self) -> Path:
        return self._root

    @property
    def session(self) -> str:
        return self._session

    def push_pending_action(
        self,
        *,
        label: str,
        apply: Callback,
        reject: Callback | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage an action and give its id: ``apply(reason, extra)`` does it, ``reject(reason, extra)`` is told that it
        will not be done. It is lost when the program ends; ``push_changes`` is not."""
        _check_callback("apply", apply)
        if reject is not None:
            _check_callback("reject", reject)
        return self._push(label, Callbacks(apply, reject), details, source_tool_name)

    def push_changes(
        self,
        label: str,
        files: Iterable[FileChange],
        *,
        count: int | None = None,
        details: Any = None,
        source_tool_name: str = "custom_tool",
    ) -> str:
        """Stage changes to files as data and give the id: what is shown is what is applied, also after a restart."""
        changes = ChangeSet(label, tuple(files), source_tool_name, count=count)
        if not changes.files:
            raise ToolFailure(f"{label}: there is nothing to change")
        return self._push(label, changes, details, source_tool_name)

    def content(self, path: str) -> Content:
        """A file of the workspace as a FileChange carries it: its bytes, or for a large one its hash and place.
        ToolFailure says why it cannot be. Blocks."""
        place = Resolver(self._root).place(path)
        if place.fault is not None or not place.inside:
            raise ToolFailure(f"{path}: {place.fault or f'lies outside the workspace {self._root}'}")
        if place.kind != "file":
            raise ToolFailure(f"{path}: {'there is no such file' if place.kind == 'missing' else 'is not a file'}")
        try:
            return _content(place.resolved)
        except OSError as error:
            raise ToolFailure(f"{path} cannot be read: {error.strerror or error}") from error

    def _push(self, label: str, act: Callbacks | ChangeSet, details: Any, source_tool_name: str) -> str:
        if self._store is None:
            raise ToolFailure(UNAVAILABLE)
        if not label.strip() or not source_tool_name.strip():
            raise UsageError("a pending action needs a label, and the name of its tool, that are not blank")
        if details is not None:
            details = plain(details, source_tool_name)
        served = _served.get()
        tool, lineage = ("", ()) if served is None else (served[0], tuple(served[1].lineage))
        return self._store.push(PendingAction(label, act, source_tool_name, details, tool, lineage))


# The spec's call has no parameter for it, and tools that share one API may run at once.
_served: ContextVar[tuple[str, Run] | None] = ContextVar("callgate_served", default=None)


@contextmanager
def serving(tool: str, run: Run) -> Generator[None]:
    """What is pushed inside was pushed by this call."""
    token = _served.set((tool, run))
    try:
        yield
    finally:
        _served.reset(token)


async def answered(
    callback: Callback, reason: str, extra: Any, tool: str, *, threads: Threads | None = None
) -> Result | None:
    """Call back, a plain function in a thread, and give what it returned as a Result; None if that was nothing.
    What it raises passes."""
    if iscoroutinefunction(code_of(callback)):
        value = await callback(reason, extra)
    else:
        value = await in_thread(partial(callback, reason, extra), threads=threads)
        value = await value if isawaitable(value) else value
    return None if value is None else to_result(value, tool)


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


def _content(file: str) -> Content:
    with open(file, "rb") as stream:
        if os.fstat(stream.fileno()).st_size <= LARGE:
            return stream.read()
        seen, size = sha256(), 0
        while piece := stream.read(_CHUNK):
            seen.update(piece)
            size += len(piece)
        return Stored(seen.hexdigest(), size, file)
