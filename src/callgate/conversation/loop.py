"""The loop runs turns until the model is done, delivers queued messages between turns, and applies limits."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from callgate.conversation.allowance import Allowance
from callgate.conversation.feature import Reminder
from callgate.conversation.feature_set import Equipment
from callgate.conversation.injected import InjectedCalls, ProgramCalls
from callgate.conversation.ports import Model
from callgate.conversation.recovery import Recovery
from callgate.conversation.reminders import CONTINUE_TEXT, UnmadeCall, broken_off, called_by, remind, reminder
from callgate.conversation.turn import Turn
from callgate.core.executor import CallExecutor
from callgate.words import events
from callgate.words.endings import RunReason
from callgate.words.limits import LoopLimits
from callgate.words.messages import Message, Part, Text
from callgate.words.model import RequestLimits, RunOptions, StopReason
from callgate.words.turns import TurnCause

T = TypeVar("T")

_NOT_WHOLE: Mapping[StopReason, RunReason] = {
    "max_tokens": "output_limit",
    "refusal": "refusal",
    "context_full": "context_full",
}
_MOST_UNMADE = 2
"""The maximum number of consecutive requests to repeat a call that was not made."""
_MAY_BE_CUT: tuple[TurnCause, ...] = ("continued", "output_limit", "cut_off", "compacted")


class Loop:
    """Runs turns until the model makes no more calls. Each turn has a named cause. The limits of the run apply to
    all turns."""

    def __init__(
        self,
        equipment: Equipment,
        limits: LoopLimits | None = None,
        *,
        calls: ProgramCalls | None = None,
        on_waiting: Callable[[], None] = lambda: None,
        on_resumed: Callable[[], None] = lambda: None,
    ) -> None:
        self.equipment = equipment
        self._calls = calls
        self._limits = limits = limits or LoopLimits()
        self._on_waiting = on_waiting
        self._on_resumed = on_resumed
        self._record = equipment.record
        self._features = equipment.features
        self.allowance = Allowance(
            limits, self._record, equipment.host.clock, equipment.price, equipment.unsettled, equipment.outer
        )
        self._recovery = Recovery(
            limits.retries,
            fallback=equipment.fallback,
            shortens=equipment.features.shortens,
            chance=equipment.chance,
            affords=lambda spent: self.allowance.used_up(self._model, spent) is None,
        )
        self._cause: TurnCause = "continued"
        self._words: str | None = None  # a reminder for the next request
        self._held_up = self._truncations = self._unmade = 0
        self._raised = False  # the output limit was raised to the maximum of the model
        self._turn: Turn | None = None
        self._between: asyncio.Task[Any] | None = None
        self._interrupt: str | None = None
        self._left = self._in_run = False

    async def run(self) -> events.RunEnded | None:
        """Run turns to the end of the run, record the end and return it. Return None if the run was left open in the
        record."""
        stop: events.RunEnded | None = None
        options = self._record.ledger.options
        self.allowance.begin(None if options is None else options.budget, self._out_of_time)
        self._in_run = True
        try:
            while stop is None and not self._left:
                await self.take_calls()
                stop = await self._hindrance()
                if stop is None and not self._left:
                    stop = await self._take_turn()
        finally:
            self._in_run = False
            self.allowance.end()
        if stop is None:
            return None
        self._say_steers()  # for the next run
        self._record.write(stop)
        return stop

    async def _take_turn(self) -> events.RunEnded | None:
        """Run one turn. Return the end of the run. If the run continues, set the cause of the next turn and return
        None."""
        self._lead_in()
        turn = self._next_turn()
        ended = await self._run_turn(turn)
        if ended is None:
            self._left = True
            return None
        for note in self.allowance.spend(ended.spent):
            self._record.write(events.Noted(self._now(), note, "warning"))
        follows = await self._after(turn, ended)
        if isinstance(follows, events.RunEnded):
            return follows
        self._cause = follows
        return self._paused()

    async def _run_turn(self, turn: Turn) -> events.TurnEnded | None:
        self._turn = turn
        if self._interrupt is not None:
            turn.interrupt(self._interrupt)
        try:
            return await turn.run()
        finally:
            self._turn = None

    async def take_calls(self) -> None:
        """Run the queued calls of programs. No request is sent to the model."""
        ledger = self._record.ledger
        while not self._left:
            injected = None
            if ledger.open_turn is None:
                injected = await self._next_calls()
                if injected is None:
                    return
            elif ledger.open_turn.because != "call":
                return
            ended = await self._run_turn(self._turn_of("call", injected=injected))
            if ended is not None and self._interrupt is None and not self._left:
                await self._features.after_turn(ended)

    async def _admit(self, by: str) -> str | None:
        refusal = await self._features.starting(resumed=bool(self._record.ledger.added))
        return refusal or await self._features.calling(by)

    async def _next_calls(self) -> InjectedCalls | None:
        """Return the calls of the next message, or None. Before that, the features accept the program, and a
        reminder with the name of the program is recorded."""
        queue = self._calls
        while queue is not None and (by := queue.next_by) is not None and self._interrupt is None and not self._left:
            refusal = await self._interruptible(self._admit(by))
            if self._interrupt is not None or self._left:
                return None
            injected = queue.take()
            if not injected.calls:
                continue  # withdrawn meanwhile
            if refusal is None:
                remind(self._record, Reminder(called_by(by), "call"), self._now())
                return injected
            queue.refuse(injected, refusal)
        return None

    def say(
        self, parts: tuple[Part, ...], queued: events.PromptQueued | None = None, options: RunOptions | None = None
    ) -> None:
        """Record a message of the user. ``queued`` is the queued prompt from which the message was made."""
        self._cause = "prompt"
        self._say(parts, queued, options)

    def wake(self) -> None:
        """Set a notice as the cause of the next turn."""
        self._cause = "notice"

    def steer(self, text: str) -> None:
        """Queue a message of the user that is delivered after the current calls.

        The calls are cancelled, unless one of them has the trait ``interrupt="block"``.
        """
        number = self._record.ledger.queued + 1
        self._record.write(events.PromptQueued(self._now(), f"q{number}", (Text(text),), steers=True))
        if self._turn is not None and not self._turn.is_of_program:
            self._turn.executor.steer()

    def end_message(self) -> None:
        """Close the message of a program for further calls."""
        if self._turn is not None:
            self._turn.end_message()

    def interrupt(self, because: str) -> None:
        self._interrupt = because
        if self._turn is not None:
            self._turn.interrupt(because)
        if self._between is not None:
            self._between.cancel()

    def leave(self, because: str) -> None:
        """Stop the turn, and leave unfinished work open in the record, so that it can be resumed."""
        self._left = True
        if self._turn is not None:
            self._turn.leave(because)
        if self._between is not None:
            self._between.cancel()

    @property
    def executor(self) -> CallExecutor | None:
        return None if self._turn is None else self._turn.executor

    # ---- before a request ---------------------------------------------------------------------------------------

    async def _hindrance(self) -> events.RunEnded | None:
        """Return the end of the run if an interrupt, a limit or too long a history forbids a request, otherwise
        None."""
        ledger, features = self._record.ledger, self._features
        if ledger.open_turn is not None:
            left = [entry.name for entry in ledger.calls.values() if entry.result is None]
            if left and self._interrupt is None:
                await self._interruptible(features.before_resume(left))
            return None  # an open turn is finished also after an interrupt: each call gets a result
        if self._interrupt is not None:
            return self._ended("interrupted")
        stop = self._limit()
        if stop is not None or not features.prepares:
            return stop
        refusal = await self._interruptible(features.make_room(self._model))
        if self._interrupt is not None:
            return self._ended("interrupted")
        return self._limit() if refusal is None else self._ended("context_full", refusal)

    def _limit(self) -> events.RunEnded | None:
        reached = self.allowance.reached(self._model)
        if reached is None:
            return None
        reason, kind, detail = reached
        return self._ended(reason, detail, kind)

    @property
    def _model(self) -> Model:
        return self._recovery.model(self.equipment.model)

    def _out_of_time(self) -> None:
        if self._turn is not None:
            self._turn.interrupt("The time limit of the run was reached.")
        if self._between is not None:
            self._between.cancel()

    def _pause(self) -> None:
        """Stop the time limit while the turn waits for the user."""
        if self._in_run:
            self.allowance.pause()
        self._on_waiting()

    def _resume(self) -> None:
        if self._in_run:
            self.allowance.resume()
        self._on_resumed()

    def _lead_in(self) -> None:
        """Record the messages before the next request: first the text that follows an incomplete message, then the
        queued messages of the user. The turn records the reminders of features after these messages."""
        words, self._words = self._words, None
        if words is None and self._cause in _MAY_BE_CUT and not self._answerable and not self._steers:
            words = CONTINUE_TEXT
        if words is not None:
            remind(self._record, Reminder(words, self._cause), self._now())
        self._say_steers()
        scarce = self.allowance.nearly_used_up()
        if scarce is not None:
            remind(self._record, Reminder(reminder(scarce), "budget"), self._now())

    @property
    def _answerable(self) -> bool:
        """True if the model can answer the history: a turn is open, or the last message is not a message of the
        model."""
        ledger = self._record.ledger
        return ledger.open_turn is not None or not ledger.messages or ledger.messages[-1].role != "assistant"

    def _next_turn(self) -> Turn:
        ledger = self._record.ledger
        mentions = () if ledger.open_turn is not None else self._features.calls_before(ledger.unanswered)
        if mentions or ledger.injected:
            self.allowance.resume()  # without a request only the time limit applies
            return self._turn_of("mention", injected=InjectedCalls(mentions) if mentions else None)
        limits = self.equipment.limits
        if self._raised:
            limits = replace(limits, max_output_tokens=self._model.abilities.output_tokens)
        limits = self.allowance.request_limits(limits, self._model)
        self.allowance.resume()
        return self._turn_of(self._cause, limits)

    def _turn_of(
        self, because: TurnCause, limits: RequestLimits | None = None, injected: InjectedCalls | None = None
    ) -> Turn:
        return Turn(
            self.equipment,
            self._recovery,
            because=because,
            limits=limits,
            injected=injected,
            most_calls=self._limits.max_tool_calls,
            on_waiting=self._pause,
            on_resumed=self._resume,
        )

    # ---- after a turn -------------------------------------------------------------------------------------------

    async def _after(self, turn: Turn, ended: events.TurnEnded) -> TurnCause | events.RunEnded:
        if self._interrupt is None and not self._left:
            await self._features.after_turn(ended)
        if ended.reason in ("calls", "answered"):
            self._truncations = 0
            self._recovery.worked()
        if ended.reason == "calls":
            self._unmade = 0
        match ended.reason:
            case "calls" | "called":
                return "results"
            case "retried":
                return await self._held_back(turn)
            case "truncated":
                return await self._truncated(turn, ended)
            case "answered":
                held_open = self._features.holds_open()
                if held_open is not None:
                    return held_open
                if turn.source.unmade is not None and not self._steers:
                    return self._not_made(turn.source.unmade)
                return "steered" if self._steers else await self._before_end()
            case "model_error":
                error, used_up = turn.source.error, self.allowance.used_up(self._model)
                assert error is not None
                if error.retryable and used_up is not None:  # a retry would exceed it
                    reason, kind, detail = used_up
                    return self._ended(reason, detail, kind)
                reason = "context_full" if error.kind == "too_long" else "model_error"
                return self._ended(reason, ended.detail, error.kind, retryable=error.retryable)
            case "interrupted" if self._interrupt is None:
                return self._limit() or self._ended("interrupted")  # the time limit
            case "interrupted" | "stopped":
                return self._ended(ended.reason, ended.detail)

    async def _held_back(self, turn: Turn) -> TurnCause | events.RunEnded:
        """Return the cause of the next turn after a failure that the user does not see, or the end of the run."""
        assert turn.source.error is not None
        if turn.source.remedy == "shorten":
            return await self._shortened(str(turn.source.error))
        self._words = broken_off(turn.source.error, turn.affected)
        return "retried"

    def _not_made(self, unmade: UnmadeCall) -> TurnCause | events.RunEnded:
        """Return the cause of the turn in which the model repeats a refused call, or the end of the run."""
        if not unmade.advice or self._unmade >= _MOST_UNMADE:
            return self._ended("call_not_made", unmade.reason)
        self._unmade += 1
        note = f"a tool call in the answer was not made ({unmade.reason}); the model was asked to repeat it"
        self._record.write(events.Noted(self._now(), note))
        self._words = reminder(f"Nothing was run: {unmade.reason}. {unmade.advice}")
        return "unmade"

    async def _shortened(self, detail: str) -> TurnCause | events.RunEnded:
        shorter = await self._interruptible(self._features.too_long(self._model))
        if shorter or self._interrupt is not None or self._left:
            return "compacted"
        return self._ended("context_full", detail)

    async def _truncated(self, turn: Turn, ended: events.TurnEnded) -> TurnCause | events.RunEnded:
        """Return the cause of the next turn after an incomplete message, or the end of the run."""
        if turn.resumed:
            return "continued"  # a crash cut it off
        reason = _NOT_WHOLE.get(turn.stop, "cut_off")
        if reason == "context_full" and self._recovery.shorten():
            return await self._shortened(ended.detail)
        if reason == "output_limit" and self._raises():
            return "output_limit"
        self._truncations += 1
        if reason in ("refusal", "context_full") or self._truncations > self._limits.max_truncations:
            return self._ended(reason, ended.detail)
        if reason == "output_limit":
            return "output_limit"
        if turn.stop == "paused":
            return "continued"
        if self._answerable:  # there are results, or no message was added
            return "cut_off"
        return "steered" if self._steers else self._ended(reason, ended.detail)

    def _raises(self) -> bool:
        """Raise the output limit to the maximum of the model, at most once. Return False if the limit is unchanged."""
        able, limit = self._model.abilities.output_tokens, self.equipment.limits
        if self._raised or able is None or (limit.max_output_tokens or 0) >= able:
            return False
        self._raised = True
        return True

    async def _before_end(self) -> TurnCause | events.RunEnded:
        """Return the end of the run, or the cause of another turn: a hook, a queued message, or an unused token
        budget."""
        because = await self._features.ending(again=self._held_up > 0)
        done = self._ended("done")
        if self._interrupt is not None or self._left:
            return done
        if because is None:
            more = None if self._steers else self.allowance.extends()
            self._words = None if more is None else reminder(more)
            return "steered" if self._steers else done if more is None else "budget"  # queued while the hook ran
        self._held_up += 1
        if self._held_up > self._limits.held_up:
            note = (
                f"the end of the run was prevented {self._limits.held_up} times, which is the limit, so the run "
                f"ends now: {because}"
            )
            self._record.write(events.Noted(self._now(), note, "warning"))
            return done
        self._words = reminder(because)
        return "hook"

    def _paused(self) -> events.RunEnded | None:
        ledger, limits = self._record.ledger, self._limits
        if self._left:
            return None
        if ledger.denied_in_a_row >= limits.denials_in_a_row:
            reason = f"{ledger.denied_in_a_row} calls in a row were denied"
        elif ledger.denied >= limits.denials:
            reason = f"{ledger.denied} calls in this session were denied"
        else:
            return None
        self._record.write(events.Paused(self._now(), reason))
        return self._ended("paused", reason)

    # ---- parts --------------------------------------------------------------------------------------------------

    @property
    def _steers(self) -> list[events.PromptQueued]:
        return [queued for queued in self._record.ledger.waiting.values() if queued.steers]

    def _say_steers(self) -> None:
        for queued in self._steers:
            self._say(queued.parts, queued)

    def _say(
        self, parts: tuple[Part, ...], queued: events.PromptQueued | None = None, options: RunOptions | None = None
    ) -> None:
        message = Message(f"u{self._record.ledger.added + 1}", "user", parts)
        waited = None if queued is None else queued.id
        self._record.write(events.MessageAdded(self._now(), message, queued=waited, options=options))
        if queued is not None:
            self._record.write(events.PromptDequeued(self._now(), queued.id, "delivered"))

    async def _interruptible(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Await a coroutine between two turns. Return None if the coroutine was interrupted."""
        task = self._between = asyncio.get_running_loop().create_task(work)
        try:
            await asyncio.wait((task,))
        finally:
            self._between = None
            task.cancel()
        return None if task.cancelled() else task.result()

    def _ended(
        self, reason: RunReason, detail: str = "", kind: str = "", *, retryable: bool = False
    ) -> events.RunEnded:
        return events.RunEnded(self._now(), reason, detail, kind=kind, retryable=retryable)

    def _now(self) -> float:
        return self.equipment.host.clock.now()
