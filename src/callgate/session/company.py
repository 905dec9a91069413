"""What surrounds a session: hooks, remembered answers, other programs, the sessions inside it and around it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from callgate.core.ledger import Ledger
from callgate.core.ports import Clock, Journal
from callgate.core.record import Record
from callgate.gatehouse import Gatehouse
from callgate.session.family import Family
from callgate.session.hooking import session_hooks
from callgate.session.mailbox import Mailbox
from callgate.words.decisions import ApprovalPolicy, Confirmation, Question
from callgate.words.events import Durable, Event, InputRefused, Noted, PolicyAdded, QuestionAsked
from callgate.words.messages import Part


class Company:
    """``answer`` acts on an answer or says why not; ``questions`` are those that the session itself has open."""

    def __init__(
        self,
        record: Record,
        journal: Journal,
        clock: Clock,
        *,
        house: Gatehouse | None,
        family: Family,
        context: Mapping[str, Any] | None,
        answer: Callable[[Confirmation], str | None],
        questions: Callable[[], Sequence[Question]],
    ) -> None:
        self._record = record
        self._clock = clock
        self._house = house
        self._family = family
        self._context = context
        self._answer = answer
        self._open = questions
        self._mailbox = Mailbox(
            journal, clock, take=self._take, waits=lambda: bool(questions()), report=lambda fault: self._warn(fault)
        )
        self._hooks = None if house is None else session_hooks(house, clock, record.write)
        self._attending = False
        self._noted = False
        record.ledger.policies = self._in_force(record.ledger.policies)

    @property
    def ending(self) -> Any:
        """Asked before the agent ends its work; None where nobody is to be asked."""
        return None if self._hooks is None else self._hooks.ending

    @property
    def compacting(self) -> Any:
        return None if self._hooks is None else self._hooks.compacting

    def fresh(self, events: Iterable[Durable]) -> Ledger:
        """The state that a log amounts to."""
        ledger = Ledger(events, context=self._context)
        ledger.policies = self._in_force(ledger.policies)
        return ledger

    def attend(self) -> None:
        """From now on somebody has to be told of questions and answers."""
        if not self._attending:
            self._attending = True
            self._record.listen(self._hear)

    async def look_up(self) -> None:
        """What may have changed since the last prompt; and, the first time, what a person should know."""
        if self._house is None:
            return
        if not self._noted:
            self._noted = True
            for note in self._house.config.notes:
                self._record.write(Noted(self._clock.now(), str(note), "warning"))
        await self._house.look_up()
        self._record.ledger.policies = self._in_force(self._record.ledger.policies)

    async def admitted(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
        """A prompt as the model gets it; None when a hook does not let it through, which doors are told."""
        if self._hooks is None:
            return parts
        refusal = await self._hooks.started(resumed=bool(self._record.ledger.added))
        admitted = await self._hooks.prompted(parts) if refusal is None else refusal
        if not isinstance(admitted, str):
            return admitted
        self._record.tell(InputRefused(self._clock.now(), "Prompt", admitted))
        return None

    async def resumes(self) -> bool:
        """Whether work that was left unfinished may go on; doors are told why not."""
        refusal = None if self._hooks is None else await self._hooks.started(resumed=True)
        if refusal is not None:
            self._record.tell(InputRefused(self._clock.now(), "Continue", refusal))
        return refusal is None

    def interrupt(self) -> None:
        """Nobody waits any more for hooks of the session itself."""
        if self._hooks is not None:
            self._hooks.interrupt()

    async def shut(self) -> None:
        """What other programs answer from now on is for whoever resumes the session."""
        await self._mailbox.aclose()

    async def aclose(self) -> None:
        if self._hooks is not None:
            await self._hooks.ended("closed")
        if self._house is not None:
            await self._house.aclose()
        self._family.leave()

    def _hear(self, event: Event) -> None:
        self._family.hear(event)
        if isinstance(event, QuestionAsked) and event.question.path == self._family.path:
            self._mailbox.open()
            if self._hooks is not None:
                self._hooks.asked(event.question)
        elif isinstance(event, PolicyAdded) and event.policy.scope != "session" and self._house is not None:
            self._house.keep(event.policy)

    def _take(self, confirmation: Confirmation) -> bool:
        """An answer that another program left. False: its question is about to be asked again, so it can wait."""
        if confirmation.call_id not in {question.call_id for question in self._open()}:
            return False
        refusal = self._answer(confirmation)
        if refusal is not None:
            self._warn(f"the answer of {confirmation.by} was not taken: {refusal}", confirmation.call_id)
        return True

    def _warn(self, text: str, call_id: str | None = None) -> None:
        self._record.write(Noted(self._clock.now(), text, "warning", call_id))

    def _in_force(self, policies: list[ApprovalPolicy]) -> list[ApprovalPolicy]:
        """Answers for longer than this session count as long as they are remembered: they may have been revoked."""
        if self._house is None:
            return policies
        return [policy for policy in policies if policy.scope == "session"] + [*self._house.remembered]
