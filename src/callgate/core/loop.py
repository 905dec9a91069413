"""Turns until there is nothing left to do; steering and limits between them."""

from collections.abc import Awaitable, Callable

from callgate.core.turn import Equipment, Turn
from callgate.words.decisions import Confirmation, Question
from callgate.words.events import (
    MessageAdded,
    Noted,
    Paused,
    PromptDequeued,
    PromptQueued,
    RunEnded,
    RunReason,
    TurnEnded,
)
from callgate.words.limits import LoopLimits
from callgate.words.messages import Message, Part, Text

_STOP: dict[str, RunReason] = {
    "answered": "done",
    "interrupted": "interrupted",
    "stopped": "stopped",
    "model_error": "model_error",
}


GO_ON = "The program ended while you were writing this. Go on from there."


class Loop:
    """Works off what was said until the model asks for no more calls."""

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
        """None when it was left in the middle, for another time, or paused."""
        turns = truncations = 0
        if self._left:
            return None
        while (stop := self._before(turns)) is None:
            turns += 1
            ended = await self._take_turn()
            if ended is None:
                return None
            if self._staging is not None and self._interrupt is None and not self._left:
                await self._staging.after_turn(ended)
            truncations = truncations + 1 if ended.reason == "truncated" else 0
            stop = self._after(ended, truncations)
            if stop is not None and not (stop == "done" and await self._goes_on()):
                return self._end(stop, ended.detail)
            if self._left or self._pauses():
                return None
        return self._end(stop)

    def say(self, parts: tuple[Part, ...], queued: PromptQueued | None = None) -> None:
        """Put a person's message on record; ``queued``: which waited until now."""
        now, message = self.equipment.host.clock.now(), Message(f"u{self._record.ledger.added + 1}", "user", parts)
        self._record.write(MessageAdded(now, message, queued=None if queued is None else queued.id))
        if queued is not None:
            self._record.write(PromptDequeued(now, queued.id, "delivered"))

    @property
    def _steers(self) -> list[PromptQueued]:
        return [queued for queued in self._record.ledger.waiting.values() if queued.steers]

    def steer(self, text: str) -> None:
        """Deliver after the current calls, sooner if they give way."""
        now, number = self.equipment.host.clock.now(), self._record.ledger.queued + 1
        self._record.write(PromptQueued(now, f"q{number}", (Text(text),), steers=True))
        if self._turn is not None:
            self._turn.steer()

    def interrupt(self, because: str) -> None:
        self._interrupt = because
        if self._turn is not None:
            self._turn.interrupt(because)

    def leave(self, because: str) -> None:
        """Stop as soon as that is possible without a loss, and leave the rest open."""
        self._left = True
        if self._turn is not None:
            self._turn.leave(because)

    def answer(self, confirmation: Confirmation) -> str | None:
        if self._turn is None:
            return "no question is open"
        return self._turn.answer(confirmation)

    def reconsider(self) -> bool:
        """An answer was remembered elsewhere. Whether that released a question."""
        return self._turn is not None and self._turn.reconsider()

    async def _take_turn(self) -> TurnEnded | None:
        self._turn = turn = Turn(self.equipment, waiting=self._waiting, going=self._going)
        try:
            ended = await turn.run()
        finally:
            self._turn = None
        if ended is not None and ended.reason == "truncated" and turn.resumed and not self._something_to_answer():
            self.say((Text(GO_ON),))  # a crash cut it off, not the model
        return ended

    def _before(self, turns: int) -> RunReason | None:
        if self._interrupt is not None:
            return "interrupted"
        limit = self._limits.max_turns
        return "limit" if limit is not None and turns >= limit else None

    def _after(self, ended: TurnEnded, truncations: int) -> RunReason | None:
        """Why to stop here, or None to go on: there are results to send, or something a person said."""
        if ended.reason == "truncated" and (
            truncations > self._limits.max_truncations or not self._something_to_answer()
        ):
            return "cut_off"
        reason = _STOP.get(ended.reason)
        if reason == "done" and self._staging is not None and self._staging.unresolved:
            reason = None
        if self._steers and reason in (None, "done"):
            self._say_steers()
            return None
        return reason

    async def _goes_on(self) -> bool:
        """Whether somebody has something for the agent to do before it ends; not for ever."""
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
            self._record.write(Noted(self.equipment.host.clock.now(), note, "warning"))
            return False
        self.say((Text(because),))
        return True

    def _pauses(self) -> bool:
        """An agent that runs into one denial after the other needs a person, not another try."""
        ledger, limits = self._record.ledger, self._limits
        if ledger.denied_in_a_row >= limits.denials_in_a_row:
            reason = f"{ledger.denied_in_a_row} calls in a row were denied"
        elif ledger.denied >= limits.denials:
            reason = f"{ledger.denied} calls of this session were denied"
        else:
            return False
        self._record.write(Paused(self.equipment.host.clock.now(), reason))
        return True

    def _say_steers(self) -> None:
        for queued in self._steers:
            self.say(queued.parts, queued)

    def _something_to_answer(self) -> bool:
        """Results of calls, or a person's message of which nothing came back."""
        messages = self._record.ledger.messages
        return bool(messages) and messages[-1].role != "assistant"

    @property
    def questions(self) -> tuple[Question, ...]:
        return () if self._turn is None else self._turn.questions

    def _end(self, reason: RunReason, detail: str = "") -> RunEnded:
        self._say_steers()  # too late for this run, but said: the next one reads it
        ended = RunEnded(self.equipment.host.clock.now(), reason, detail)
        self._record.write(ended)
        return ended
