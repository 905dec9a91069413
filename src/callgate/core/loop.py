"""The loop: turns until there is nothing left to do, with steering and limits between them."""

from collections.abc import Awaitable, Callable, Mapping

from callgate.core.executor import CallExecutor
from callgate.core.turn import Equipment, Turn
from callgate.words.endings import RunReason
from callgate.words.events import MessageAdded, Noted, Paused, PromptDequeued, PromptQueued, RunEnded, TurnEnded
from callgate.words.limits import LoopLimits
from callgate.words.messages import Message, Part, Text
from callgate.words.model import RunOptions, StopReason

_TURN: Mapping[str, RunReason] = {
    "answered": "done",
    "interrupted": "interrupted",
    "stopped": "stopped",
    "model_error": "model_error",
}
_NOT_WHOLE: Mapping[StopReason, RunReason] = {
    "max_tokens": "output_limit",
    "refusal": "refusal",
    "context_full": "context_full",
}
_FINAL: tuple[RunReason, ...] = ("refusal", "context_full")
"""Another request would end in the same way."""

GO_ON = "Your last message was cut off while you were writing it. Go on from there."


class Loop:
    """Takes turns until the model asks for no more calls."""

    def __init__(
        self,
        equipment: Equipment,
        limits: LoopLimits | None = None,
        *,
        waiting: Callable[[], None] = lambda: None,
        going: Callable[[], None] = lambda: None,
        ending: Callable[[bool], Awaitable[str | None]] | None = None,
    ) -> None:
        self.equipment = equipment
        self._limits = limits or LoopLimits()
        self._waiting = waiting
        self._going = going
        self._ending = ending
        self._held_up = 0
        self._record = equipment.record
        self._staging = equipment.staging
        self._turn: Turn | None = None
        self._interrupt: str | None = None
        self._left = False

    async def run(self) -> RunEnded | None:
        """None when it was left in the middle, for another time."""
        turns = truncations = 0
        if self._left:
            return None
        self._begin()
        while (stop := self._before(turns)) is None:
            turns += 1
            turn = Turn(self.equipment, self._limits.retries, waiting=self._waiting, going=self._going)
            ended = await self._taken(turn)
            if ended is None:
                return None
            if self._staging is not None and self._interrupt is None and not self._left:
                await self._staging.after_turn(ended)
            truncations = truncations + 1 if ended.reason == "truncated" else 0
            stop = self._after(turn, ended, truncations)
            if stop is not None and not (stop.reason == "done" and await self._goes_on()):
                break
            if self._left:
                return None
            stop = self._paused()
            if stop is not None:
                break
        self._say_steers()  # too late for this run, but said: the next one reads it
        self._record.write(stop)
        return stop

    def say(
        self, parts: tuple[Part, ...], queued: PromptQueued | None = None, options: RunOptions | None = None
    ) -> None:
        """Puts a person's message on record; ``queued`` is the prompt that waited until now."""
        message = Message(f"u{self._record.ledger.added + 1}", "user", parts)
        waited = None if queued is None else queued.id
        self._record.write(MessageAdded(self._now(), message, queued=waited, options=options))
        if queued is not None:
            self._record.write(PromptDequeued(self._now(), queued.id, "delivered"))

    @property
    def _steers(self) -> list[PromptQueued]:
        return [queued for queued in self._record.ledger.waiting.values() if queued.steers]

    def steer(self, text: str) -> None:
        """Delivers the text after the current calls, sooner if all of them give way."""
        number = self._record.ledger.queued + 1
        self._record.write(PromptQueued(self._now(), f"q{number}", (Text(text),), steers=True))
        if self._turn is not None:
            self._turn.executor.steer()

    def interrupt(self, because: str) -> None:
        self._interrupt = because
        if self._turn is not None:
            self._turn.interrupt(because)

    def leave(self, because: str) -> None:
        """Stops as soon as that is possible without a loss, and leaves the rest open."""
        self._left = True
        if self._turn is not None:
            self._turn.leave(because)

    @property
    def executor(self) -> CallExecutor | None:
        """The executor of the message under way."""
        return None if self._turn is None else self._turn.executor

    async def _taken(self, turn: Turn) -> TurnEnded | None:
        self._turn = turn
        try:
            ended = await turn.run()
        finally:
            self._turn = None
        if ended is not None and ended.reason == "truncated" and turn.resumed:
            self._begin()  # a crash cut it off, not the model
        return ended

    def _begin(self) -> None:
        """A message that was cut off is followed by a request to go on; a turn that is open goes on by itself."""
        messages = self._record.ledger.messages
        if messages and self._record.ledger.open_turn is None and not self._something_to_answer():
            self.say((Text(GO_ON),))

    def _before(self, turns: int) -> RunEnded | None:
        if self._interrupt is not None:
            return self._ended("interrupted")
        limit = self._limits.max_turns
        return self._ended("limit", kind="turns") if limit is not None and turns >= limit else None

    def _after(self, turn: Turn, ended: TurnEnded, truncations: int) -> RunEnded | None:
        """The end of the run, or None to go on: there are results to send, or a person said something."""
        if ended.reason == "truncated":
            reason = _NOT_WHOLE.get(turn.stop, "cut_off")
            again = reason not in _FINAL and truncations <= self._limits.max_truncations
            if not again or not self._something_to_answer():
                return self._ended(reason, ended.detail)
        reason = _TURN.get(ended.reason)
        if reason == "done" and self._staging is not None and self._staging.unresolved:
            reason = None
        if self._steers and reason in (None, "done"):
            self._say_steers()
            return None
        if reason is None or turn.error is None:
            return None if reason is None else self._ended(reason, ended.detail)
        return self._ended(reason, ended.detail, turn.error.kind, retryable=turn.error.retryable)

    async def _goes_on(self) -> bool:
        """Asks the hooks before a run ends; True if one of them gives the agent more to do, or a person has steered."""
        because = None if self._ending is None else await self._ending(self._held_up > 0)
        if self._interrupt is not None or self._left:
            return False
        if because is None:
            said = bool(self._steers)  # while the hook was asked
            self._say_steers()
            return said
        self._held_up += 1
        if self._held_up > self._limits.held_up:
            note = f"the end was put off {self._limits.held_up} times; this time it is not: {because}"
            self._record.write(Noted(self._now(), note, "warning"))
            return False
        self.say((Text(because),))
        return True

    def _paused(self) -> RunEnded | None:
        """The end of a run with too many denials: it needs a person, not another try."""
        ledger, limits = self._record.ledger, self._limits
        if ledger.denied_in_a_row >= limits.denials_in_a_row:
            reason = f"{ledger.denied_in_a_row} calls in a row were denied"
        elif ledger.denied >= limits.denials:
            reason = f"{ledger.denied} calls of this session were denied"
        else:
            return None
        self._record.write(Paused(self._now(), reason))
        return self._ended("paused", reason)

    def _say_steers(self) -> None:
        for queued in self._steers:
            self.say(queued.parts, queued)

    def _something_to_answer(self) -> bool:
        """Results of calls, or a person's message of which nothing came back."""
        messages = self._record.ledger.messages
        return bool(messages) and messages[-1].role != "assistant"

    def _ended(self, reason: RunReason, detail: str = "", kind: str = "", *, retryable: bool = False) -> RunEnded:
        return RunEnded(self._now(), reason, detail, kind=kind, retryable=retryable)

    def _now(self) -> float:
        return self.equipment.host.clock.now()
