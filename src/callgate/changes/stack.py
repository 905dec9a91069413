"""The pending actions of one session: a stack, on record, newest first.

A call pushes while it runs; what it pushed is staged when it has ended well and its message is known to be whole. What
is on the stack is the fold of the record; here is what it takes to finish it: changes to files in the history, or in
memory where nothing is kept, and callbacks in memory.
"""

from asyncio import FIRST_COMPLETED, Event, Future, ensure_future, get_running_loop, wait
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import Lock

from callgate.changes.keeping import KeptHost
from callgate.changes.pending import Callback, Callbacks, PendingAction, called
from callgate.changes.summary import summary
from callgate.core.ports import Host
from callgate.host.threads import in_thread
from callgate.words.changes import ChangeSet
from callgate.words.errors import JournalError, ToolFailure, in_words
from callgate.words.events import ActionResolved, ActionStaged, Durable, Noted
from callgate.words.pending import Ended, Staged

Pushed = list[tuple[str, PendingAction]]


class Stack:
    """``pending`` is what is on record as staged, oldest first, ``number`` the highest there has been; ``message`` is
    the message under way, ``telling`` what its calls were to tell when a program ended. ``grace`` is how long an
    author's function may take that nobody waits for; ``write_first`` lets doors hear of what is durable."""

    def __init__(
        self,
        host: Host,
        pending: Callable[[], Mapping[str, Staged]],
        write: Callable[[Durable], None],
        write_first: Callable[[Durable], Awaitable[None] | None],
        *,
        message: Callable[[], str],
        telling: Callable[[], Mapping[str, ActionResolved]],
        number: int = 0,
        grace: float = 5.0,
    ) -> None:
        self._host = host
        self._message = message
        self._telling = telling
        self._grace = grace
        self._pending = pending
        self._write = write
        self._write_first = write_first
        self._number = number
        self._acts: dict[str, Callbacks | ChangeSet] = {}
        self._pushed: dict[str, Pushed] = {}  # by the calls that are at it
        self._lock = Lock()
        self._busy: set[str] = set()
        self._claims: set[str] = set()  # a person is at it
        self._waiting: list[Future[None]] = []  # until one of those is free
        self._ended: dict[str, ActionResolved] = {}  # in this program
        self._over: tuple[str, Future[bool]] | None = None  # of the message under way, or of the last one
        self._reconciled = False

    # ---- stage --------------------------------------------------------------------------------------------------

    def push(self, action: PendingAction) -> str:
        with self._lock:
            pushed = self._pushed.get(action.call_id)
            if pushed is None:
                raise ToolFailure(f"{action.label} cannot be staged: the call that wants to is over.")
            before = self._before(action)
            if len(pushed) < len(before):
                action_id = before[len(pushed)]
            else:
                self._number += 1
                action_id = f"pending-action:{action.source_tool_name}:{self._number}"
            pushed.append((action_id, action))
        return action_id

    def _before(self, action: PendingAction) -> list[str]:
        """What a call had staged when the program ended in the middle of it: it runs again, and stages it again."""
        call = action.lineage[-2:]
        return [each.id for each in self._pending().values() if (each.message_id, each.call_id) == call]

    @contextmanager
    def taking(self, call_id: str) -> Generator[Pushed]:
        """What is pushed by this call inside."""
        pushed: Pushed = []
        self._pushed[call_id] = pushed
        try:
            yield pushed
        finally:
            with self._lock:
                del self._pushed[call_id]

    async def whole(self, message_id: str) -> bool:
        """Wait for the end of the message under way: whether it came as it should. Of any other message it is too late
        for that: its calls have settled."""
        return message_id == self._message() and await self._end_of(message_id)

    def message_over(self, message_id: str, *, whole: bool) -> None:
        end = self._end_of(message_id)
        if not end.done():
            end.set_result(whole)

    def _end_of(self, message_id: str) -> Future[bool]:
        if self._over is None or self._over[0] != message_id:
            self._over = (message_id, get_running_loop().create_future())
        return self._over[1]

    async def stage(self, pushed: Pushed, message_id: str, aliases: Sequence[str] = ()) -> list[Staged]:
        """All of it, or nothing: then ToolFailure says why. ``aliases`` are those of the tool."""
        staged: list[Staged] = []
        try:
            for action_id, action in pushed:
                staged.append(replace(await self._kept(action_id, action, message_id), aliases=tuple(aliases)))
        except Exception as error:
            for each in staged:
                await self._drop(each)
            raise ToolFailure(f"Nothing was staged: {error}") from error
        for each, (action_id, action) in zip(staged, pushed, strict=True):
            if action_id in self._pending():
                await self._drop(self._pending()[action_id])
            if each.change is None:
                self._acts[action_id] = action.act
            on_record = self._write_first(ActionStaged(self._host.clock.now(), each))
            if on_record is not None:  # nobody sees what may still be lost
                await on_record
        return staged

    async def _kept(self, action_id: str, action: PendingAction, message_id: str) -> Staged:
        told = (action_id, action.label, action.source_tool_name, action.tool, message_id, action.call_id)
        act = action.act
        if not isinstance(act, ChangeSet):
            return Staged(*told, details=action.details)
        summed = await in_thread(partial(summary, act))
        change = await self._host.stage(act) if isinstance(self._host, KeptHost) else None
        careful = any(each.link or (each.mode or 0) & ~0o777 for each in act.files)
        return Staged(*told, summed, tuple(dict.fromkeys(act.paths)), action.details, change, careful=careful)

    # ---- look ---------------------------------------------------------------------------------------------------

    def newest(self) -> Iterator[Staged]:
        return reversed(list(self._pending().values()))

    def get(self, action_id: str) -> Staged | None:
        return self._pending().get(action_id)

    def ended(self, action_id: str) -> ActionResolved | None:
        """What became of one that is not pending any more, as far as that is known here."""
        return self._ended.get(action_id) or self._telling().get(action_id)

    def busy(self, action_id: str) -> bool:
        """Whether somebody is finishing it right now."""
        return action_id in self._busy or action_id in self._claims

    @contextmanager
    def claimed(self, staged: Staged) -> Generator[None]:
        """A person is at it, from the question to the end."""
        self._claims.add(staged.id)
        try:
            yield
        finally:
            self._claims.discard(staged.id)
            self._freed()

    def callbacks(self, staged: Staged) -> Callbacks | None:
        act = self._acts.get(staged.id)
        return act if isinstance(act, Callbacks) else None

    async def changes(self, staged: Staged) -> ChangeSet:
        """What it would change; ToolFailure if that cannot be read any more."""
        act = self._acts.get(staged.id)
        if isinstance(act, ChangeSet):
            return act
        if staged.change is None or not isinstance(self._host, KeptHost):
            raise ToolFailure(f"{staged.label} ended with the program that had staged it.")
        try:
            return await self._host.staged(staged.change)
        except JournalError as error:
            raise ToolFailure(f"{staged.label} cannot be read any more: {error}") from error

    # ---- finish -------------------------------------------------------------------------------------------------

    @contextmanager
    def resolving(self, staged: Staged) -> Generator[None]:
        """ToolFailure if it is not there any more, or somebody else is at it."""
        if staged.id not in self._pending():
            raise ToolFailure(f"{staged.label} ({staged.id}) is not pending any more.")
        if staged.id in self._busy:
            raise ToolFailure(f"{staged.label} ({staged.id}) is being resolved right now.")
        self._busy.add(staged.id)
        try:
            yield
        finally:
            self._busy.discard(staged.id)
            self._freed()

    def _freed(self) -> None:
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            if not each.done():
                each.set_result(None)

    def resolved(self, staged: Staged, ended: Ended, reason: str, by: str) -> None:
        """It waits no longer."""
        self._acts.pop(staged.id, None)
        if staged.id in self._pending():
            fact = ActionResolved(self._host.clock.now(), staged.id, staged.label, ended, reason, by)
            self._ended[staged.id] = fact
            self._write(fact)

    async def discarded(self, staged: Staged, reason: str, by: str) -> None:
        await self._drop(staged)
        self.resolved(staged, "discarded", reason, by)

    async def give_up(self, action_id: str, reason: str) -> bool:
        while self.busy(action_id):  # somebody else may see to its end
            freed = get_running_loop().create_future()
            self._waiting.append(freed)
            await freed
        staged = self.get(action_id)
        if staged is None:
            return False
        act = self.callbacks(staged)
        if act is not None and act.reject is not None:
            fault = await self._told(act.reject, reason)
            if fault:
                note = f"{staged.label}: whoever staged it failed to take that it is discarded: {fault}"
                self._write(Noted(self._host.clock.now(), note, "warning"))
        await self.discarded(staged, reason, "callgate")
        return True

    async def _told(self, reject: Callback, reason: str) -> str:
        """Why it could not be told, if so. Who does not answer in time is left behind."""
        telling = ensure_future(called(reject, reason, None))
        late = Event()
        waiting = ensure_future(late.wait())
        timer = self._host.clock.call_later(self._grace, late.set)
        try:
            await wait((telling, waiting), return_when=FIRST_COMPLETED)
        finally:
            timer.cancel()
            waiting.cancel()
        if not telling.done():
            telling.add_done_callback(lambda done: done.cancelled() or done.exception())
            return f"it did not answer within {self._grace:g} s"
        if telling.cancelled():
            return "it was cancelled"
        error = telling.exception()
        return "" if error is None else in_words(error)

    async def clear(self, reason: str) -> None:
        """Nothing is pending any more: the session is left, or goes on from another place."""
        for staged in [*self.newest()]:
            await self.give_up(staged.id, reason)

    async def _drop(self, staged: Staged) -> None:
        if staged.change is not None and isinstance(self._host, KeptHost):
            with suppress(JournalError):  # what is on record counts
                await self._host.drop(staged.change)

    # ---- after a restart ----------------------------------------------------------------------------------------

    async def reconcile(self) -> None:
        """Once, before anything else: what became of actions that were pending when the program ended."""
        if self._reconciled:
            return
        self._reconciled = True
        if isinstance(self._host, KeptHost):
            await self._host.drop_staged_but({each.change for each in self._pending().values()})
        for staged in [each for each in self._pending().values() if each.id not in self._acts]:
            try:
                ended, text = await self._became(staged)
            except OSError:  # nobody can tell right now: the next who asks tries again
                self._reconciled = False
                continue
            if ended is not None:
                self.resolved(staged, ended, text, "callgate")
                level = "info" if ended == "applied" else "warning"
                self._write(Noted(self._host.clock.now(), f"{staged.label}: {text}", level))

    async def _became(self, staged: Staged) -> tuple[Ended | None, str]:
        if staged.change is None or not isinstance(self._host, KeptHost):
            return "lost", "it ended with the program that had staged it"
        state = await self._host.state_of(staged.change)
        if state == "staged":
            return None, ""
        if state in ("applied", "reverted"):
            return "applied", "it was being applied when the program ended, and it is applied"
        if state == "applying":
            raise OSError("what was cut short could not be looked into yet")
        if state == "discarded":
            return "discarded", "it was being discarded when the program ended"
        return "lost", "it cannot be read any more"
