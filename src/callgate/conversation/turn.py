"""One turn: a message of the model and the results of its calls. This is the first module to read in this package.

    request ──▶ stream ──▶ calls ──▶ executor ──▶ results

The same code resumes an unfinished turn of a log. Recorded steps are not repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from callgate.conversation.feature_set import Equipment
from callgate.conversation.injected import InjectedCalls, InjectedMessage
from callgate.conversation.intake import call_part
from callgate.conversation.message_reader import MessageReader, spent_by, with_text
from callgate.conversation.recovery import Recovery, answered_by
from callgate.conversation.reminders import remind
from callgate.core import outcomes
from callgate.core.call_ledger import Entry
from callgate.core.executor import CallExecutor
from callgate.core.ports import Target
from callgate.core.sizes import bounded_together
from callgate.words.calls import Result, Status, ToolCall
from callgate.words.decisions import arguments_hash
from callgate.words.events import MessageAdded, TurnEnded, TurnStarted
from callgate.words.limits import Retries
from callgate.words.messages import Message, ResultPart, Spent
from callgate.words.model import WHOLE, RequestLimits, StopReason, ToolChoice
from callgate.words.traits import Effects, Traits
from callgate.words.turns import Measures, TurnCause, TurnReason


class Turn:
    """One turn: a message of the model and the results of its calls.

    injected    the calls of a message that no model writes
    most_calls  the maximum number of calls of the run
    on_waiting  called when the turn starts to wait for the user
    on_resumed  called when the turn continues
    stop        the stop reason of the message, after ``run``
    source      the reader of the message; has the failure of the model and the step after the failure
    affected    the calls of a failed message that had or may have had effects
    """

    def __init__(
        self,
        equipment: Equipment,
        recovery: Recovery | None = None,
        *,
        because: TurnCause = "prompt",
        limits: RequestLimits | None = None,
        injected: InjectedCalls | None = None,
        most_calls: int | None = None,
        on_waiting: Callable[[], None] = lambda: None,
        on_resumed: Callable[[], None] = lambda: None,
    ) -> None:
        self._kit = equipment
        self._record = equipment.record
        self._ledger = equipment.record.ledger
        self._clock = equipment.host.clock
        self._most_calls = most_calls
        self._on_waiting = on_waiting
        self._on_resumed = on_resumed
        self._reader: asyncio.Task[None] | None = None
        self._because: TurnCause = because
        self._interrupted = False
        self.stop: StopReason = "cut_off"
        self.affected: tuple[ToolCall, ...] = ()
        opened = self._ledger.open_turn
        self._number = self._ledger.turn + 1 if opened is None else opened.turn
        self._message_id = f"a{self._number}" if opened is None else opened.message_id
        self.executor = CallExecutor(
            equipment.toolbox,
            equipment.gate,
            host=equipment.host,
            record=self._record,
            settings=equipment.settings.for_program if because == "call" else equipment.settings,
            lineage=(*equipment.lineage, self._message_id),
            confirmations=[entry.answer for entry in self._ledger.calls.values() if entry.answer is not None],
            resumable=equipment.resumable and because != "call",
            path=equipment.path,
            skip=equipment.features.admits if most_calls is None else self._skip,
            deps=equipment.deps,
        )
        recovery = recovery or Recovery(Retries())
        self._injected: InjectedMessage | None = None
        self.source: MessageReader | InjectedMessage
        if injected is not None:
            model = recovery.model(equipment.model)
            self.source = self._injected = InjectedMessage(
                equipment, self.executor, self._message_id, injected, model, self._wait
            )
        else:
            limits = limits or equipment.limits
            self.source = MessageReader(equipment, recovery, self.executor, self._message_id, limits)
        self._left = self._left_arriving = False
        self.is_of_program = because == "call"
        self.resumed = opened is not None

    def _skip(self, name: str, traits: Traits) -> Result | None:
        if self._most_calls is not None and self._ledger.called > self._most_calls and not self._ledger.injected:
            return outcomes.too_many_calls(self._most_calls)
        admits = self._kit.features.admits
        return None if admits is None else admits(name, traits)

    async def run(self) -> TurnEnded | None:
        """Run the turn and record its end. Return None if the turn was left open in the record."""
        ledger = self._ledger
        async with self.executor as executor:
            self.stop = stop = await (self._resumed() if self.resumed else self._fresh())
            if not self._left_arriving:
                if self.source.remedy == "again" and not self._interrupted:
                    self.affected = await executor.discard()
                executor.close(stop)
                self._kit.features.message_over(self._message_id, whole=stop in WHOLE)
                await self._wait()
        if self._left_arriving or not executor.settled:
            return None
        opened = ledger.open_turn
        assert opened is not None
        calls = sorted(ledger.calls.values(), key=lambda entry: entry.index)
        if calls and not ledger.open_results:
            message = Message(f"r{opened.turn}", "tool", await self._result_parts(calls))
            self._record.write(MessageAdded(self._clock.now(), message))
        detail = self.source.intake.detail if self.source.error is None else str(self.source.error)
        reason = self._reason(stop, bool(calls))
        spent, measures = self._spent(), self._measures(calls)
        ended = TurnEnded(self._clock.now(), opened.turn, reason, detail, spent=spent, measures=measures)
        self._record.write(ended)
        self._record.deliver()
        return ended

    async def _result_parts(self, calls: list[Entry]) -> tuple[ResultPart, ...]:
        """Return the results for the model, shortened to a total size. The shortened results are recorded in the
        message."""
        found: list[tuple[str, str, Result]] = []
        for entry in calls:
            assert entry.result is not None, f"call {entry.id} left its turn without a result"
            found.append((entry.asked_as or entry.name, entry.id, entry.result))
        most = self._kit.settings.message_chars(self.source.model.abilities.context_tokens)
        found = await bounded_together(found, most, self._kit.host)
        return tuple(ResultPart(call_id, name, result.content, result.is_error) for name, call_id, result in found)

    def interrupt(self, because: str) -> None:
        self._interrupted = True
        self.executor.interrupt(because)
        self.end_message()
        if self._reader is not None and not self._grows:  # otherwise the end of its calls ends the message
            self._reader.cancel()

    def end_message(self) -> None:
        """Close the message for further calls of programs, because a running call waits for the end of the message."""
        if self._injected is not None:
            self._injected.end()

    @property
    def _grows(self) -> bool:
        return self._injected is not None and self._injected.grows

    def leave(self, because: str) -> None:
        """Stop the turn and leave it open in the record, as if the program had been killed.

        Running calls and calls of programs are cancelled; all other calls stay open. The text of a message that is
        still streaming is stored as a draft.
        """
        if self.is_of_program:
            self.interrupt(because)
            return
        self._left = True
        if not self.resumed and (self._reader is None or not self._reader.done()):
            self._left_arriving = True
            self.source.leave()
        self.executor.leave(because)
        if self._reader is not None:
            self._reader.cancel()

    def _reason(self, stop: StopReason, called: bool) -> TurnReason:
        if self._interrupted:
            return "interrupted"
        if self.executor.stopped:
            return "stopped"
        if self.source.error is not None:
            return "model_error" if self.source.remedy == "show" else "retried"
        if self.is_of_program and not self._ledger.running:
            return "called"
        if stop not in WHOLE:
            return "truncated"
        return "calls" if called else "answered"

    async def _wait(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Wait until all calls have settled or the condition is true.

        Call ``on_waiting`` when only the user can continue the turn.
        """
        executor, meter = self.executor, self._kit.meter
        await executor.stalled(is_over)
        while not executor.settled and not self._left and not is_over():
            self._on_waiting()
            if meter is not None:
                meter.waiting(person=True)
            await executor.changed(self._continue)
            await executor.stalled(is_over)

    def _continue(self) -> None:
        self._on_resumed()
        if self._kit.meter is not None:
            self._kit.meter.waiting(person=False)

    def _spent(self) -> Spent | None:
        """Return the costs of the message, or None. The costs of a resumed message are already recorded."""
        opened = self._ledger.open_message
        if self.resumed:
            if opened is None:
                return None
            by = answered_by(opened.message, self._kit.model, self._kit.fallback)
            return spent_by(by, opened.message.usage, self._kit.price)
        return self.source.spent

    def _measures(self, calls: Iterable[Entry]) -> Measures | None:
        if self._kit.meter is None:
            return None
        ran = [(entry.started_at, entry.ended_at or 0.0) for entry in calls if entry.started_at is not None]
        return self._kit.meter.turn_over(ran)

    # ---- a fresh turn -------------------------------------------------------------------------------------------

    async def _fresh(self) -> StopReason:
        wanted = self._remind()
        forced = wanted.kind == "named"
        started = TurnStarted(self._clock.now(), self._number, self._message_id, forced, self._because)
        written = self._record.write_first(started)
        if written is not None:
            await written  # the history is durable before the request
            if (self._interrupted or self._left) and not self._grows:  # each call of a program gets a result
                return "cut_off"
        self._reader = asyncio.get_running_loop().create_task(self.source.run(wanted))
        try:
            await asyncio.wait((self._reader,))
        finally:
            if not self._reader.done():
                self._reader.cancel()
                await asyncio.wait((self._reader,))
        if self._left_arriving:
            return "cut_off"
        if not self._reader.cancelled():
            self._reader.result()  # raises what is not a failure of the model
        stop, unclosed = self.source.intake.finish()
        if self._interrupted or self.source.error is not None:
            stop = "cut_off"
        for refused in unclosed:
            self.executor.add(refused.call, refused=refused.result)
        message = self.source.intake.message()
        if message.parts:
            written = self._record.write_first(MessageAdded(self._clock.now(), message, stop))
            if written is not None:
                await written
        return stop

    def _remind(self) -> ToolChoice:
        """Record the reminders of features before the request, and return the tool choice of the features."""
        if self._injected is not None:
            return ToolChoice()
        due, wanted = self._kit.features.before_request(self.source.model.abilities)
        for each in due:
            remind(self._record, each, self._clock.now())
        return wanted

    # ---- a turn that was left unfinished ------------------------------------------------------------------------

    async def _resumed(self) -> StopReason:
        ledger = self._ledger
        entries = sorted(ledger.calls.values(), key=lambda entry: entry.index)
        for entry in entries:
            call = entry.snapshot()
            if entry.result is None:
                self.executor.add(call, refused=self._truth(entry, call), attempt=entry.attempt + 1)
            else:
                self.executor.recall(call, updated=entry.updated)
        if ledger.open_message is None:
            calls = [call_part(ledger, entry.id, entry.raw_arguments) for entry in entries]
            parts = with_text(calls, self._record.drafted(self._message_id))
            if parts:
                message = Message(self._message_id, "assistant", parts)
                self._record.write(MessageAdded(self._clock.now(), message, "cut_off"))
            return "cut_off"
        return ledger.open_message.stop_reason or "cut_off"

    def _truth(self, entry: Entry, call: ToolCall) -> Result | None:
        """Return the result of a call that had no result when the program crashed; None if the call may continue."""
        ledger = self._ledger
        goes_on = not self.is_of_program  # the program that made the call no longer waits for it
        as_decided = entry.hashed is None or entry.hashed == arguments_hash(entry.name, entry.arguments)
        if call.status is Status.EXECUTING:
            effects = self._effects(call)
            may_repeat = self._kit.rerun_safe and effects != "mutating" and ledger.whole and as_decided and goes_on
            if may_repeat and call.id not in ledger.inherited:
                return None
            files = self._kit.features.file_outcome(f"{self._message_id}/{call.id}")
            return outcomes.outcome_unknown(effects, files)
        if call.id in ledger.inherited:
            return outcomes.left_behind()
        unread = entry.hashed is None and entry.asked_as is not None  # the text for the other name is not valid
        if ledger.open_message is None or unread or not goes_on:
            return outcomes.never_started()
        return None if as_decided else outcomes.not_kept()

    def _effects(self, call: ToolCall) -> Effects:
        try:
            target = self._kit.toolbox.resolve(call.name, call.arguments)
            return target.tool.traits(call.arguments).effects if isinstance(target, Target) else "mutating"
        except Exception:  # the tool is gone: assume effects
            return "mutating"
