"""The stack of pending actions of a session.

A running call pushes actions. They are staged when the call has succeeded and its message is complete. ``State``
stores the pending actions. The stack stores what is not recorded: callbacks in memory, and changes of files in the
history, or in memory without a history.
"""

from asyncio import CancelledError, Event, Future, ensure_future, get_running_loop, wait
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any

from callgate.conversation.record import Record
from callgate.core.capabilities import host_part
from callgate.core.ports import Host, Run
from callgate.host.threads import in_thread
from callgate.staging.state import State
from callgate.tools.staging import Callback, Callbacks, PendingAction
from callgate.words.changes import ChangeSet
from callgate.words.errors import JournalError, ToolFailure, in_words
from callgate.words.events import ActionResolved, ActionStaged, Noted
from callgate.words.pending import Ended, Staged

if TYPE_CHECKING:
    from callgate.changes.history_host import HistoryHost

Pushed = list[tuple[str, PendingAction]]

_APPLIED: tuple[Ended, str] = (
    "applied",
    "it was applied: the apply was interrupted by a crash or a disk error, and then completed",
)
_ENDS: dict[str | None, tuple[Ended, str]] = {
    "applied": _APPLIED,
    "reverted": _APPLIED,
    "discarded": ("discarded", "it was being discarded when the program ended"),
}
"""End and reason of an action, by the state of its change in the history."""


def kept_changes(host: Host) -> "HistoryHost | None":
    """Return the history of changes of a host; None if the host stores no changes."""
    return host_part(host, "kept_changes")


class Stack:
    """The pending actions of one session. The stack stages, applies and discards actions.

    grace        timeout of a ``reject`` callback outside of calls, in seconds
    end_message  callback for a call that waits for the end of its message
    """

    def __init__(
        self, host: Host, state: State, record: Record, *, grace: float, end_message: Callable[[], None]
    ) -> None:
        self._host = host
        self._history = kept_changes(host)
        self._state = state
        self._record = record
        self._grace = grace
        self._end_message = end_message
        self._number = 0  # of the newest id
        self._acts: dict[str, Callbacks | ChangeSet] = {}
        self._pushed: dict[str, Pushed] = {}  # by the ids of running calls
        self._lock = Lock()
        self._busy: set[str] = set()
        self._claims: set[str] = set()  # ids of actions that a person resolves
        self._freed = Event()  # set when an action is not busy any more
        self._ended: dict[str, ActionResolved] = {}  # since the start of the program
        self._over: tuple[str, Future[bool]] | None = None  # id and end of the last message
        self._reconciled = False

    # ---- stage --------------------------------------------------------------------------------------------------

    def push(self, action: PendingAction) -> str:
        with self._lock:
            pushed = self._pushed.get(action.call_id)
            if pushed is None:
                raise ToolFailure(f"{action.label} cannot be staged: its call has ended.")
            before = self._before(action)
            if len(pushed) < len(before):
                action_id = before[len(pushed)]
            else:
                self._number = max(self._number, self._state.highest) + 1
                action_id = f"pending-action:{action.source_tool_name}:{self._number}"
            pushed.append((action_id, action))
        return action_id

    def _before(self, action: PendingAction) -> list[str]:
        """Return the ids of the actions that an earlier attempt of the call staged before a crash. The new attempt
        uses the same ids."""
        call = action.lineage[-2:]
        return [each.id for each in self._state.actions.values() if (each.message_id, each.call_id) == call]

    @contextmanager
    def taking(self, call_id: str) -> Generator[Pushed]:
        """Collect the actions that the call pushes inside the ``with`` block."""
        pushed: Pushed = []
        self._pushed[call_id] = pushed
        try:
            yield pushed
        finally:
            with self._lock:
                del self._pushed[call_id]

    async def whole(self, message_id: str) -> bool:
        """Wait for the end of the open message. Return True if the message is complete, otherwise False."""
        if message_id != self._state.message:
            return False
        self._end_message()
        return await self._end_of(message_id)

    def message_over(self, message_id: str, *, whole: bool) -> None:
        end = self._end_of(message_id)
        if not end.done():
            end.set_result(whole)

    def _end_of(self, message_id: str) -> Future[bool]:
        if self._over is None or self._over[0] != message_id:
            self._over = (message_id, get_running_loop().create_future())
        return self._over[1]

    async def stage(self, pushed: Pushed, message_id: str, aliases: Sequence[str] = ()) -> list[Staged]:
        """Stage the pushed actions and return them. Raise ToolFailure if an action cannot be staged; then no action is
        staged.

        aliases  other names of the tool
        """
        staged: list[Staged] = []
        try:
            for action_id, action in pushed:
                staged.append(replace(await self._kept(action_id, action, message_id), aliases=tuple(aliases)))
        except Exception as error:
            for each in staged:
                await self._drop(each)
            raise ToolFailure(f"Nothing was staged: {error}") from error
        for each, (action_id, action) in zip(staged, pushed, strict=True):
            if action_id in self._state.actions:
                await self._drop(self._state.actions[action_id])
            if each.change is None:
                self._acts[action_id] = action.act
            on_record = self._record.write_first(ActionStaged(self._host.clock.now(), each))
            if on_record is not None:  # published when durable
                await on_record
        return staged

    async def _kept(self, action_id: str, action: PendingAction, message_id: str) -> Staged:
        act = action.act
        staged = Staged(
            id=action_id,
            label=action.label,
            source=action.source_tool_name,
            tool=action.tool,
            message_id=message_id,
            call_id=action.call_id,
            details=action.details,
        )
        if not isinstance(act, ChangeSet):
            return staged
        summary, (added, removed) = await in_thread(partial(_summary, act))
        return replace(
            staged,
            summary=summary,
            added=added,
            removed=removed,
            paths=tuple(dict.fromkeys(act.paths)),
            change=None if self._history is None else await self._history.stage(act),
            careful=any(each.link or (each.mode or 0) & ~0o777 for each in act.files),
        )

    # ---- look ---------------------------------------------------------------------------------------------------

    def newest(self) -> Iterator[Staged]:
        return reversed(list(self._state.actions.values()))

    def get(self, action_id: str) -> Staged | None:
        return self._state.actions.get(action_id)

    def ended(self, action_id: str) -> ActionResolved | None:
        """Return the recorded end of an action, or None if no end is recorded."""
        return self._ended.get(action_id) or self._state.reporting.get(action_id)

    def busy(self, action_id: str) -> bool:
        """Return True while a call or the user is resolving the action."""
        return action_id in self._busy or action_id in self._claims

    @contextmanager
    def claimed(self, staged: Staged) -> Generator[None]:
        """Mark the action as being resolved by the user inside the ``with`` block."""
        self._claims.add(staged.id)
        try:
            yield
        finally:
            self._claims.discard(staged.id)
            self._freed.set()

    def callbacks(self, staged: Staged) -> Callbacks | None:
        act = self._acts.get(staged.id)
        return act if isinstance(act, Callbacks) else None

    async def changes(self, staged: Staged) -> ChangeSet:
        """Return the staged changes of an action. Raise ToolFailure if the changes cannot be read or applied."""
        act = self._acts.get(staged.id)
        if isinstance(act, ChangeSet):
            return act
        if staged.change is None or self._history is None:
            raise ToolFailure(f"{staged.label} was lost when the program that staged it ended.")
        try:
            if self._history.unsettled:  # an apply may have failed half-way
                await self._history.recover()
            return await self._history.staged(staged.change)
        except (JournalError, OSError) as error:
            with suppress(OSError):
                await self._settle(staged)
            raise ToolFailure(f"{staged.label} cannot be applied: {error}") from error

    # ---- finish -------------------------------------------------------------------------------------------------

    @contextmanager
    def resolving(self, staged: Staged, run: Run) -> Generator[None]:
        """Mark the action as busy inside the ``with`` block. Raise ToolFailure if the action is already busy or no
        longer pending."""
        if staged.id not in self._state.actions:
            raise ToolFailure(f"{staged.label} ({staged.id}) is no longer pending.")
        if staged.id in self._busy:
            raise ToolFailure(f"{staged.label} ({staged.id}) is being resolved right now.")
        self._busy.add(staged.id)
        try:
            yield
        finally:
            self._busy.discard(staged.id)
            self._freed.set()

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None:
        self._acts.pop(staged.id, None)
        if staged.id in self._state.actions:
            at, label = self._host.clock.now(), staged.label
            fact = ActionResolved(at=at, id=staged.id, label=label, ended=ended, reason=reason, by=by)
            self._ended[staged.id] = fact
            self._record.write(fact)

    async def discarded(self, staged: Staged, reason: str, by: str) -> None:
        await self._drop(staged)
        self.resolved(staged, "discarded", reason, by)

    async def forget(self, staged: Staged) -> None:
        """Delete the staged change from the history. Used if only some of its files are applied."""
        state = None
        if staged.change is not None and self._history is not None:
            state = await self._history.state_of(staged.change)
        if state == "staged":
            await self._drop(staged)

    async def give_up(self, action_id: str, reason: str) -> bool:
        """Discard the action, even if its ``reject`` callback fails. If a resolution is running, wait until it has
        ended. Return False if the action is no longer pending."""
        while self.busy(action_id):
            self._freed.clear()
            await self._freed.wait()
        staged = self.get(action_id)
        if staged is None:
            return False
        act = self.callbacks(staged)
        if act is not None and act.reject is not None:
            fault = await self._reject(act.reject, reason)
            if fault:
                note = f"{staged.label} is discarded, but the reject callback of {staged.source} failed: {fault}"
                self._record.write(Noted(self._host.clock.now(), note, "warning"))
        await self.discarded(staged, reason, "callgate")
        return True

    async def _reject(self, reject: Callback, reason: str) -> str:
        """Call the ``reject`` callback. Return the error as text if the callback fails or exceeds the timeout,
        otherwise an empty text."""
        rejecting = ensure_future(called(reject, reason, None))
        await wait((rejecting,), timeout=self._grace)
        rejecting.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieve the exception
        if not rejecting.done():
            return f"it did not return within {self._grace:g} s"
        if rejecting.cancelled():
            return "it was cancelled"
        error = rejecting.exception()
        return "" if error is None else in_words(error)

    async def clear(self, reason: str) -> None:
        for staged in [*self.newest()]:
            await self.give_up(staged.id, reason)

    async def _drop(self, staged: Staged) -> None:
        if staged.change is not None and self._history is not None:
            with suppress(JournalError):  # the record decides
                await self._history.discard_staged(staged.change)

    # ---- after a restart ----------------------------------------------------------------------------------------

    async def reconcile(self, *, again: bool) -> None:
        """Record the ends of the actions that ended in a crash. Only the first call does this, unless ``again`` is
        True.

        again  True to repeat the check, because a recovery may have completed an apply
        """
        first, self._reconciled = not self._reconciled, True
        if not first and not again:
            return
        if first and self._history is not None:  # later a call may be staging
            await self._history.discard_staged_except({each.change for each in self._state.actions.values()})
        for staged in [each for each in self._state.actions.values() if each.id not in self._acts]:
            try:
                await self._settle(staged)
            except OSError:  # the next start of work tries again
                self._reconciled = False

    async def _settle(self, staged: Staged) -> None:
        """Record the end of an action according to the state of its change in the history. Raise OSError if this
        state is unknown."""
        ended: Ended = "lost"
        text = "it was lost when the program that staged it ended"
        if staged.change is not None and self._history is not None:
            state = await self._history.state_of(staged.change)
            if state == "staged":
                return
            if state == "applying":
                raise OSError("the interrupted change could not be examined yet")
            ended, text = _ENDS.get(state, ("lost", "its stored change can no longer be read"))
        self.resolved(staged, ended, text, "callgate")
        level = "info" if ended == "applied" else "warning"
        self._record.write(Noted(self._host.clock.now(), f"{staged.label}: {text}", level))


async def called(callback: Callback, reason: str, extra: Any) -> Any:
    """Call a callback and return its value. A plain function runs in a thread. CancelledError, KeyboardInterrupt and
    every Exception are raised unchanged. Any other BaseException is raised as RuntimeError, so that it does not end
    the program."""
    try:
        if iscoroutinefunction(callback):
            return await callback(reason, extra)
        value = await in_thread(partial(callback, reason, extra))
        return await value if isawaitable(value) else value
    except (Exception, CancelledError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RuntimeError(in_words(error)) from error


def _summary(changes: ChangeSet) -> tuple[str, tuple[int, int]]:
    from callgate.changes.diff import line_counts, summary
    from callgate.changes.hunks import diffs  # loaded with the first change

    found = list(diffs(changes))
    return summary(changes, found), line_counts(found)
